package binary

// AppendU32 appends an unsigned LEB128 number.
func AppendU32(dst []byte, v uint32) []byte {
	for ; v >= 0x80; v >>= 7 {
		dst = append(dst, byte(v)|0x80)
	}
	return append(dst, byte(v))
}

// AppendS64 appends a signed LEB128 number.
func AppendS64(dst []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(dst, c)
		}
		dst = append(dst, c|0x80)
	}
}

// AppendName appends a text with its length before it.
func AppendName(dst []byte, s string) []byte {
	return append(AppendU32(dst, uint32(len(s))), s...)
}

// AppendSection appends a section with its number and length before it; an
// empty one is left out.
func AppendSection(dst []byte, id byte, body []byte) []byte {
	if len(body) == 0 {
		return dst
	}
	dst = AppendU32(append(dst, id), uint32(len(body)))
	return append(dst, body...)
}
