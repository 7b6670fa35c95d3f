package value

// An array or object that was parsed from JSON without white space or escapes
// keeps that text. Nothing of it can be written otherwise, but for the order of
// members: numbers keep their digits, what needs an escape has one, and a name
// occurs once. So it is copied where AppendJSON would put it together again, and
// nothing in it is looked at twice. Values are immutable, and one that is made
// out of others has no text.

// wrote notes the text that v was parsed from, and whether the members of all
// objects in it are in order.
func (v *Value) wrote(text string, sorted bool) { v.text, v.sorted = text, sorted }

// written reports whether v has such a text.
func (v *Value) written() bool { return v.kind >= Array && v.text != "" }

// appendWritten appends a value that is written, or is in one that is.
func appendWritten(dst []byte, v *Value) []byte {
	switch {
	case v.kind == String:
		return append(append(append(dst, '"'), v.text...), '"')
	case v.kind == Null:
		return append(dst, "null"...)
	case v.kind < Array || v.sorted:
		return append(dst, v.text...)
	case v.kind == Array:
		return appendWrittenItems(dst, v.kids())
	}
	return appendWrittenMembers(dst, v.kids())
}

func appendWrittenItems(dst []byte, items []Value) []byte {
	dst = append(dst, '[')
	for i := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendWritten(dst, &items[i])
	}
	return append(dst, ']')
}

func appendWrittenMembers(dst []byte, members []Value) []byte {
	var buf [smallOrder]int
	dst = append(dst, '{')
	for n, i := range order(members, buf[:]) {
		if n > 0 {
			dst = append(dst, ',')
		}
		m := &members[i]
		dst = append(append(append(dst, '"'), m.name...), '"', ':')
		dst = appendWritten(dst, m)
	}
	return append(dst, '}')
}
