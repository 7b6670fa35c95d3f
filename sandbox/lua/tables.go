package lua

import (
	"slices"

	glua "github.com/yuin/gopher-lua"
)

func (v *vm) openTables() {
	v.library("table", []entry{
		{"concat", v.tabConcat}, {"insert", v.tabInsert}, {"maxn", v.tabMaxN}, {"remove", v.tabRemove},
		{"sort", v.tabSort}, {"unpack", v.luaUnpack}, {"pack", v.tabPack},
	})
}

func (v *vm) tabConcat(l *glua.LState) int {
	t := v.view(v.argTable())
	sep := v.optText(2, "")
	from := v.optInt(3, 1)
	to := v.optInt(4, -1)
	if l.Get(4) == glua.LNil {
		to = v.listLen(t)
	}
	var out []byte
	charged := 0
	for i := from; i <= to; i++ {
		item := t.RawGet(glua.LNumber(i))
		joined, ok := appendText(out, item)
		if !ok {
			v.raise("item %d of the table for concat is a %s", i, v.typeName(item))
		}
		if out = joined; i < to {
			out = append(out, sep...)
		}
		if n := len(out); n-charged > 1024 || i&63 == 0 {
			v.use(16, int64(n-charged))
			charged = n
		}
	}
	return v.pushText(string(out))
}

func (v *vm) tabInsert(l *glua.LState) int {
	t := v.writable(v.argTable())
	n := v.listLen(t)
	v.checkList(n + 1)
	switch l.GetTop() {
	case 2:
		v.use(1, bytesPerElement)
		t.RawSetInt(n+1, l.Get(2))
	case 3:
		at := v.argInt(2)
		if at < 1 || at > n+1 {
			v.raise("position %d is outside of the list, which has %d items", at, n)
		}
		v.use(int64(n-at)/32, bytesPerElement)
		if at == n+1 {
			t.RawSetInt(at, l.Get(3))
		} else {
			t.Insert(at, l.Get(3))
		}
	default:
		v.raise("write table.insert(list, value) or table.insert(list, position, value)")
	}
	return 0
}

func (v *vm) tabRemove(l *glua.LState) int {
	t := v.writable(v.argTable())
	n := v.listLen(t)
	at := v.optInt(2, n)
	if n == 0 || at < 1 || at > n {
		l.Push(glua.LNil)
		return 1
	}
	v.use(int64(n-at)/32, 0)
	item := t.RawGetInt(at)
	if at == n {
		t.RawSetInt(at, glua.LNil)
	} else {
		t.Remove(at)
	}
	l.Push(item)
	return 1
}

// tabMaxN is the largest positive number among the keys.
func (v *vm) tabMaxN(l *glua.LState) int {
	t := v.view(v.argTable())
	most := glua.LNumber(t.MaxN())
	for key, _ := t.Next(glua.LNil); key != glua.LNil; key, _ = t.Next(key) {
		v.use(1, 0)
		if n, ok := key.(glua.LNumber); ok {
			most = max(most, n)
		}
	}
	l.Push(most)
	return 1
}

func (v *vm) tabPack(l *glua.LState) int {
	n := l.GetTop()
	v.checkValues(n)
	t := l.CreateTable(n, 1)
	for i := 1; i <= n; i++ {
		t.RawSetInt(i, l.Get(i))
	}
	t.RawSetString("n", glua.LNumber(n))
	l.Push(t)
	return 1
}

// tabSort sorts a copy and writes it back, so that a comparison that fails
// leaves the list as it was.
func (v *vm) tabSort(l *glua.LState) int {
	t := v.writable(v.argTable())
	n := v.listLen(t)
	v.use(int64(n), int64(n)*bytesPerElement)
	items := make([]glua.LValue, n)
	for i := range items {
		items[i] = t.RawGetInt(i + 1)
	}
	less := v.isLess
	if fn := l.Get(2); fn != glua.LNil {
		v.argFunction(2)
		less = func(a, b glua.LValue) bool { return glua.LVAsBool(v.callBack(fn, a, b)) }
	}
	slices.SortFunc(items, func(a, b glua.LValue) int {
		v.use(2, 0)
		switch {
		case less(a, b):
			return -1
		case less(b, a):
			return 1
		}
		return 0
	})
	for i, item := range items {
		t.RawSetInt(i+1, item)
	}
	return 0
}
