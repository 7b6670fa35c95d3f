package lua

import (
	"path"
	"strings"

	glua "github.com/yuin/gopher-lua"

	"pipeline/engine/outcome"
)

// globals is the global scope. Functions see env, an empty table that stands
// before the real one: so every assignment passes define, and nothing can
// change what is there.
type globals struct {
	env, table *glua.LTable
	// owner says which file defined a global; built-in ones are missing.
	owner map[string]string
	// file is the file whose top level is running, "" when all are loaded.
	file string
}

// entry is a function of a library.
type entry struct {
	name string
	fn   glua.LGFunction
}

// openGlobals sets up the global scope with everything that is built in.
func (v *vm) openGlobals() {
	l := v.l
	g := &v.globals
	g.table, g.env = l.CreateTable(0, 64), &glua.LTable{}
	g.owner = map[string]string{}
	meta := l.CreateTable(0, 2)
	meta.RawSetString("__index", g.table)
	meta.RawSetString("__newindex", l.NewFunction(v.define))
	g.env.Metatable = meta
	l.Env = g.env
	l.G.Global = g.env

	v.arrayMark = &glua.LTable{Metatable: glua.LNil}
	v.openValues()
	v.openVerdicts()
	v.openBase()
	v.openStrings()
	v.openTables()
	v.openMath()
	v.openInt()
	v.openUTF8()
	v.openJSON()
	v.openCodecs()
	v.openTime()
	v.openContext()
	v.openLazy()
	v.openRecords()
	v.openGrants()
}

// functions defines global functions.
func (v *vm) functions(list []entry) {
	for _, e := range list {
		v.globals.table.RawSetString(e.name, v.l.NewFunction(e.fn))
	}
}

// library defines a read-only table of functions and returns what stands
// behind it.
func (v *vm) library(name string, list []entry) *glua.LTable {
	t := v.l.CreateTable(0, len(list)+2)
	for _, e := range list {
		t.RawSetString(e.name, v.l.NewFunction(e.fn))
	}
	v.globals.table.RawSetString(name, t)
	v.freeze(t, name, "is built in")
	return v.frozen[t]
}

// define is every assignment to a global.
func (v *vm) define(l *glua.LState) int {
	name, _ := l.Get(2).(glua.LString)
	g := &v.globals
	exists := g.table.RawGetString(string(name)) != glua.LNil
	owner := g.owner[string(name)]
	switch {
	case exists && owner == "":
		v.raise("'%s' is built in and cannot be changed: choose another name, or write `local %s = ...`", name, name)
	case g.file == "" && exists:
		v.raise("the global '%s' cannot be changed after the script is loaded: keep what changes in a local", name)
	case g.file == "":
		v.raise("assignment to the undeclared global '%s': write `local %s = ...`", name, name)
	case exists && owner != g.file:
		v.raise("'%s' is defined by the module %s: choose another name", name, owner)
	}
	g.owner[string(name)] = g.file
	g.table.RawSetString(string(name), l.Get(3))
	return 0
}

// load runs the top level of the modules and the script and freezes what they
// have defined.
func (v *vm) load() (err error) {
	script := v.h.script()
	defer func() {
		v.globals.file = ""
		if r := recover(); r != nil {
			v.m.stop(outcome.FailCrash, errCrash)
			err = v.loadError(script, errCrash)
		}
	}()
	v.beginGrants(nil)
	for _, p := range v.h.programs {
		if err := v.loadProgram(p, p != script); err != nil {
			return err
		}
	}
	return nil
}

func (v *vm) loadProgram(p *program, module bool) error {
	v.globals.file = p.name
	v.l.Push(v.l.NewFunctionFromProto(p.proto))
	guards := v.guards()
	for _, g := range guards {
		v.l.Push(g)
	}
	if err := v.l.PCall(len(guards), 1, nil); err != nil {
		return v.loadError(p, err)
	}
	if v.m.err != nil {
		return v.loadError(p, v.m.err)
	}
	result := v.l.Get(-1)
	v.l.SetTop(0)
	if module && result != glua.LNil {
		v.nameModule(p, result)
	}
	for name, owner := range v.globals.owner {
		if t, ok := v.globals.table.RawGetString(name).(*glua.LTable); ok && owner == p.name {
			v.freezeDeep(t, name, "cannot be changed after the script is loaded")
		}
	}
	return nil
}

// nameModule makes what a module returns a global with the name of its file.
func (v *vm) nameModule(p *program, result glua.LValue) {
	name := strings.TrimSuffix(path.Base(p.name), path.Ext(p.name))
	if v.globals.table.RawGetString(name) == glua.LNil {
		v.globals.owner[name] = p.name
		v.globals.table.RawSetString(name, result)
	}
}

// bind finds the handler's function.
func (v *vm) bind() error {
	name := v.h.spec.Function
	fn, ok := v.globals.table.RawGetString(name).(*glua.LFunction)
	if !ok || v.globals.owner[name] == "" {
		return missing(name, v.h.script().outline, v.defined())
	}
	v.fn = fn
	v.withCtx = fn.IsG || fn.Proto.NumParameters > 1 || fn.Proto.IsVarArg != 0
	return nil
}

// defined are the global functions of the handler's files with where each is
// defined.
func (v *vm) defined() map[string]definition {
	found := map[string]definition{}
	for name, owner := range v.globals.owner {
		fn, ok := v.globals.table.RawGetString(name).(*glua.LFunction)
		if !ok {
			continue
		}
		d := definition{file: owner}
		if !fn.IsG {
			d.line = fn.Proto.LineDefined
		}
		found[name] = d
	}
	return found
}

// definition is where a global function is defined; line 0 is not known.
type definition struct {
	file string
	line int
}
