package broker

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ID is an entry's id: milliseconds of the server's clock and a sequence
// number within them. The zero ID is before every entry.
type ID struct{ Ms, Seq uint64 }

// MaxID is after every entry.
var MaxID = ID{math.MaxUint64, math.MaxUint64}

// ParseID reads "1700000000000-0"; without "-" the sequence number is 0.
func ParseID(s string) (ID, error) {
	ms, seq, both := strings.Cut(s, "-")
	var id ID
	var err error
	if id.Ms, err = strconv.ParseUint(ms, 10, 64); err != nil {
		return ID{}, fmt.Errorf("%q is no entry id: want MILLISECONDS-SEQUENCE", s)
	}
	if !both {
		return id, nil
	}
	if id.Seq, err = strconv.ParseUint(seq, 10, 64); err != nil {
		return ID{}, fmt.Errorf("%q is no entry id: want MILLISECONDS-SEQUENCE", s)
	}
	return id, nil
}

// String is the id as Redis writes it.
func (id ID) String() string { return string(id.Append(nil)) }

// Append appends the id as Redis writes it to b.
func (id ID) Append(b []byte) []byte {
	b = strconv.AppendUint(b, id.Ms, 10)
	b = append(b, '-')
	return strconv.AppendUint(b, id.Seq, 10)
}

// Compare is -1, 0 or 1 as id is before, the same as, or after other.
func (id ID) Compare(other ID) int {
	if c := cmp.Compare(id.Ms, other.Ms); c != 0 {
		return c
	}
	return cmp.Compare(id.Seq, other.Seq)
}

// Less reports whether id is before other.
func (id ID) Less(other ID) bool { return id.Compare(other) < 0 }

// IsZero reports whether id is before every entry.
func (id ID) IsZero() bool { return id == ID{} }

// Next is the smallest id after id; MaxID has none and stays.
func (id ID) Next() ID {
	switch {
	case id.Seq < math.MaxUint64:
		return ID{id.Ms, id.Seq + 1}
	case id.Ms < math.MaxUint64:
		return ID{id.Ms + 1, 0}
	}
	return id
}

// Prev is the largest id before id; the zero ID has none and stays.
func (id ID) Prev() ID {
	switch {
	case id.Seq > 0:
		return ID{id.Ms, id.Seq - 1}
	case id.Ms > 0:
		return ID{id.Ms - 1, math.MaxUint64}
	}
	return id
}

// Earlier is the lower one of two ids.
func Earlier(x, y ID) ID {
	if y.Less(x) {
		return y
	}
	return x
}

// Later is the higher one of two ids.
func Later(x, y ID) ID {
	if x.Less(y) {
		return y
	}
	return x
}
