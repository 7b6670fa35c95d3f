package lua

import (
	"fmt"
	"strings"

	"pgregory.net/rapid"
)

// programmer draws programs over what Lua 5.1 and a handler share, in all the
// shapes that a compiler has to translate. A program shows what it comes by
// with out(), and every loop and call passes tick(), which ends it in time.
type programmer struct {
	t     *rapid.T
	b     strings.Builder
	names []string // locals in scope; those that begin with n hold numbers
	loops int      // loops around, within the function
	calls int      // functions around
	depth int
	next  int
}

// preamble is what programs use. Numbers are shown with 14 digits, as the
// reference implementation shows them.
const preamble = `
local text, fuel = {}, 45
local function show(v)
  if type(v) == "number" then return string.format("%.14g", v + 0) end
  if type(v) == "string" then return "'" .. v .. "'" end
  if type(v) == "table" then return "table" end
  if type(v) == "function" then return "function" end
  return tostring(v)
end
local function out(...)
  for i = 1, select("#", ...) do text[#text + 1] = show((select(i, ...))) end
  text[#text + 1] = ";"
  return ...
end
local function tick(...)
  fuel = fuel - 1
  if fuel < 0 then error("out of fuel") end
  return ...
end
local function fmany(...) return ... end
local function fnone() end
local function fadd(a, b) if type(a) == "number" and type(b) == "number" then return a + b end return a end
local n0, fout = 10, out
local a, b, c, d, t, u = 1, "x", nil, false, { 1, 2, 3, k = 4 }, { x = "y" }
local finish, t0, u0 = out, t, u
`

// drawProgram is one drawn program; it returns its text.
func drawProgram(t *rapid.T) string {
	p := &programmer{t: t, names: []string{"a", "b", "c", "d", "t", "u", "n0", "fmany", "fnone", "fadd", "fout"}}
	p.b.WriteString(preamble + "local function main(p, q)\n")
	p.names = append(p.names, "p", "q")
	p.calls++
	p.block(6)
	p.b.WriteString("end\nlocal ok = pcall(main, 7, 'q')\nfinish(ok, a, b, c, d, t0.k, t0[1], u0.x)\nreturn table.concat(text, ' ')\n")
	return p.b.String()
}

func (p *programmer) pick(n int) int { return rapid.IntRange(0, n-1).Draw(p.t, "pick") }

func (p *programmer) line(format string, args ...any) {
	p.b.WriteString(strings.Repeat(" ", min(p.depth, 20)))
	fmt.Fprintf(&p.b, format+"\n", args...)
}

// fresh is a new name, or sometimes one that hides another.
func (p *programmer) fresh() string {
	if p.pick(5) == 0 {
		if name := p.name(); name[0] != 'n' && name[0] != 'f' {
			return name
		}
	}
	p.next++
	return fmt.Sprintf("v%d", p.next)
}

// named picks one of the names that begin with a letter: n for numbers, f for
// functions.
func (p *programmer) named(letter byte) string {
	var found []string
	for _, name := range p.names {
		if name[0] == letter {
			found = append(found, name)
		}
	}
	return found[p.pick(len(found))]
}

func (p *programmer) name() string { return p.names[p.pick(len(p.names))] }

// block draws up to n statements in a scope of their own.
func (p *programmer) block(n int) {
	names := len(p.names)
	p.depth++
	for range p.pick(n + 1) {
		p.statement()
	}
	switch {
	case p.loops > 0 && p.pick(4) == 0:
		p.line("break")
	case p.calls > 1 && p.pick(3) == 0:
		p.line("return %s", p.list(3))
	}
	p.depth--
	p.names = p.names[:names]
}

func (p *programmer) statement() {
	if p.depth > 5 {
		p.assign()
		return
	}
	switch p.pick(13) {
	case 0, 1, 2:
		p.assign()
	case 3, 4:
		p.declare()
	case 5:
		p.line("out(%s)", p.list(3))
	case 6:
		p.line("if %s then", p.expr(3))
		p.block(3)
		if p.pick(2) == 0 {
			p.line("elseif %s then", p.expr(2))
			p.block(2)
		}
		if p.pick(2) == 0 {
			p.line("else")
			p.block(3)
		}
		p.line("end")
	case 7, 8:
		p.loop()
	case 9:
		p.function()
	case 10:
		p.line("do")
		p.block(3)
		p.line("end")
	case 11:
		p.line("out(pcall(function(...)")
		loops := p.loops
		p.loops = 0
		p.calls++
		p.block(3)
		p.calls--
		p.loops = loops
		p.line("end, %s) == true)", p.list(2))
	case 12:
		p.line("%s(%s)", []string{"fmany", "tick", "fnone", "out"}[p.pick(4)], p.list(3))
	}
}

func (p *programmer) declare() {
	if p.pick(3) == 0 {
		p.next++
		name := fmt.Sprintf("n%d", p.next)
		p.line("local %s = %s", name, p.number(3))
		p.names = append(p.names, name)
		return
	}
	values := p.list(3)
	names := []string{p.fresh()}
	for range p.pick(3) {
		names = append(names, p.fresh())
	}
	if p.pick(6) == 0 {
		p.line("local %s", strings.Join(names, ", "))
	} else {
		p.line("local %s = %s", strings.Join(names, ", "), values)
	}
	p.names = append(p.names, names...)
}

func (p *programmer) target() string {
	switch p.pick(6) {
	case 0:
		return fmt.Sprintf("%s.%s", p.indexed(), []string{"k", "x", "y"}[p.pick(3)])
	case 1:
		return fmt.Sprintf("%s[%s]", p.indexed(), p.number(2))
	}
	for {
		if name := p.name(); name[0] != 'n' && name[0] != 'f' && name[0] != 't' && name[0] != 'u' {
			return name
		}
	}
}

// indexed is most often one of the tables.
func (p *programmer) indexed() string {
	if p.pick(12) == 0 {
		return p.name()
	}
	return []string{"t", "u", "t0"}[p.pick(3)]
}

func (p *programmer) assign() {
	if p.pick(3) == 0 {
		targets, values := []string{p.named('n')}, []string{p.number(3)}
		for p.pick(3) == 0 {
			targets, values = append(targets, p.named('n')), append(values, p.number(3))
		}
		p.line("%s = %s", strings.Join(targets, ", "), strings.Join(values, ", "))
		return
	}
	targets := []string{p.target()}
	for p.pick(3) == 0 {
		targets = append(targets, p.target())
	}
	p.line("%s = %s", strings.Join(targets, ", "), p.list(3))
}

func (p *programmer) loop() {
	p.loops++
	defer func() { p.loops-- }()
	names := len(p.names)
	defer func() { p.names = p.names[:names] }()
	switch p.pick(5) {
	case 0:
		p.line("while tick(%s) do", p.expr(3))
		p.block(3)
	case 1:
		condition := "true"
		if p.pick(2) == 0 {
			condition = p.expr(2)
		}
		p.line("while %s do do", condition)
		p.block(3)
		p.line("end tick()")
	case 2:
		p.line("repeat")
		p.block(3)
		p.line("until tick(%s)", p.expr(2))
		return
	case 3:
		p.next++
		i := fmt.Sprintf("n%d", p.next)
		p.line("for %s = %d, %d, %d do", i, p.pick(4), p.pick(6), []int{1, 2, -1}[p.pick(3)])
		p.names = append(p.names, i)
		p.block(3)
	case 4:
		vars := []string{p.fresh()}
		for range p.pick(3) {
			vars = append(vars, p.fresh())
		}
		p.line("for %s in %s do", strings.Join(vars, ", "), p.iterator())
		p.names = append(p.names, vars...)
		p.block(3)
	}
	p.line("end")
}

// iterator is what a generic for runs over. Those that have no end of
// their own run out of fuel.
func (p *programmer) iterator() string {
	switch p.pick(5) {
	case 0:
		return "tick, " + p.expr(2)
	case 1:
		return "function(s, c) tick() out(s, c) if type(c) ~= 'number' then return 1, s end if c < 3 then return c + 1, s end end"
	case 2:
		// No more than three: the reference mixes up locals when there are.
		return "function(s, c) tick() out(s, c) if c ~= 2 then return 2, s end end, " + p.expr(2) + []string{"", ", " + p.call(1)}[p.pick(2)]
	}
	return "ipairs({" + p.list(3) + "})"
}

func (p *programmer) function() {
	p.next++
	name := fmt.Sprintf("f%d", p.next)
	params := []string{}
	for range p.pick(3) {
		params = append(params, p.fresh())
	}
	inner := params
	if p.pick(3) == 0 {
		params = append(params, "...")
	}
	names, loops := len(p.names), p.loops
	local := p.pick(2) == 0
	if local {
		p.line("local function %s(%s)", name, strings.Join(params, ", "))
		p.names = append(p.names, name)
	} else {
		p.line("local %s = function(%s)", name, strings.Join(params, ", "))
	}
	p.line("tick()")
	p.names, p.loops = append(p.names, inner...), 0
	p.calls++
	p.block(4)
	p.calls--
	p.line("end")
	p.names, p.loops = append(p.names[:names], name), loops
}

// list is one to n expressions, the last of which may give several values.
func (p *programmer) list(n int) string {
	parts := []string{p.expr(3)}
	for range p.pick(n) {
		parts = append(parts, p.expr(3))
	}
	if p.pick(3) == 0 {
		parts = append(parts, p.call(2))
	}
	return strings.Join(parts, ", ")
}

func (p *programmer) call(depth int) string {
	if p.pick(6) == 0 {
		return fmt.Sprintf("(function(...) return %s end)(%s)", p.expr(depth-1), p.expr(depth-1))
	}
	args := []string{}
	for range p.pick(3) {
		args = append(args, p.expr(depth-1))
	}
	if p.pick(8) == 0 {
		args = append(args, "fmany("+p.expr(depth-1)+", 5)")
	}
	if p.pick(30) == 0 {
		return fmt.Sprintf("%s(%s)", p.name(), strings.Join(args, ", "))
	}
	return fmt.Sprintf("%s(%s)", p.named('f'), strings.Join(args, ", "))
}

// number is an expression that gives a number.
func (p *programmer) number(depth int) string {
	if depth <= 0 || p.pick(3) == 0 {
		if p.pick(2) == 0 {
			return fmt.Sprint(p.pick(10))
		}
		return p.named('n')
	}
	in := func() string { return "(" + p.number(depth-1) + ")" }
	switch p.pick(7) {
	case 0:
		// Only names: the reference mixes up the constants 0 and -0.
		return []string{"-" + p.named('n'), p.named('n') + " * " + in()}[p.pick(2)]
	case 1:
		return fmt.Sprintf("%s %% %d", in(), 2+p.pick(5))
	case 2:
		return fmt.Sprintf("%s and %s or %s", p.operand(depth), in(), in())
	case 3:
		return fmt.Sprintf("fadd(%s, %s)", in(), in())
	case 4:
		return fmt.Sprintf("tick(%s)", in())
	}
	return fmt.Sprintf("%s %s %s", in(), []string{"+", "-"}[p.pick(2)], in())
}

func (p *programmer) expr(depth int) string {
	if depth <= 0 || p.pick(3) == 0 {
		return p.atom()
	}
	switch p.pick(13) {
	case 0:
		return p.number(depth)
	case 1:
		return fmt.Sprintf("%s %s %s", p.operand(depth), []string{"+", "-", "*", "<", "<="}[p.pick(5)], p.operand(depth))
	case 2:
		// A zero below zero is shown as 0 here and as -0 there.
		return fmt.Sprintf("%s .. (%s) + 0", []string{"'x'", "q", "(" + p.number(depth-1) + ") + 0"}[p.pick(3)], p.number(depth-1))
	case 3:
		return fmt.Sprintf("%s %s %s", p.operand(depth), []string{"==", "~="}[p.pick(2)], p.operand(depth))
	case 4:
		return fmt.Sprintf("(%s) %s (%s)", p.number(depth-1), []string{"==", "~=", "<", "<=", ">", ">="}[p.pick(6)], p.number(depth-1))
	case 5, 6, 7:
		return fmt.Sprintf("%s %s %s", p.operand(depth), []string{"and", "or"}[p.pick(2)], p.operand(depth))
	case 8:
		return "not " + p.operand(depth)
	case 9:
		return p.call(depth)
	case 10:
		return p.table(depth)
	case 11:
		return fmt.Sprintf("%s[%s]", p.indexed(), p.number(depth-1))
	}
	return fmt.Sprintf("%s and %s or %s", p.operand(depth), p.operand(depth), p.operand(depth))
}

func (p *programmer) operand(depth int) string {
	s := p.expr(depth - 1)
	if strings.ContainsAny(s, " ") && !strings.HasPrefix(s, "{") || p.pick(5) == 0 {
		return "(" + s + ")"
	}
	if strings.HasPrefix(s, "{") {
		return "(" + s + ")"
	}
	return s
}

func (p *programmer) table(depth int) string {
	var fields []string
	if p.pick(12) == 0 {
		fields = append(fields, strings.Repeat("0, ", 48)+"1, 2")
	}
	for range p.pick(3) {
		switch p.pick(4) {
		case 0:
			fields = append(fields, "k = "+p.expr(depth-1))
		case 1:
			fields = append(fields, fmt.Sprintf("[%s] = %s", []string{"'x'", "60", "b"}[p.pick(3)], p.expr(depth-1)))
		default:
			fields = append(fields, p.expr(depth-1))
		}
	}
	if p.pick(4) == 0 {
		fields = append(fields, p.call(depth-1))
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

func (p *programmer) atom() string {
	switch p.pick(8) {
	case 0:
		return fmt.Sprint(p.pick(10))
	case 1:
		return []string{"'x'", "'y'", "''"}[p.pick(3)]
	case 2:
		return []string{"nil", "true", "false"}[p.pick(3)]
	case 3:
		return fmt.Sprintf("%s.%s", p.indexed(), []string{"k", "x", "y"}[p.pick(3)])
	}
	return p.name()
}
