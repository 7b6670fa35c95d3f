package lua

import (
	"strconv"

	glua "github.com/yuin/gopher-lua"
)

// guards are the functions that stand for operators, in the order of
// guardNames.
func (v *vm) guards() []*glua.LFunction {
	fns := []glua.LGFunction{v.concat, v.length, v.equal, v.less, v.lessEqual, v.greater, v.greaterEqual, v.takeRecord, v.joinLists}
	out := make([]*glua.LFunction, len(fns))
	for i, fn := range fns {
		out[i] = v.l.NewFunction(fn)
	}
	return out
}

// appendText appends the text of a value that `..` can join; ok is false for
// others.
func appendText(dst []byte, lv glua.LValue) (out []byte, ok bool) {
	switch x := lv.(type) {
	case glua.LString:
		return append(dst, x...), true
	case glua.LNumber:
		if n := int64(x); glua.LNumber(n) == x && -maxSafe <= n && n <= maxSafe {
			return strconv.AppendInt(dst, n, 10), true
		}
		return append(dst, numberText(float64(x))...), true
	}
	if n := asInteger(lv); n != nil {
		return append(dst, n.text...), true
	}
	return dst, false
}

// text is the text of a value that can stand for one.
func (v *vm) text(lv glua.LValue) (string, bool) {
	if s, ok := lv.(glua.LString); ok {
		return string(s), true
	}
	out, ok := appendText(v.buf[:0], lv)
	v.buf = out[:0]
	return string(out), ok
}

// concat is the operator `..` over all its operands at once.
func (v *vm) concat(l *glua.LState) int {
	n := l.GetTop()
	size := 0
	for i := 1; i <= n; i++ {
		if s, ok := l.Get(i).(glua.LString); ok {
			size += len(s)
		}
	}
	v.use(int64(size/64), int64(size))
	out := v.buf[:0]
	for i := 1; i <= n; i++ {
		var ok bool
		if out, ok = appendText(out, l.Get(i)); !ok {
			l.Push(v.concatOther(n))
			return 1
		}
	}
	l.Push(glua.LString(out))
	if cap(out) <= 64<<10 {
		v.buf = out[:0]
	}
	return 1
}

// concatOther is concat where an operand is no text: from the right, with
// metamethods.
func (v *vm) concatOther(n int) glua.LValue {
	l := v.l
	acc := l.Get(n)
	for i := n - 1; i >= 1; i-- {
		left := l.Get(i)
		a, okA := v.text(left)
		b, okB := v.text(acc)
		if okA && okB {
			v.use(int64((len(a)+len(b))/64), int64(len(a)+len(b)))
			acc = glua.LString(a + b)
			continue
		}
		op := l.GetMetaField(left, "__concat")
		if op == glua.LNil {
			op = l.GetMetaField(acc, "__concat")
		}
		if op.Type() != glua.LTFunction {
			bad := acc
			if !okA {
				bad = left
			}
			v.raise("attempt to join (..) a %s value", v.typeName(bad))
		}
		acc = v.callBack(op, left, acc)
	}
	return acc
}

// callBack calls a function of the script for one result.
func (v *vm) callBack(fn glua.LValue, args ...glua.LValue) glua.LValue {
	v.l.Push(fn)
	for _, a := range args {
		v.l.Push(a)
	}
	v.l.Call(len(args), 1)
	out := v.l.Get(-1)
	v.l.Pop(1)
	return out
}

// length is the operator `#`.
func (v *vm) length(l *glua.LState) int {
	switch x := l.Get(1).(type) {
	case glua.LString:
		l.Push(glua.LNumber(len(x)))
		return 1
	case *glua.LTable:
		if x.Metatable != glua.LNil && x.Metatable != v.arrayMark {
			if op := l.GetMetaField(x, "__len"); op.Type() == glua.LTFunction {
				l.Push(v.callBack(op, x))
				return 1
			}
		}
		l.Push(glua.LNumber(v.listLen(x)))
		return 1
	}
	v.raise("attempt to get the length of a %s value", v.typeName(l.Get(1)))
	return 0
}

// listLen is the length of a list. A list that fills the array part may go on
// beyond it, where items are not counted; a wrong length would make t[#t+1]
// overwrite items.
func (v *vm) listLen(t *glua.LTable) int {
	t = v.view(t)
	n := t.Len()
	if n > maxList {
		v.raise("this list is too long: a list can hold %d items", maxList)
	}
	v.pass(arrayRoom(t) - n) // the engine looks for the last item from the end on
	return n
}

func (v *vm) equal(l *glua.LState) int {
	l.Push(glua.LBool(v.isEqual(l.Get(1), l.Get(2))))
	return 1
}

func (v *vm) isEqual(a, b glua.LValue) bool {
	if a.Type() == b.Type() && a.Type() != glua.LTUserData {
		return v.l.Equal(a, b)
	}
	order, ok, unordered := compare(a, b)
	if ok {
		return order == 0 && !unordered
	}
	return a == b
}

func (v *vm) less(l *glua.LState) int {
	l.Push(glua.LBool(v.isLess(l.Get(1), l.Get(2))))
	return 1
}

func (v *vm) greater(l *glua.LState) int {
	l.Push(glua.LBool(v.isLess(l.Get(2), l.Get(1))))
	return 1
}

func (v *vm) lessEqual(l *glua.LState) int {
	l.Push(glua.LBool(v.isLessEqual(l.Get(1), l.Get(2))))
	return 1
}

func (v *vm) greaterEqual(l *glua.LState) int {
	l.Push(glua.LBool(v.isLessEqual(l.Get(2), l.Get(1))))
	return 1
}

func (v *vm) isLess(a, b glua.LValue) bool {
	if order, ok, unordered := compare(a, b); ok {
		return order < 0 && !unordered
	}
	v.checkComparable(a, b)
	return v.l.LessThan(a, b)
}

func (v *vm) isLessEqual(a, b glua.LValue) bool {
	if order, ok, unordered := compare(a, b); ok {
		return order <= 0 && !unordered
	}
	v.checkComparable(a, b)
	if op := v.l.GetMetaField(a, "__le"); op.Type() == glua.LTFunction && op == v.l.GetMetaField(b, "__le") {
		return glua.LVAsBool(v.callBack(op, a, b))
	}
	return !v.l.LessThan(b, a)
}

// checkComparable leaves to the engine what it can order: two strings and two
// values with a metamethod.
func (v *vm) checkComparable(a, b glua.LValue) {
	if x, ok := a.(glua.LString); ok {
		if y, ok := b.(glua.LString); ok {
			v.use(int64(min(len(x), len(y))/64), 0)
			return
		}
	}
	if a.Type() == glua.LTTable && b.Type() == glua.LTTable {
		return
	}
	v.raise("attempt to compare a %s with a %s", v.typeName(a), v.typeName(b))
}

// joinLists makes one list of the parts of a long constructor:
// join(t, n, t2, n2, ..., tLast).
func (v *vm) joinLists(l *glua.LState) int {
	t, at := v.argTable(), 0
	for i := 2; i < l.GetTop(); i += 2 {
		at += v.argInt(i)
		part, ok := l.Get(i + 1).(*glua.LTable)
		if !ok {
			v.badArg(i+1, "table")
		}
		n := part.MaxN()
		v.checkList(at + n)
		v.use(int64(n), int64(n)*bytesPerElement)
		for k := 1; k <= n; k++ {
			t.RawSetInt(at+k, part.RawGetInt(k))
		}
	}
	l.SetTop(1)
	return 1
}
