package lua

import glua "github.com/yuin/gopher-lua"

// luaGetMetatable shows no metatable but those that scripts have set.
func (v *vm) luaGetMetatable(l *glua.LState) int {
	t, ok := v.argAny(1).(*glua.LTable)
	if !ok {
		l.Push(glua.LNil)
		return 1
	}
	t = v.view(t)
	meta, ok := t.Metatable.(*glua.LTable)
	if !ok || meta == v.arrayMark {
		l.Push(glua.LNil)
		return 1
	}
	if hidden := v.view(meta).RawGetString("__metatable"); hidden != glua.LNil {
		l.Push(hidden)
	} else {
		l.Push(meta)
	}
	return 1
}

func (v *vm) luaSetMetatable(l *glua.LState) int {
	t := v.argTable()
	meta := l.Get(2)
	if _, ok := meta.(*glua.LTable); !ok && meta != glua.LNil {
		v.badArg(2, "table or nil")
	}
	if v.view(t) != t {
		v.raise("the metatable of a read-only table cannot be changed")
	}
	if old, ok := t.Metatable.(*glua.LTable); ok && v.view(old).RawGetString("__metatable") != glua.LNil {
		v.raise("the metatable of this table is protected")
	}
	t.Metatable = meta
	l.Push(t)
	return 1
}

func (v *vm) luaRawEqual(l *glua.LState) int {
	a, b := v.argAny(1), v.argAny(2)
	if order, ok, unordered := compare(a, b); ok {
		l.Push(glua.LBool(order == 0 && !unordered))
	} else {
		l.Push(glua.LBool(l.RawEqual(a, b)))
	}
	return 1
}

func (v *vm) luaRawGet(l *glua.LState) int {
	l.Push(v.view(v.argTable()).RawGet(v.argAny(2)))
	return 1
}

func (v *vm) luaRawSet(l *glua.LState) int {
	t := v.writable(v.argTable())
	l.RawSet(t, v.argAny(2), v.argAny(3))
	l.SetTop(1)
	return 1
}

func (v *vm) luaRawLen(l *glua.LState) int {
	if s, ok := l.Get(1).(glua.LString); ok {
		l.Push(glua.LNumber(len(s)))
		return 1
	}
	l.Push(glua.LNumber(v.listLen(v.argTable())))
	return 1
}
