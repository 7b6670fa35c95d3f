package redis

import (
	"encoding/binary"

	"pipeline/engine/broker"
)

// What a script is given about thousands of entries goes as one argument: an
// array of MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md),
// which every server's scripts can unpack. The server pays about a microsecond
// for six arguments, with their objects and its parser, and a third of that for
// the same six in an array; and this side writes one string instead of six.
//
// An array begins with the first pack and ends with packed. Nothing else may be
// added to args in between.

// arrayHeader is the size of the header of an array of up to 2^32-1 elements,
// whose number is known when it ends.
const arrayHeader = 5

// element makes room for one more element of the array, and begins the array
// where none is begun.
func (a *args) element() {
	if a.elements == 0 {
		a.array = len(a.text)
		a.text = append(a.text, make([]byte, arrayHeader)...)
	}
	a.elements++
}

// pack appends a string to the array.
func (a *args) pack(s string) {
	a.element()
	a.text = append(appendStringHeader(a.text, len(s)), s...)
}

// packID appends an entry id, as a string.
func (a *args) packID(id broker.ID) {
	a.element()
	a.text = append(a.text, 0)
	start := len(a.text)
	a.text = id.Append(a.text)
	a.text[start-1] = shortString | byte(len(a.text)-start)
	if len(a.text)-start > maxShort {
		// Two numbers of up to 20 digits may be longer than a short string.
		id := string(a.text[start:])
		a.text = append(appendStringHeader(a.text[:start-1], len(id)), id...)
	}
}

// packIDs appends n ids, at most 1,500, as one string, with blanks between them.
func (a *args) packIDs(n int, id func(i int) broker.ID) {
	a.element()
	// As long as its length can be told by two bytes: a script has few steps.
	a.text = append(a.text, 0xda, 0, 0)
	start := len(a.text)
	for i := range n {
		if i > 0 {
			a.text = append(a.text, ' ')
		}
		a.text = id(i).Append(a.text)
	}
	binary.BigEndian.PutUint16(a.text[start-2:], uint16(len(a.text)-start)) //nolint:gosec // 250 ids of at most 41 bytes
}

// packInt appends a number.
func (a *args) packInt(n int64) {
	a.element()
	if n >= 0 && n <= 0x7f {
		a.text = append(a.text, byte(n))
		return
	}
	a.text = binary.BigEndian.AppendUint64(append(a.text, 0xd3), uint64(n)) //nolint:gosec // two's complement is the format
}

// packed ends the array and adds it as one argument.
func (a *args) packed() {
	header := a.text[a.array : a.array+arrayHeader]
	header[0] = 0xdd
	binary.BigEndian.PutUint32(header[1:], uint32(a.elements)) //nolint:gosec // bounded by the entries of a script
	a.word(a.tail(a.array))
	a.elements = 0
}

// A string of up to 31 bytes has its length in its first byte.
const (
	shortString = 0xa0
	maxShort    = 31
)

// appendStringHeader appends what comes before the bytes of a string.
func appendStringHeader(to []byte, n int) []byte {
	switch {
	case n <= maxShort:
		return append(to, shortString|byte(n))
	case n <= 0xff:
		return append(to, 0xd9, byte(n))
	case n <= 0xffff:
		return binary.BigEndian.AppendUint16(append(to, 0xda), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(to, 0xdb), uint32(n)) //nolint:gosec // a script's argument is far smaller
}
