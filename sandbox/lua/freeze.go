package lua

import (
	"strings"

	glua "github.com/yuin/gopher-lua"
)

// freeze makes t read-only in place, so that every reference to it sees that:
// what t holds moves to a table that no script can reach, and t becomes an
// empty front whose metatable reads there and refuses writes. name and why
// make the message of a refused write.
//
// Metamethods of t stay on the front as well, because the engine looks them up
// there without asking the front's own metatable.
func (v *vm) freeze(t *glua.LTable, name, why string) {
	held := new(glua.LTable)
	*held = *t
	meta := v.l.CreateTable(0, 4)
	if old, ok := held.Metatable.(*glua.LTable); ok {
		copyAllEvents(meta, v.view(old))
	}
	*t = glua.LTable{Metatable: meta}
	copyAllEvents(t, held)
	meta.RawSetString("__index", held)
	meta.RawSetString("__newindex", v.l.NewFunction(func(l *glua.LState) int {
		v.raise("%s.%s cannot be set: '%s' %s", name, v.keyText(l.Get(2)), name, why)
		return 0
	}))
	v.frozen[t] = held
}

// copyAllEvents copies the metamethods that a table holds.
func copyAllEvents(to, from *glua.LTable) {
	for key, value := from.Next(glua.LNil); key != glua.LNil; key, value = from.Next(key) {
		if s, ok := key.(glua.LString); ok && strings.HasPrefix(string(s), "__") {
			to.RawSetString(string(s), value)
		}
	}
}

// freezeDeep freezes t and the tables that it holds.
func (v *vm) freezeDeep(t *glua.LTable, name, why string) {
	queue := []*glua.LTable{t}
	for len(queue) > 0 {
		t := queue[0]
		queue = queue[1:]
		if _, done := v.frozen[t]; done {
			continue
		}
		v.freeze(t, name, why)
		held := v.frozen[t]
		for key, value := held.Next(glua.LNil); key != glua.LNil; key, value = held.Next(key) {
			if inner, ok := value.(*glua.LTable); ok {
				queue = append(queue, inner)
			}
		}
	}
}

// view is the table that holds what t shows: t itself unless it is frozen, or
// is ctx.
func (v *vm) view(t *glua.LTable) *glua.LTable {
	if t.Metatable == glua.LNil || t.Metatable == v.arrayMark {
		return t
	}
	switch t.Metatable {
	case v.lazy.meta:
		v.fill()
		return t
	case v.lazy.stale:
		v.raiseStale()
	}
	if t == v.ctx.table {
		return v.ctxCopy()
	}
	if held, ok := v.frozen[t]; ok {
		return held
	}
	return t
}

// writable is t, or an error when it is frozen: for functions that change
// tables without asking metamethods.
func (v *vm) writable(t *glua.LTable) *glua.LTable {
	if v.view(t) != t {
		v.raise("this table is read-only: it is ctx, built in, or a global, and the script is loaded")
	}
	return t
}

// keyText shows a table key in a message.
func (v *vm) keyText(key glua.LValue) string {
	switch k := key.(type) {
	case glua.LString:
		return short(string(k))
	case glua.LNumber:
		return numberText(float64(k))
	case *glua.LUserData:
		if n, ok := k.Value.(*integer); ok {
			return short(n.text)
		}
	}
	return v.typeName(key)
}
