package value

import "hash/maphash"

// fewNames is how many members are compared with each other directly.
const fewNames = 16

// seed makes the places of names in the table unpredictable, so that nobody
// can choose names that all collide.
var seed = maphash.MakeSeed()

// Duplicate returns the number of the first of members whose name an earlier
// one has, or -1. It takes time in proportion to their number, whatever the
// names are.
func (a *Arena) Duplicate(members []Value) int {
	if len(members) > fewNames {
		return a.duplicateOfMany(members)
	}
	for i := range members {
		name := members[i].name
		for j := range i {
			if members[j].name == name {
				return i
			}
		}
	}
	return -1
}

func (a *Arena) duplicateOfMany(members []Value) int {
	size := 64
	for size < 2*len(members) {
		size *= 2
	}
	if len(a.names) < size {
		a.names = make([]uint32, size)
	}
	table := a.names[:size]
	clear(table)
	for i := range members {
		name := members[i].name
		at := maphash.String(seed, name) & uint64(size-1)
		for ; table[at] != 0; at = (at + 1) & uint64(size-1) {
			if members[table[at]-1].name == name {
				return i
			}
		}
		table[at] = uint32(i + 1)
	}
	return -1
}

// memberOffset is where the name of member n stands in the object that opens
// at start. The object is known to be valid up to that member.
func memberOffset(src string, start, n int) int {
	depth := 0
	for i := start; i < len(src); i++ {
		switch c := src[i]; c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 1 {
				n--
			}
		case '"':
			if n == 0 && depth == 1 {
				return i
			}
			i += stringLen(src[i:]) - 1
		}
	}
	return start
}

// stringLen is the length of the JSON string that s begins with, quotes
// included.
func stringLen(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}
