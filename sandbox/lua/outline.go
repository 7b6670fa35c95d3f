package lua

import (
	"github.com/yuin/gopher-lua/ast"
)

// outline is what one file defines and uses, by name, as far as reading it can
// tell. It is read-only once made.
type outline struct {
	source string
	code   []byte
	units  []*unit
	// locals and members are the lines of functions that only the file itself
	// can see, and of those that stand in a table; tables names the table.
	locals, members map[string]int
	tables          map[string]string
	// returns is the line on which the file returns something, or 0.
	returns int
	// assigned are the globals that some line sets. asked are those that are
	// read in another way than by a call or an index: a script may ask whether
	// a name exists.
	assigned, asked map[string]bool
}

// unit is one function that has a name, with the functions inside that have
// none, or a value that the top level gives a name to.
type unit struct {
	name string
	// global: a handler can be called by this name.
	global   bool
	mentions map[string]bool
	uses     []use
}

// use is one place where a global is called or indexed.
type use struct {
	root, member string
	line         int
	// call: it is called; statement: and the result is dropped. certain: no
	// branch decides whether a run of the unit comes here.
	call, statement, certain bool
}

// outlineOf reads a parsed file. It must come before the tree is rewritten.
// What is nested too deeply, and will be refused, is not read.
func outlineOf(source string, code []byte, chunk []ast.Stmt) *outline {
	o := &outline{
		source: source, code: code, locals: map[string]int{}, members: map[string]int{}, tables: map[string]string{},
		assigned: map[string]bool{}, asked: map[string]bool{},
	}
	w := &walker{out: o, unit: &unit{mentions: map[string]bool{}}, top: true}
	w.block(chunk)
	if w.broken {
		o.units = nil
	}
	return o
}

// reached are the units that the handler's function may come to: those whose
// name it mentions, and so on. It is more than really runs, never less, but for
// what is called through a computed name.
func reached(all []*outline, function string) (units map[*unit]bool, root map[*unit]bool) {
	byName := map[string][]*unit{}
	units, root = map[*unit]bool{}, map[*unit]bool{}
	var queue []*unit
	for _, o := range all {
		for _, u := range o.units {
			byName[u.name] = append(byName[u.name], u)
			if u.global && u.name == function {
				queue, root[u] = append(queue, u), true
			}
		}
	}
	for len(queue) > 0 {
		u := queue[0]
		queue = queue[1:]
		if units[u] {
			continue
		}
		units[u] = true
		for name := range u.mentions {
			queue = append(queue, byName[name]...)
		}
	}
	return units, root
}
