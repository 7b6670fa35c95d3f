package lua

import (
	glua "github.com/yuin/gopher-lua"
)

// openBase defines the basic functions. What Lua 5.1 has beyond them loads
// code, reaches the host or breaks the frozen globals, and is absent.
func (v *vm) openBase() {
	v.functions([]entry{
		{"assert", v.luaAssert}, {"error", v.luaError}, {"pcall", v.luaPCall}, {"xpcall", v.luaXPCall},
		{"getmetatable", v.luaGetMetatable}, {"setmetatable", v.luaSetMetatable},
		{"next", v.luaNext}, {"rawequal", v.luaRawEqual}, {"rawget", v.luaRawGet}, {"rawset", v.luaRawSet},
		{"rawlen", v.luaRawLen}, {"select", v.luaSelect}, {"tonumber", v.luaToNumber},
		{"tostring", v.luaToString}, {"type", v.luaType}, {"unpack", v.luaUnpack},
	})
	next := v.globals.table.RawGetString("next")
	step := v.l.NewFunction(v.ipairsStep)
	v.functions([]entry{
		{"pairs", func(l *glua.LState) int {
			// What stands behind a read-only table must not reach the script.
			t := v.argTable()
			if t == v.ctx.table {
				t = v.ctxCopy()
			}
			l.Push(next)
			l.Push(t)
			l.Push(glua.LNil)
			return 3
		}},
		{"ipairs", func(l *glua.LState) int {
			t := v.argTable()
			l.Push(step)
			l.Push(t)
			l.Push(glua.LNumber(0))
			return 3
		}},
	})
	v.globals.table.RawSetString("_VERSION", glua.LString("Lua 5.1"))
}

func (v *vm) luaAssert(l *glua.LState) int {
	if glua.LVAsBool(v.argAny(1)) {
		return l.GetTop()
	}
	message := l.Get(2)
	if message == glua.LNil {
		message = glua.LString("assertion failed")
	}
	if text, ok := v.text(message); ok {
		v.raise("%s", text)
	}
	l.Error(message, 0)
	return 0
}

func (v *vm) luaError(l *glua.LState) int {
	level := v.optInt(2, 1)
	message := l.Get(1)
	if text, ok := v.text(message); ok {
		message = glua.LString(text)
	}
	l.Error(message, level)
	return 0
}

func (v *vm) luaNext(l *glua.LState) int {
	t := v.view(v.argTable())
	v.use(1, 0)
	key, value := t.Next(l.Get(2))
	v.pass(passed(t, l.Get(2), key))
	if key == glua.LNil {
		l.Push(glua.LNil)
		return 1
	}
	l.Push(key)
	l.Push(value)
	return 2
}

func (v *vm) ipairsStep(l *glua.LState) int {
	t, _ := l.Get(1).(*glua.LTable)
	i, _ := l.Get(2).(glua.LNumber)
	if t == nil {
		v.badArg(1, "table")
	}
	value := v.view(t).RawGetInt(int(i) + 1)
	if value == glua.LNil {
		l.Push(glua.LNil)
		return 1
	}
	l.Push(i + 1)
	l.Push(value)
	return 2
}

func (v *vm) luaSelect(l *glua.LState) int {
	top := l.GetTop()
	if s, ok := l.Get(1).(glua.LString); ok && s == "#" {
		l.Push(glua.LNumber(top - 1))
		return 1
	}
	n := v.argInt(1)
	if n < 0 {
		n += top
	}
	if n < 1 {
		l.ArgError(1, "index out of range")
	}
	return top - min(n, top)
}

func (v *vm) luaUnpack(l *glua.LState) int {
	t := v.view(v.argTable())
	from := v.optInt(2, 1)
	to := v.optInt(3, t.Len())
	if from > to {
		return 0
	}
	n := to - from + 1
	v.checkValues(n)
	for i := from; i <= to; i++ {
		l.Push(t.RawGet(glua.LNumber(i)))
	}
	return n
}

// checkValues bounds how many values go onto the stack at once.
func (v *vm) checkValues(n int) {
	if n > maxUnpack {
		v.raise("%d values at once are too many: the most is %d", n, maxUnpack)
	}
	v.use(int64(n), int64(n)*bytesPerElement)
}
