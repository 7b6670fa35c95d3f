package redis

// Beside are keys of ours beside one group of one stream, for tools that move or
// remove them together with the stream. What they hold is said in the package's
// text.
type Beside struct {
	Records, Floor, Alive string

	keys *groupKeys
}

// KeysBeside are the keys beside a group.
func KeysBeside(stream, group string) Beside {
	k := newGroupKeys(stream, group)
	return Beside{Records: k.records, Floor: k.floor, Alive: k.alive, keys: k}
}

// Lease is the key of the lease of a slot of a base name.
func (b Beside) Lease(base string, slot int) string { return b.keys.slotKey(base, slot) }

// Marks are the keys of a set of marks.
func (b Beside) Marks(set string) []string {
	keys := b.keys.markKeys(set)
	return keys[:]
}
