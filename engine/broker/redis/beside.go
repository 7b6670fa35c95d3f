package redis

// Beside are the keys of ours beside one group of one stream, for tools that
// move or remove them together with the stream. What they hold is said in the
// package's text; the leases of slots have names of their own: see LeaseOf.
func Beside(stream, group string) (records, floor string) {
	k := newGroupKeys(stream, group)
	return k.records, k.floor
}

// LeaseOf is the key of the lease of a slot of a base name.
func LeaseOf(stream, group, base string, slot int) string {
	return newGroupKeys(stream, group).slotKey(base, slot)
}
