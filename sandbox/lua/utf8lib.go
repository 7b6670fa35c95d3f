package lua

import (
	"unicode/utf8"

	glua "github.com/yuin/gopher-lua"
)

// openUTF8 defines the utf8 library of Lua 5.3.
func (v *vm) openUTF8() {
	held := v.library("utf8", []entry{
		{"char", v.utf8Char}, {"codepoint", v.utf8Codepoint}, {"codes", v.utf8Codes},
		{"len", v.utf8Len}, {"offset", v.utf8Offset}, {"valid", v.utf8Valid},
	})
	held.RawSetString("charpattern", glua.LString("[%z\x01-\x7f\xc2-\xf4][\x80-\xbf]*"))
}

func (v *vm) utf8Char(l *glua.LState) int {
	var out []byte
	for i := 1; i <= l.GetTop(); i++ {
		c := v.argInt(i)
		if c < 0 || c > utf8.MaxRune || !utf8.ValidRune(rune(c)) {
			l.ArgError(i, "no character has this number")
		}
		out = utf8.AppendRune(out, rune(c))
	}
	return v.pushText(string(out))
}

// decode reads the character at byte i, or raises an error.
func (v *vm) decode(s string, i int) (rune, int) {
	r, n := utf8.DecodeRuneInString(s[i:])
	if r == utf8.RuneError && n < 2 {
		v.raise("invalid UTF-8 at byte %d", i+1)
	}
	return r, n
}

func (v *vm) utf8Codepoint(l *glua.LState) int {
	s := v.argText(1)
	i := v.optInt(2, 1)
	from, to := span(i, v.optInt(3, i), len(s))
	v.checkValues(to - from)
	n := 0
	for from < to {
		r, size := v.decode(s, from)
		l.Push(glua.LNumber(r))
		from += size
		n++
	}
	return n
}

func (v *vm) utf8Codes(l *glua.LState) int {
	s := v.argText(1)
	l.Push(l.NewFunction(func(l *glua.LState) int {
		at := v.argInt(2)
		next := 0
		if at > 0 && at <= len(s) {
			_, size := v.decode(s, at-1)
			next = at - 1 + size
		}
		if next >= len(s) {
			l.Push(glua.LNil)
			return 1
		}
		r, _ := v.decode(s, next)
		l.Push(glua.LNumber(next + 1))
		l.Push(glua.LNumber(r))
		return 2
	}))
	l.Push(glua.LString(s))
	l.Push(glua.LNumber(0))
	return 3
}

// utf8Len is the number of characters, or nil and the place of the first byte
// that is not UTF-8.
func (v *vm) utf8Len(l *glua.LState) int {
	s := v.argText(1)
	from, to := span(v.optInt(2, 1), v.optInt(3, -1), len(s))
	v.use(int64(to-from)/16, 0)
	n := 0
	for from < to {
		r, size := utf8.DecodeRuneInString(s[from:])
		if r == utf8.RuneError && size < 2 {
			l.Push(glua.LNil)
			l.Push(glua.LNumber(from + 1))
			return 2
		}
		from += size
		n++
	}
	l.Push(glua.LNumber(n))
	return 1
}

func (v *vm) utf8Valid(l *glua.LState) int {
	s := v.argText(1)
	v.use(int64(len(s)/64), 0)
	l.Push(glua.LBool(utf8.ValidString(s)))
	return 1
}

// utf8Offset is the byte at which the n-th character, counted from byte i,
// begins.
func (v *vm) utf8Offset(l *glua.LState) int {
	s, n := v.argText(1), v.argInt(2)
	start := 1
	if n <= 0 {
		start = len(s) + 1
	}
	i := v.optInt(3, start)
	if i < 0 {
		i = len(s) + i + 1
	}
	i--
	if i < 0 || i > len(s) {
		l.ArgError(3, "position out of range")
	}
	v.use(int64(len(s)/16), 0)
	inside := func(i int) bool { return i < len(s) && !utf8.RuneStart(s[i]) }
	if n == 0 {
		for i > 0 && inside(i) {
			i--
		}
		l.Push(glua.LNumber(i + 1))
		return 1
	}
	if inside(i) {
		v.raise("byte %d is inside of a character", i+1)
	}
	for ; n < 0 && i > 0; n++ {
		for i--; i > 0 && inside(i); i-- {
		}
	}
	if n > 0 {
		for n--; n > 0 && i < len(s); n-- {
			for i++; inside(i); i++ {
			}
		}
	}
	if n != 0 {
		l.Push(glua.LNil)
	} else {
		l.Push(glua.LNumber(i + 1))
	}
	return 1
}
