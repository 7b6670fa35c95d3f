package lua

import (
	"strings"

	glua "github.com/yuin/gopher-lua"
)

// openStrings defines the string library. Methods of strings go to the table
// behind the library, which no script can reach, with the arithmetic that lets
// numeric strings be calculated with exactly.
func (v *vm) openStrings() {
	held := v.library("string", []entry{
		{"byte", v.strByte}, {"char", v.strChar}, {"find", v.strFind}, {"format", v.strFormat},
		{"gmatch", v.strGmatch}, {"gsub", v.strGsub}, {"len", v.strLen}, {"lower", v.strLower},
		{"match", v.strMatch}, {"rep", v.strRep}, {"reverse", v.strReverse}, {"sub", v.strSub},
		{"upper", v.strUpper},
	})
	meta := v.l.CreateTable(0, 8)
	meta.RawSetString("__index", held)
	copyEvents(meta, v.intMeta, arithmeticEvents)
	v.l.SetMetatable(glua.LString(""), meta)
	v.matcher.Charge = func(steps int64) { v.use(steps/4, 0) }
	v.matcher.Fail = func(problem string) { v.raise("%s", problem) }
}

// span is the part of a string of n bytes that Lua's i and j, which may count
// from the end, mean: [from, to).
func span(i, j, n int) (from, to int) {
	if i < 0 {
		i = max(n+i+1, 1)
	}
	if j < 0 {
		j = n + j + 1
	}
	i, j = max(i, 1), min(j, n)
	if i > j {
		return 0, 0
	}
	return i - 1, j
}

func (v *vm) strSub(l *glua.LState) int {
	s := v.argText(1)
	from, to := span(v.argInt(2), v.optInt(3, -1), len(s))
	l.Push(glua.LString(s[from:to]))
	return 1
}

func (v *vm) strByte(l *glua.LState) int {
	s := v.argText(1)
	i := v.optInt(2, 1)
	from, to := span(i, v.optInt(3, i), len(s))
	v.checkValues(to - from)
	for _, c := range []byte(s[from:to]) {
		l.Push(glua.LNumber(c))
	}
	return to - from
}

func (v *vm) strChar(l *glua.LState) int {
	out := make([]byte, l.GetTop())
	for i := range out {
		c := v.argInt(i + 1)
		if c < 0 || c > 255 {
			l.ArgError(i+1, "a byte is between 0 and 255")
		}
		out[i] = byte(c)
	}
	return v.pushText(string(out))
}

func (v *vm) strLen(l *glua.LState) int {
	l.Push(glua.LNumber(len(v.argText(1))))
	return 1
}

// chargeText is the argument of a function that makes a string as long.
func (v *vm) chargeText() string {
	s := v.argText(1)
	v.use(int64(len(s)/32), int64(len(s)))
	return s
}

func (v *vm) strLower(l *glua.LState) int {
	l.Push(glua.LString(mapBytes(v.chargeText(), 'A', 'Z')))
	return 1
}

func (v *vm) strUpper(l *glua.LState) int {
	l.Push(glua.LString(mapBytes(v.chargeText(), 'a', 'z')))
	return 1
}

// mapBytes changes the case of the letters between from and to: of ASCII only,
// as in Lua's C locale, so that other bytes of a text are never broken.
func mapBytes(s string, from, to byte) string {
	out := []byte(s)
	for i, c := range out {
		if from <= c && c <= to {
			out[i] = c ^ 0x20
		}
	}
	return string(out)
}

func (v *vm) strReverse(l *glua.LState) int {
	s := v.chargeText()
	out := make([]byte, len(s))
	for i := range out {
		out[i] = s[len(s)-1-i]
	}
	l.Push(glua.LString(out))
	return 1
}

func (v *vm) strRep(l *glua.LState) int {
	s := v.argText(1)
	n, sep := v.argInt(2), v.optText(3, "")
	if n <= 0 || len(s)+len(sep) == 0 {
		l.Push(glua.LString(""))
		return 1
	}
	// Both factors are below 2^31, so the product cannot overflow.
	size := int64(n)*int64(len(s)) + int64(n-1)*int64(len(sep))
	v.use(size/64, size)
	if sep == "" {
		l.Push(glua.LString(strings.Repeat(s, n)))
	} else {
		l.Push(glua.LString(strings.Repeat(s+sep, n-1) + s))
	}
	return 1
}
