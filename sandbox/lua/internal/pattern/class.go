package pattern

import "strings"

// Specials are the characters that make a pattern more than plain text.
const Specials = "^$*+?.([%-"

// Plain reports whether pattern matches only itself.
func Plain(pattern string) bool { return !strings.ContainsAny(pattern, Specials) }

// classEnd is the index after the single character or class at p.
func (m *Matcher) classEnd(p int) int {
	c := m.pat[p]
	p++
	switch c {
	case '%':
		if p >= len(m.pat) {
			m.Fail("malformed pattern (ends with '%')")
		}
		return p + 1
	case '[':
		return m.setEnd(p)
	}
	return p
}

// setEnd is the index after the set whose inside begins at p. A ] that comes
// first is a member.
func (m *Matcher) setEnd(p int) int {
	if p < len(m.pat) && m.pat[p] == '^' {
		p++
	}
	for first := true; ; first = false {
		if p >= len(m.pat) {
			m.Fail("malformed pattern (missing ']')")
		}
		c := m.pat[p]
		p++
		if c == ']' && !first {
			return p
		}
		if c == '%' {
			p++
		}
	}
}

// single reports whether the character at s is in the class [p, ep).
func (m *Matcher) single(s, p, ep int) bool {
	m.step()
	if s >= len(m.src) {
		return false
	}
	c := m.src[s]
	switch m.pat[p] {
	case '.':
		return true
	case '%':
		return inClass(c, m.pat[p+1])
	case '[':
		return m.set(c, p, ep-1)
	}
	return m.pat[p] == c
}

// set reports whether c is in the set from p, at its [, to end, at its ].
func (m *Matcher) set(c byte, p, end int) bool {
	in := true
	p++
	if m.pat[p] == '^' {
		in = false
		p++
	}
	for ; p < end; p++ {
		m.step()
		switch {
		case m.pat[p] == '%' && p+1 < end:
			p++
			if inClass(c, m.pat[p]) {
				return in
			}
		case p+2 < end && m.pat[p+1] == '-':
			if m.pat[p] <= c && c <= m.pat[p+2] {
				return in
			}
			p += 2
		case m.pat[p] == c:
			return in
		}
	}
	return !in
}

// inClass reports whether c is in the class %class of the C locale; an upper
// case letter is the complement.
func inClass(c, class byte) bool {
	var in bool
	switch class | 0x20 {
	case 'a':
		in = letter(c)
	case 'c':
		in = c < ' ' || c == 0x7f
	case 'd':
		in = digit(c)
	case 'l':
		in = 'a' <= c && c <= 'z'
	case 'p':
		in = c > ' ' && c < 0x7f && !letter(c) && !digit(c)
	case 's':
		in = c == ' ' || '\t' <= c && c <= '\r'
	case 'u':
		in = 'A' <= c && c <= 'Z'
	case 'w':
		in = letter(c) || digit(c)
	case 'x':
		in = digit(c) || 'a' <= c|0x20 && c|0x20 <= 'f'
	case 'z':
		in = c == 0
	default:
		return class == c
	}
	if !letter(class) {
		return class == c
	}
	if 'A' <= class && class <= 'Z' {
		return !in
	}
	return in
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool  { return '0' <= c && c <= '9' }
