package lua

import (
	"math"
	"math/big"

	glua "github.com/yuin/gopher-lua"
)

func (v *vm) openMath() {
	list := []entry{
		{"abs", v.mathAbs}, {"ceil", v.rounded(math.Ceil)}, {"floor", v.rounded(math.Floor)},
		{"fmod", v.float2(math.Mod)}, {"mod", v.float2(math.Mod)}, {"modf", v.mathModf},
		{"frexp", v.mathFrexp}, {"ldexp", v.mathLdexp}, {"log", v.mathLog}, {"max", v.mathMax}, {"min", v.mathMin},
		{"atan2", v.float2(math.Atan2)}, {"pow", v.float2(math.Pow)},
		{"random", v.mathRandom}, {"randomseed", v.mathRandomSeed},
	}
	for name, fn := range map[string]func(float64) float64{
		"acos": math.Acos, "asin": math.Asin, "atan": math.Atan, "cos": math.Cos, "cosh": math.Cosh,
		"exp": math.Exp, "log10": math.Log10, "sin": math.Sin, "sinh": math.Sinh, "sqrt": math.Sqrt,
		"tan": math.Tan, "tanh": math.Tanh,
		"deg": func(x float64) float64 { return x * 180 / math.Pi },
		"rad": func(x float64) float64 { return x * math.Pi / 180 },
	} {
		list = append(list, entry{name, v.float1(fn)})
	}
	held := v.library("math", list)
	held.RawSetString("pi", glua.LNumber(math.Pi))
	held.RawSetString("huge", glua.LNumber(math.Inf(1)))
	v.functions([]entry{{"uuid", v.luaUUID}})
}

func (v *vm) float1(fn func(float64) float64) glua.LGFunction {
	return func(l *glua.LState) int {
		l.Push(glua.LNumber(fn(v.argFloat(1))))
		return 1
	}
}

func (v *vm) float2(fn func(x, y float64) float64) glua.LGFunction {
	return func(l *glua.LState) int {
		l.Push(glua.LNumber(fn(v.argFloat(1), v.argFloat(2))))
		return 1
	}
}

// argNumber is an argument as a number of either kind.
func (v *vm) argNumber(n int) glua.LValue {
	lv := v.l.Get(n)
	if s, ok := lv.(glua.LString); ok {
		lv = v.parseNumber(string(s))
	}
	if _, ok := lv.(glua.LNumber); !ok && asInteger(lv) == nil {
		v.badArg(n, "number")
	}
	return lv
}

// rounded is floor or ceil; an exact integer stays as it is.
func (v *vm) rounded(fn func(float64) float64) glua.LGFunction {
	return func(l *glua.LState) int {
		lv := v.argNumber(1)
		if f, ok := lv.(glua.LNumber); ok {
			lv = glua.LNumber(fn(float64(f)))
		}
		l.Push(lv)
		return 1
	}
}

func (v *vm) mathAbs(l *glua.LState) int {
	lv := v.argNumber(1)
	if f, ok := lv.(glua.LNumber); ok {
		l.Push(glua.LNumber(math.Abs(float64(f))))
		return 1
	}
	l.Push(v.fromBig(new(big.Int).Abs(v.big(asInteger(lv)))))
	return 1
}

func (v *vm) mathMax(l *glua.LState) int { return v.extreme(1) }
func (v *vm) mathMin(l *glua.LState) int { return v.extreme(-1) }

func (v *vm) extreme(sign int) int {
	best := v.argNumber(1)
	for i := 2; i <= v.l.GetTop(); i++ {
		next := v.argNumber(i)
		if order, _, unordered := compare(next, best); order*sign > 0 && !unordered {
			best = next
		}
	}
	v.l.Push(best)
	return 1
}

func (v *vm) mathModf(l *glua.LState) int {
	f := v.argFloat(1)
	whole := math.Trunc(f)
	rest := f - whole
	if math.IsInf(f, 0) {
		rest = 0
	}
	l.Push(glua.LNumber(whole))
	l.Push(glua.LNumber(rest))
	return 2
}

func (v *vm) mathFrexp(l *glua.LState) int {
	fraction, exponent := math.Frexp(v.argFloat(1))
	l.Push(glua.LNumber(fraction))
	l.Push(glua.LNumber(exponent))
	return 2
}

func (v *vm) mathLdexp(l *glua.LState) int {
	l.Push(glua.LNumber(math.Ldexp(v.argFloat(1), v.argInt(2))))
	return 1
}

func (v *vm) mathLog(l *glua.LState) int {
	x := math.Log(v.argFloat(1))
	if l.Get(2) != glua.LNil {
		x /= math.Log(v.argFloat(2))
	}
	l.Push(glua.LNumber(x))
	return 1
}
