package bench

import "context"

// Scenario is a question to be measured.
type Scenario struct {
	// Name is what --scenario takes; Does says what it measures, in a line.
	Name, Does string
	// bytes are what it has on the server at most.
	bytes func(*Settings) int64
	run   func(context.Context, *Runner) error
}

// Scenarios are all of them, in the order in which they run.
func Scenarios() []Scenario {
	return []Scenario{
		{"ack", "acknowledge only", streamBytes(false), ack},
		{"reply", "one reply to each entry, published and acknowledged in one step", streamBytes(true), reply},
		{"recovery", "taking over what a dead consumer held, and of a list ten times as long", recoveryBytes, recovery},
		{"engines", "reply with handlers in Go, Lua, C and Go as a guest", streamBytes(true), engines},
	}
}

// Bytes is what a run of scenarios has on the server at most: they clean up one
// after the other.
func Bytes(scenarios []Scenario, s *Settings) int64 {
	var most int64
	for _, sc := range scenarios {
		most = max(most, sc.bytes(s))
	}
	return most
}

// streamBytes is a stream of all entries, all of them pending, and perhaps their
// replies.
func streamBytes(replies bool) func(*Settings) int64 {
	each := int64(bytesEntry + bytesPending)
	if replies {
		each += bytesReply
	}
	return func(s *Settings) int64 { return each * (s.Entries + int64(2*s.Rounds)) }
}

// recoveryBytes is the longer list.
func recoveryBytes(s *Settings) int64 { return (bytesEntry + bytesPending) * s.Pending }
