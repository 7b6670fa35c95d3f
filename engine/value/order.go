package value

import (
	"cmp"
	"slices"
)

// smallOrder is how many members are put in order without allocating.
const smallOrder = 16

// inOrder reports whether members are in the byte order of their names, each
// name once.
func inOrder(members []Value) bool {
	for i := 1; i < len(members); i++ {
		if members[i-1].name >= members[i].name {
			return false
		}
	}
	return true
}

// order returns the numbers of members in the byte order of their names. It
// uses buf when that is large enough.
func order(members []Value, buf []int) []int {
	idx := buf[:0]
	for i := range members {
		idx = append(idx, i)
	}
	if len(idx) <= smallOrder {
		insert(members, idx)
		return idx
	}
	slices.SortStableFunc(idx, func(i, j int) int { return cmp.Compare(members[i].name, members[j].name) })
	return idx
}

// insert puts a few in order, which is half the work of writing a small object
// when the comparison is called through a pointer.
func insert(members []Value, idx []int) {
	for i := 1; i < len(idx); i++ {
		at := idx[i]
		name, j := members[at].name, i
		for ; j > 0 && name < members[idx[j-1]].name; j-- {
			idx[j] = idx[j-1]
		}
		idx[j] = at
	}
}
