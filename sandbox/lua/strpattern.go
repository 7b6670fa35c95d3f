package lua

import (
	"strings"

	glua "github.com/yuin/gopher-lua"

	"pipeline/sandbox/lua/internal/pattern"
)

// pushCapture pushes capture i of a match.
func (v *vm) pushCapture(i, start, end int) {
	text, at := v.matcher.Capture(i, start, end)
	if at > 0 {
		v.l.Push(glua.LNumber(at))
		return
	}
	v.l.Push(glua.LString(text))
}

// pushCaptures pushes all captures; the whole match when there are none and
// whole is set.
func (v *vm) pushCaptures(start, end int, whole bool) int {
	n := v.matcher.Captures()
	if n == 0 && whole {
		n = 1
	}
	v.use(int64(n), int64(n)*bytesPerElement)
	for i := range n {
		v.pushCapture(i, start, end)
	}
	return n
}

func (v *vm) strFind(*glua.LState) int  { return v.search(true) }
func (v *vm) strMatch(*glua.LState) int { return v.search(false) }

// search is find and match.
func (v *vm) search(find bool) int {
	l := v.l
	s, p := v.argText(1), v.argText(2)
	init := v.optInt(3, 1)
	if init < 0 {
		init = max(len(s)+init+1, 1)
	}
	init = max(init, 1) - 1
	if init > len(s) {
		l.Push(glua.LNil)
		return 1
	}
	if find && (glua.LVAsBool(l.Get(4)) || pattern.Plain(p)) {
		return v.findPlain(s, p, init)
	}
	anchored := strings.HasPrefix(p, "^")
	skip := 0
	if anchored {
		skip = 1
	}
	v.matcher.Reset(s, p)
	for at := init; at <= len(s); at++ {
		end := v.matcher.At(at, skip)
		if end >= 0 {
			v.matcher.Settle()
			if !find {
				return v.pushCaptures(at, end, true)
			}
			l.Push(glua.LNumber(at + 1))
			l.Push(glua.LNumber(end))
			return 2 + v.pushCaptures(at, end, false)
		}
		if anchored {
			break
		}
	}
	v.matcher.Settle()
	l.Push(glua.LNil)
	return 1
}

func (v *vm) findPlain(s, p string, init int) int {
	v.use(int64((len(s)-init)/64), 0)
	i := strings.Index(s[init:], p)
	if i < 0 {
		v.l.Push(glua.LNil)
		return 1
	}
	v.l.Push(glua.LNumber(init + i + 1))
	v.l.Push(glua.LNumber(init + i + len(p)))
	return 2
}

// strGmatch returns an iterator. As in Lua 5.1, ^ has no special meaning here.
func (v *vm) strGmatch(l *glua.LState) int {
	s, p := v.argText(1), v.argText(2)
	at := 0
	v.use(4, bytesPerValue)
	l.Push(l.NewFunction(func(l *glua.LState) int {
		v.matcher.Reset(s, p)
		for at <= len(s) {
			start := at
			end := v.matcher.At(start, 0)
			if end < 0 {
				at++
				continue
			}
			if at = end; end == start {
				at++
			}
			v.matcher.Settle()
			return v.pushCaptures(start, end, true)
		}
		v.matcher.Settle()
		l.Push(glua.LNil)
		return 1
	}))
	return 1
}

// gsub is one call of string.gsub.
type gsub struct {
	s, p string
	repl glua.LValue
	// text is repl as a string, when it is one.
	text string
	out  []byte
	// charged is how much of out the meter has been told of.
	charged int
}

// grown charges for what out has grown by, in steps.
func (v *vm) grown(g *gsub) {
	if n := len(g.out); n-g.charged > 4096 {
		v.use(int64(n-g.charged)/64, int64(n-g.charged))
		g.charged = n
	}
}

func (v *vm) strGsub(l *glua.LState) int {
	g := gsub{s: v.argText(1), p: v.argText(2), repl: l.Get(3)}
	switch g.repl.Type() {
	case glua.LTFunction, glua.LTTable:
	default:
		var ok bool
		if g.text, ok = v.text(g.repl); !ok {
			v.badArg(3, "string, table or function")
		}
		g.repl = nil
	}
	most := v.optInt(4, len(g.s)+1)
	count := v.substitute(&g, most)
	v.matcher.Settle()
	v.pushText(string(g.out))
	l.Push(glua.LNumber(count))
	return 2
}

// substitute replaces up to most matches and returns their number.
func (v *vm) substitute(g *gsub, most int) int {
	anchored := strings.HasPrefix(g.p, "^")
	skip := 0
	if anchored {
		skip = 1
	}
	at, count := 0, 0
	v.matcher.Reset(g.s, g.p)
	for count < most {
		end := v.matcher.At(at, skip)
		if end >= 0 {
			count++
			v.replace(g, at, end)
			v.grown(g)
		}
		switch {
		case end > at:
			at = end
		case at < len(g.s):
			g.out = append(g.out, g.s[at])
			at++
		default:
			return count
		}
		if anchored {
			break
		}
	}
	g.out = append(g.out, g.s[at:]...)
	return count
}

// replace appends what stands for the match [start, end).
func (v *vm) replace(g *gsub, start, end int) {
	if g.repl == nil {
		v.expand(g, start, end)
		return
	}
	var result glua.LValue
	if t, ok := g.repl.(*glua.LTable); ok {
		v.pushCapture(0, start, end)
		key := v.l.Get(-1)
		v.l.Pop(1)
		result = v.l.GetTable(t, key)
	} else {
		v.l.Push(g.repl)
		n := v.pushCaptures(start, end, true)
		v.l.Call(n, 1)
		result = v.l.Get(-1)
		v.l.Pop(1)
	}
	// The script may have used the matcher meanwhile.
	v.matcher.Reset(g.s, g.p)
	if glua.LVIsFalse(result) {
		g.out = append(g.out, g.s[start:end]...)
		return
	}
	out, ok := appendText(g.out, result)
	if !ok {
		v.raise("invalid replacement value (a %s)", v.typeName(result))
	}
	g.out = out
}

// expand appends the replacement string with its %0 to %9.
func (v *vm) expand(g *gsub, start, end int) {
	r := g.text
	for i := 0; i < len(r); i++ {
		if r[i] != '%' || i+1 == len(r) {
			g.out = append(g.out, r[i])
			continue
		}
		i++
		switch c := r[i]; {
		case c == '0':
			g.out = append(g.out, g.s[start:end]...)
		case '1' <= c && c <= '9':
			text, at := v.matcher.Capture(int(c-'1'), start, end)
			if at > 0 {
				g.out, _ = appendText(g.out, glua.LNumber(at))
			} else {
				g.out = append(g.out, text...)
			}
		default:
			g.out = append(g.out, c)
		}
		v.grown(g)
	}
	v.use(int64(len(r)/16), 0)
}
