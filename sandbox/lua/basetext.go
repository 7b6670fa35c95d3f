package lua

import (
	"strings"

	glua "github.com/yuin/gopher-lua"
)

func (v *vm) luaToNumber(l *glua.LState) int {
	lv := v.argAny(1)
	if l.Get(2) != glua.LNil && v.argInt(2) != 10 {
		base := v.argInt(2)
		if base < 2 || base > 36 {
			l.ArgError(2, "base out of range")
		}
		s := strings.Trim(v.argText(1), " \t\n\v\f\r")
		digits, negative := strings.CutPrefix(s, "-")
		if hex, ok := cutHex(digits); ok && base == 16 {
			digits = hex
		}
		l.Push(v.parseInteger(digits, base, negative))
		return 1
	}
	switch x := lv.(type) {
	case glua.LNumber:
		l.Push(x)
	case glua.LString:
		l.Push(v.parseNumber(string(x)))
	default:
		if asInteger(lv) == nil {
			lv = glua.LNil
		}
		l.Push(lv)
	}
	return 1
}

func (v *vm) luaToString(l *glua.LState) int {
	lv := v.argAny(1)
	if s, ok := lv.(glua.LString); ok {
		l.Push(s)
		return 1
	}
	return v.pushText(v.display(lv))
}

// display is tostring: it never shows an address.
func (v *vm) display(lv glua.LValue) string {
	if text, ok := v.text(lv); ok {
		return text
	}
	switch x := lv.(type) {
	case glua.LBool, *glua.LNilType:
		return lv.String()
	case *glua.LTable:
		op := v.l.GetMetaField(x, "__tostring")
		if op.Type() != glua.LTFunction {
			break
		}
		text, ok := v.text(v.callBack(op, x))
		if !ok {
			v.raise("'__tostring' must return a string")
		}
		return text
	}
	return v.typeName(lv)
}

func (v *vm) luaType(l *glua.LState) int {
	l.Push(glua.LString(v.typeName(v.argAny(1))))
	return 1
}
