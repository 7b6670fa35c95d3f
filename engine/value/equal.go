package value

// Equal reports whether a and b are the same value: numbers by what they are
// worth however they are written, strings byte by byte, arrays in order,
// objects whatever the order of their members. Names of a and b themselves do
// not matter. It takes n log n time for objects of n members.
func Equal(a, b *Value) bool {
	if a.kind != b.kind || a.count != b.count {
		return false
	}
	switch a.kind {
	case Number:
		return a.text == b.text || CompareNumbers(a.text, b.text) == 0
	case Array:
		x, y := a.kids(), b.kids()
		for i := range x {
			if !Equal(&x[i], &y[i]) {
				return false
			}
		}
		return true
	case Object:
		return equalMembers(a.kids(), b.kids())
	}
	return a.text == b.text
}

func equalMembers(a, b []Value) bool {
	var bufA, bufB [smallOrder]int
	orderA, orderB := order(a, bufA[:]), order(b, bufB[:])
	for i := range orderA {
		x, y := &a[orderA[i]], &b[orderB[i]]
		if x.name != y.name || !Equal(x, y) {
			return false
		}
	}
	return true
}
