package lua

import (
	glua "github.com/yuin/gopher-lua"

	"pipeline/engine/value"
)

// lazyReads is how many fields are read one by one before the whole table is
// built. Building costs about as much as three reads a field.
const lazyReads = 8

// lazyBody is the body of the current call while it is an object that the
// script has only read simple fields of. The script's table is empty then, and
// its metatable reads from the value: most handlers look at two or three
// fields, and a Lua table costs several allocations for each. Anything else
// that happens to the table fills it first, so that no script can tell.
//
// A script that keeps the body of one entry and looks at it during another
// gets an error if it was never filled: what it would read is gone.
type lazyBody struct {
	meta, stale *glua.LTable
	table       *glua.LTable
	members     []value.Value
	reads       int
}

func (v *vm) openLazy() {
	v.lazy.meta = v.l.CreateTable(0, 2)
	v.lazy.meta.RawSetString("__index", v.l.NewFunction(v.lazyGet))
	v.lazy.meta.RawSetString("__newindex", v.l.NewFunction(v.lazySet))
	v.lazy.stale = v.l.CreateTable(0, 2)
	refuse := v.l.NewFunction(func(*glua.LState) int { v.raiseStale(); return 0 })
	v.lazy.stale.RawSetString("__index", refuse)
	v.lazy.stale.RawSetString("__newindex", refuse)
}

func (v *vm) raiseStale() {
	v.raise("this is the body of an earlier entry: copy what a later call needs")
}

// lazyTable is the table of an object that is filled when it has to be.
func (v *vm) lazyTable(members []value.Value) glua.LValue {
	z := &v.lazy
	z.table, z.members, z.reads = &glua.LTable{Metatable: z.meta}, members, 0
	return z.table
}

// endLazy parts the table from a body that is about to go.
func (v *vm) endLazy() {
	z := &v.lazy
	if z.table != nil {
		z.table.Metatable = z.stale
		z.table, z.members = nil, nil
	}
}

func (v *vm) lazyGet(l *glua.LState) int {
	z := &v.lazy
	t, _ := l.Get(1).(*glua.LTable)
	name, ok := l.Get(2).(glua.LString)
	if t == nil || t != z.table {
		// The table was filled while this was being called.
		l.Push(glua.LNil)
		return 1
	}
	if !ok {
		l.Push(glua.LNil)
		return 1
	}
	if z.reads++; z.reads > lazyReads {
		v.fill()
		l.Push(t.RawGetString(string(name)))
		return 1
	}
	for i := range z.members {
		m := &z.members[i]
		if m.Name() != string(name) {
			continue
		}
		if m.Kind() >= value.Array {
			// A table has an identity, which only a filled table keeps.
			v.fill()
			l.Push(t.RawGetString(string(name)))
			return 1
		}
		item, _ := v.toLua(m)
		l.Push(item)
		return 1
	}
	l.Push(glua.LNil)
	return 1
}

func (v *vm) lazySet(l *glua.LState) int {
	t, _ := l.Get(1).(*glua.LTable)
	if t == nil {
		v.badArg(1, "table")
	}
	if t == v.lazy.table {
		v.fill()
	}
	l.RawSet(t, l.Get(2), l.Get(3))
	return 0
}

// fill makes the lazy table an ordinary one.
func (v *vm) fill() {
	z := &v.lazy
	t, members := z.table, z.members
	z.table, z.members = nil, nil
	t.Metatable = glua.LNil
	if err := v.fillTable(t, members); err != nil {
		v.raise("the body cannot be given to the script: %s", err.Error())
	}
}
