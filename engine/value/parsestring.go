package value

import (
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks, by its high bit, the first byte of w (in little-endian order)
// that is a quote, a backslash or a control character. Bytes after the first
// may be marked without reason.
func special(w uint64) uint64 {
	quote := w ^ ones*'"'
	slash := w ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (w-ones*0x20)&^w) & highs
}

// load is the 8 bytes of s from i on.
func load(s string, i int) uint64 {
	s = s[i : i+8]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// plainLen is how many bytes of s from i on need no second look in a JSON
// string.
func plainLen(s string, i int) int {
	start := i
	for len(s)-i >= 8 {
		if m := special(load(s, i)); m != 0 {
			return i - start + bits.TrailingZeros64(m)>>3
		}
		i += 8
	}
	for i < len(s) && s[i] != '"' && s[i] != '\\' && s[i] >= 0x20 {
		i++
	}
	return i - start
}

// verbatim reports whether s is ASCII that stands in a JSON string as it is. It may
// miss some that is.
func verbatim(s string) bool {
	if len(s) < 8 {
		for i := range len(s) {
			if c := s[i]; c-0x20 >= 0x7f-0x20 || c == '"' || c == '\\' {
				return false
			}
		}
		return true
	}
	bad := uint64(0)
	for i := 0; i+8 < len(s); i += 8 {
		w := load(s, i)
		bad |= special(w) | w&highs
	}
	w := load(s, len(s)-8) // some of it for the second time
	return bad|special(w)|w&highs == 0
}

// str reads a string from its opening quote on. All of src is known to be
// UTF-8.
func (p *parser) str() (text string, ok bool) {
	start := p.pos + 1
	i := start + plainLen(p.src, start)
	if i < len(p.src) && p.src[i] == '"' {
		p.pos = i + 1
		return p.src[start:i], true
	}
	buf := make([]byte, 0, 64)
	for {
		buf = append(buf, p.src[start:i]...)
		if i == len(p.src) {
			return "", p.fail(i, `the closing '"' of a string`)
		}
		switch c := p.src[i]; {
		case c == '"':
			p.pos = i + 1
			return string(buf), true
		case c < 0x20:
			return "", p.failFound(i, `an escape such as \n`, "the control character "+strconv.QuoteRune(rune(c)))
		}
		if buf, i = p.escape(buf, i); p.err != nil {
			return "", false
		}
		start = i
		i += plainLen(p.src, i)
	}
}

// escape appends what the escape at i stands for and returns where it ends.
func (p *parser) escape(buf []byte, i int) ([]byte, int) {
	p.loose = i
	if i+1 == len(p.src) {
		p.fail(i+1, "the rest of an escape")
		return buf, i
	}
	switch c := p.src[i+1]; c {
	case '"', '\\', '/':
		buf = append(buf, c)
	case 'b':
		buf = append(buf, '\b')
	case 'f':
		buf = append(buf, '\f')
	case 'n':
		buf = append(buf, '\n')
	case 'r':
		buf = append(buf, '\r')
	case 't':
		buf = append(buf, '\t')
	case 'u':
		return p.unicode(buf, i)
	default:
		p.fail(i+1, `one of "\/bfnrtu after a backslash`)
	}
	return buf, i + 2
}

// unicode is escape for \u, which may be a pair.
func (p *parser) unicode(buf []byte, i int) ([]byte, int) {
	r, ok := hex4(p.src, i)
	if !ok {
		p.fail(i+2, `four hexadecimal digits after \u`)
		return buf, i
	}
	if !utf16.IsSurrogate(r) {
		return utf8.AppendRune(buf, r), i + 6
	}
	low, _ := hex4(p.src, i+6)
	pair := utf16.DecodeRune(r, low)
	if pair == utf8.RuneError {
		p.failFound(i, "a whole surrogate pair", "half of one: "+p.src[i:i+6])
		return buf, i
	}
	return utf8.AppendRune(buf, pair), i + 12
}

// hex4 reads the \uXXXX at i.
func hex4(s string, i int) (r rune, ok bool) {
	if len(s)-i < 6 || s[i] != '\\' || s[i+1] != 'u' {
		return 0, false
	}
	for _, c := range []byte(s[i+2 : i+6]) {
		switch {
		case c-'0' <= 9:
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
