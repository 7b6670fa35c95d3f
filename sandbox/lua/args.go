package lua

import (
	"fmt"
	"math"

	glua "github.com/yuin/gopher-lua"
)

// badArg raises the error for an argument of the wrong type.
func (v *vm) badArg(n int, want string) {
	got := "nothing"
	if n <= v.l.GetTop() {
		got = "a " + v.typeName(v.l.Get(n))
	}
	v.l.ArgError(n, fmt.Sprintf("%s expected, got %s", want, got))
}

func (v *vm) argText(n int) string {
	lv := v.l.Get(n)
	if s, ok := lv.(glua.LString); ok {
		return string(s)
	}
	s, ok := v.text(lv)
	if !ok {
		v.badArg(n, "string")
	}
	return s
}

func (v *vm) optText(n int, or string) string {
	if v.l.Get(n) == glua.LNil {
		return or
	}
	return v.argText(n)
}

// argFloat is an argument as a double. Exact integers are rounded: it is for
// functions whose results are rounded anyway.
func (v *vm) argFloat(n int) float64 {
	lv := v.l.Get(n)
	if f, ok := lv.(glua.LNumber); ok {
		return float64(f)
	}
	if s, ok := lv.(glua.LString); ok {
		lv = v.parseNumber(string(s))
	}
	if f, ok := lv.(glua.LNumber); ok {
		return float64(f)
	}
	x := asInteger(lv)
	if x == nil {
		v.badArg(n, "number")
	}
	f, _ := v.big(x).Float64()
	return f
}

// argInt is an argument as an int, rounded toward zero and bounded to what an
// index can be.
func (v *vm) argInt(n int) int {
	f := v.argFloat(n)
	if math.IsNaN(f) {
		v.badArg(n, "integer")
	}
	return int(min(max(f, math.MinInt32), math.MaxInt32))
}

func (v *vm) optInt(n, or int) int {
	if v.l.Get(n) == glua.LNil {
		return or
	}
	return v.argInt(n)
}

// argTable is the first argument, which must be a table.
func (v *vm) argTable() *glua.LTable {
	t, ok := v.l.Get(1).(*glua.LTable)
	if !ok {
		v.badArg(1, "table")
	}
	return t
}

func (v *vm) argAny(n int) glua.LValue {
	if n > v.l.GetTop() {
		v.badArg(n, "value")
	}
	return v.l.Get(n)
}

func (v *vm) argFunction(n int) *glua.LFunction {
	fn, ok := v.l.Get(n).(*glua.LFunction)
	if !ok {
		v.badArg(n, "function")
	}
	return fn
}

// pushText charges for a new string and pushes it.
func (v *vm) pushText(s string) int {
	v.use(int64(len(s)/64), int64(len(s)))
	v.l.Push(glua.LString(s))
	return 1
}
