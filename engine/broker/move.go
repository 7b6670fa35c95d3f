package broker

// MoveRequest takes entries out of a stream and puts a message for each into
// another: dead letters that go back to where they came from.
type MoveRequest struct {
	// From is the stream that the entries stand in.
	From string
	// Moves are done in their order.
	Moves []Move
}

// Move is one entry to take out, and what is added for it.
type Move struct {
	ID      ID
	Publish Add
}

// Moved is what became of a Move that was done.
type Moved struct {
	// Found: the entry was there, its message was added and the entry deleted.
	// Otherwise it was gone already and nothing was written.
	Found bool
	// ID is the id of the message. It is zero for one that an earlier, broken-off
	// Move had added already, where the broker does not know it any more.
	ID ID
}
