package value

import "unicode/utf8"

// ParseJSON reads one JSON text (RFC 8259), and nothing but white space around
// it. It is strict where parsers differ and an entry could mean two things:
// bytes that are not UTF-8, a member name that occurs twice in an object, an
// escaped half of a surrogate pair and nesting beyond MaxDepth are refused.
//
// Strings without escapes and the digits of numbers are substrings of src,
// which therefore stays alive with the value. The value's slices come from a
// and are valid until its Reset; a nil Arena gives the value memory of its
// own. The error is a *SyntaxError.
func ParseJSON(src string, a *Arena) (Value, error) {
	if a == nil {
		a = &Arena{}
	}
	p := parser{src: src, arena: a, loose: -1, disorder: -1}
	ok := p.document()
	stack := a.stack
	a.high, a.stack = max(a.high, len(stack)), stack[:0]
	if !ok {
		return Value{}, p.err
	}
	return stack[0], nil
}

// parser reads src from pos on. A value that is read whole is pushed onto the
// arena's stack. Its methods return false after they have set err.
type parser struct {
	src   string
	pos   int
	depth int
	// loose is where the last white space or escape was, and disorder where the last
	// object ended whose members are not in order, or -1: see written.go.
	loose, disorder int
	arena           *Arena
	err             *SyntaxError
}

func (p *parser) document() bool {
	if !utf8.ValidString(p.src) {
		return p.fail(invalidUTF8(p.src), "UTF-8")
	}
	if !p.value("") {
		return false
	}
	if p.space(); p.pos < len(p.src) {
		return p.fail(p.pos, "nothing after the JSON value")
	}
	return true
}

// space skips white space.
func (p *parser) space() {
	for p.pos < len(p.src) {
		switch p.src[p.pos] {
		case ' ', '\t', '\n', '\r':
			p.loose = p.pos
			p.pos++
		default:
			return
		}
	}
}

// next skips white space and returns the byte after it, 0 at the end.
func (p *parser) next() byte {
	if p.pos < len(p.src) && p.src[p.pos] > ' ' {
		return p.src[p.pos]
	}
	p.space()
	if p.pos < len(p.src) {
		return p.src[p.pos]
	}
	return 0
}

// value reads one value and gives it the name.
func (p *parser) value(name string) bool {
	switch c := p.next(); c {
	case '"':
		text, ok := p.str()
		if ok {
			p.push(String, name, text)
		}
		return ok
	case '{':
		return p.object(name)
	case '[':
		return p.array(name)
	case 't':
		return p.word(name, "true", Bool)
	case 'f':
		return p.word(name, "false", Bool)
	case 'n':
		return p.word(name, "null", Null)
	default:
		if c == '-' || c-'0' <= 9 {
			return p.number(name)
		}
	}
	return p.fail(p.pos, "a JSON value")
}

func (p *parser) push(kind Kind, name, text string) {
	a := p.arena
	if n := len(a.stack); n < cap(a.stack) {
		// In place: building a Value and copying it costs twice as much.
		a.stack = a.stack[:n+1]
		v := &a.stack[n]
		v.kind, v.sorted, v.count, v.first, v.name, v.text = kind, false, 0, nil, name, text
		return
	}
	a.stack = append(a.stack, Value{kind: kind, name: name, text: text})
}

func (p *parser) word(name, word string, kind Kind) bool {
	end := p.pos + len(word)
	if end > len(p.src) || p.src[p.pos:end] != word {
		return p.fail(p.pos, word)
	}
	p.pos = end
	if kind == Null {
		word = ""
	}
	p.push(kind, name, word)
	return true
}

func (p *parser) number(name string) bool {
	start := p.pos
	end, ok := scanNumber(p.src, start)
	if !ok {
		return p.fail(end, "a digit")
	}
	if c := p.src[end-1]; c == '0' && end < len(p.src) && p.src[end]-'0' <= 9 {
		return p.fail(start, "a number without leading zeros")
	}
	p.pos = end
	p.push(Number, name, p.src[start:end])
	return true
}

func (p *parser) array(name string) bool {
	start := p.pos
	base, ok := p.open()
	if !ok {
		return false
	}
	if p.next() != ']' {
		for {
			if !p.value("") {
				return false
			}
			if c := p.next(); c == ']' {
				break
			} else if c != ',' {
				return p.fail(p.pos, `"," or "]"`)
			}
			p.pos++
		}
	}
	p.shut(Array, name, base, start)
	return true
}

func (p *parser) object(name string) bool {
	start := p.pos
	base, ok := p.open()
	if !ok {
		return false
	}
	if p.next() != '}' {
		for {
			if !p.member() {
				return false
			}
			if c := p.next(); c == '}' {
				break
			} else if c != ',' {
				return p.fail(p.pos, `"," or "}"`)
			}
			p.pos++
		}
	}
	if members := p.arena.stack[base:]; !inOrder(members) {
		p.disorder = p.pos
		if i := p.arena.Duplicate(members); i >= 0 {
			return p.failFound(memberOffset(p.src, start, i), "each member name once", Quote(members[i].name)+" again")
		}
	}
	p.shut(Object, name, base, start)
	return true
}

func (p *parser) member() bool {
	if p.next() != '"' {
		return p.fail(p.pos, "a member name in double quotes")
	}
	name, ok := p.str()
	if !ok {
		return false
	}
	if p.next() != ':' {
		return p.fail(p.pos, `":"`)
	}
	p.pos++
	return p.value(name)
}

// open enters an array or object and returns where its elements start on the
// stack.
func (p *parser) open() (base int, ok bool) {
	if p.depth++; p.depth > MaxDepth {
		return 0, p.failFound(p.pos, depthLimit, "one more")
	}
	p.pos++
	return len(p.arena.stack), true
}

const depthLimit = "at most 128 levels of arrays and objects"

// shut leaves the array or object that opens at start and whose elements start at
// base.
func (p *parser) shut(kind Kind, name string, base, start int) {
	p.depth--
	p.pos++
	v := container(kind, name, p.arena.close(base))
	if p.loose < start {
		v.wrote(p.src[start:p.pos], p.disorder < start)
	}
	p.arena.stack = append(p.arena.stack, v)
}
