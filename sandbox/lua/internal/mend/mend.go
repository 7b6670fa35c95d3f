// Package mend rewrites a parsed script so that the engine's compiler, which
// translates some correct Lua wrongly, translates it rightly. The meaning of a
// script stays what the manual says. These are the faults of gopher-lua 1.1.2
// that it goes around, with where each is dealt with:
//
//   - a, b = b, a assigns one after the other (assign.go);
//   - x = f() and g() leaves x as it was when f() is false, and so does every
//     chain of `and` that is assigned to a local (assign.go);
//   - x = (f(x)) calls f with itself when x is the last parameter (assign.go);
//   - ("text").field = v sets a field of whatever table is near (assign.go);
//   - local f = function() return f() end calls itself instead of the f outside
//     (assign.go);
//   - for x in f, g() drops what g() gives (loop.go);
//   - break, and goto, out of a block whose local a function has taken leave it
//     open, and the function sees other locals later; goto cuts functions off
//     from locals that go on (loop.go, function.go);
//   - a loop that begins with a jump jumps anywhere (loop.go, fold.go);
//   - {1, …, 50, f()} and {1, …, 50, key = f()} overwrite items, and a list of
//     more than 25,550 items in one constructor loses the last (table.go).
//
// What it cannot express it refuses.
package mend

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// Join is the name of a function join(t, n, t2, n2, …, tLast) that the chunk has
// to hold in a local: it puts the lists after the first, which have as many
// items as the number behind each says, behind the n items of t and returns t.
// No script can write the name.
const Join = "\x00join"

// Pad is the name of a local that keeps a function's first register free of
// locals that closures take: see Goto.
const Pad = "\x00pad"

// Bounds of one function.
const (
	// maxItems is what the compiler can count of list items in a constructor.
	maxItems = 25_550
	// maxConstants keeps the compiler quick: it looks through all of them for
	// each new one.
	maxConstants = 20_000
)

// RefusalError is why a script cannot be compiled rightly.
type RefusalError struct {
	Line            int
	Problem, Remedy string
}

// Error implements error.
func (r *RefusalError) Error() string { return "line " + strconv.Itoa(r.Line) + ": " + r.Problem }

// Chunk returns the chunk as it has to be compiled. Nodes of the given one are
// changed and used. The error is a *RefusalError.
func Chunk(chunk []ast.Stmt) (out []ast.Stmt, err error) {
	m := &mender{mentions: map[string]int{}}
	defer func() {
		if v := recover(); v != nil {
			r, ok := v.(*RefusalError)
			if !ok {
				panic(v)
			}
			err = r
		}
	}()
	m.fn = &function{constants: map[string]bool{}}
	m.open(nil)
	// The chunk's own function takes arguments, so that its first register
	// belongs to none of its blocks.
	return m.stmts(chunk, true), nil
}

// mender walks a script once, from the top.
type mender struct {
	scope *scope
	fn    *function
	// mentions counts how often each name has been read or set.
	mentions map[string]int
	labels   int
}

// scope is a block with its locals.
type scope struct {
	parent *scope
	fn     *function
	names  []string
	// captured: a function inside uses one of the locals.
	captured bool
	// loop is set for the body of a loop.
	loop *loop
}

// loop is a loop around what is being walked.
type loop struct {
	// exit is the label behind the loop, "" when none is needed.
	exit string
}

// function is a function around what is being walked.
type function struct {
	parent *function
	// jumps: there is a goto in it.
	jumps     bool
	constants map[string]bool
}

func (m *mender) open(l *loop) {
	m.scope = &scope{parent: m.scope, fn: m.fn, loop: l}
}

func (m *mender) close() { m.scope = m.scope.parent }

func (m *mender) declare(names ...string) {
	m.scope.names = append(m.scope.names, names...)
}

// mention notes the use of a name, which may take a local of a function around.
func (m *mender) mention(name string, line int) {
	m.mentions[name]++
	for s := m.scope; s != nil; s = s.parent {
		if slices.Contains(s.names, name) {
			s.captured = s.captured || s.fn != m.fn
			return
		}
	}
	m.constant("g"+name, line)
}

// constant counts what a function has to hold as constants.
func (m *mender) constant(key string, line int) {
	if m.fn.constants[key] = true; len(m.fn.constants) > maxConstants {
		refuse(line, "move data out of the script", "a function has more than %d different names, texts and numbers", maxConstants)
	}
}

func refuse(line int, remedy, format string, args ...any) {
	panic(&RefusalError{Line: line, Problem: fmt.Sprintf(format, args...), Remedy: remedy})
}

// place puts a new node where an old one stands.
func place[T ast.PositionHolder](e T, at ast.PositionHolder) T {
	e.SetLine(at.Line())
	if last := at.LastLine(); last > 0 {
		e.SetLastLine(last)
	}
	return e
}

func ident(name string, at ast.PositionHolder) ast.Expr {
	return place(&ast.IdentExpr{Value: name}, at)
}
