package lua

import (
	"math"
	"math/big"
	"strconv"
	"strings"

	glua "github.com/yuin/gopher-lua"
)

// arithmetic is one of the six operators.
type arithmetic uint8

const (
	opAdd arithmetic = iota
	opSub
	opMul
	opDiv
	opMod
	opPow
	// opFloorDiv has no operator in Lua 5.1; it is int.div.
	opFloorDiv
)

// calculate applies an operator where the engine does not do it itself: where
// an operand is an exact integer or a string. Results are exact or an error.
func (v *vm) calculate(op arithmetic, a, b glua.LValue) glua.LValue {
	x, y := v.operand(a), v.operand(b)
	fx, plainX := x.(glua.LNumber)
	fy, plainY := y.(glua.LNumber)
	if plainX && plainY {
		return glua.LNumber(plainArithmetic(op, float64(fx), float64(fy)))
	}
	return v.exact(op, v.whole(x), v.whole(y))
}

// operand is a value as a number.
func (v *vm) operand(lv glua.LValue) glua.LValue {
	switch x := lv.(type) {
	case glua.LNumber:
		return x
	case glua.LString:
		if n := v.parseNumber(string(x)); n != glua.LNil {
			return n
		}
		v.raise("attempt to calculate with the string %q, which is no number", short(string(x)))
	}
	if asInteger(lv) == nil {
		v.raise("attempt to calculate with a %s value", v.typeName(lv))
	}
	return lv
}

// whole is an operand of an exact calculation.
func (v *vm) whole(lv glua.LValue) *big.Int {
	if x := asInteger(lv); x != nil {
		return v.big(x)
	}
	f := float64(lv.(glua.LNumber))
	if f != math.Trunc(f) || math.IsInf(f, 0) {
		v.raise("an integer beyond 2^53 and %s have no exact result: round the fraction first", numberText(f))
	}
	n, _ := new(big.Float).SetFloat64(f).Int(nil)
	return n
}

// parseNumber reads a number from a string as Lua does, but exactly; nil when
// it is none.
func (v *vm) parseNumber(s string) glua.LValue {
	s = strings.Trim(s, " \t\n\v\f\r")
	if n, ok := smallInteger(s); ok {
		return glua.LNumber(n)
	}
	body, negative := strings.CutPrefix(s, "-")
	if hex, ok := cutHex(body); ok {
		return v.parseInteger(hex, 16, negative)
	}
	if isInteger(s) {
		return v.parseInteger(body, 10, negative)
	}
	// Go also reads underscores, hexadecimal floats, Inf and NaN.
	if strings.Trim(body, "0123456789.eE+-") != "" {
		return glua.LNil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return glua.LNil
	}
	return glua.LNumber(f)
}

func cutHex(s string) (string, bool) {
	if rest, ok := strings.CutPrefix(s, "0x"); ok {
		return rest, true
	}
	return strings.CutPrefix(s, "0X")
}

// parseInteger reads digits of a base, without a sign; nil when they are none
// or too many.
func (v *vm) parseInteger(digits string, base int, negative bool) glua.LValue {
	if digits == "" || len(digits) > maxDigits || digits[0] == '+' || digits[0] == '-' || strings.Contains(digits, "_") {
		return glua.LNil
	}
	v.use(int64(len(digits)/8), 0)
	n, ok := new(big.Int).SetString(digits, base)
	if !ok {
		return glua.LNil
	}
	if negative {
		n.Neg(n)
	}
	return v.fromBig(n)
}

// exact calculates with whole numbers of any size up to the bound.
func (v *vm) exact(op arithmetic, x, y *big.Int) glua.LValue {
	bits := max(x.BitLen(), y.BitLen())
	switch op {
	case opMul:
		bits = x.BitLen() + y.BitLen()
	case opPow:
		bits = v.powBits(x, y)
	case opDiv, opMod, opFloorDiv:
		if y.Sign() == 0 {
			v.raise("division of an integer by zero")
		}
	}
	if bits > maxBits {
		v.raise("the result is larger than the largest integer, which has %d bits", maxBits)
	}
	v.use(int64(1+bits/16), int64(bits/8)+bytesPerValue)
	z := new(big.Int)
	switch op {
	case opAdd:
		z.Add(x, y)
	case opSub:
		z.Sub(x, y)
	case opMul:
		z.Mul(x, y)
	case opPow:
		z.Exp(x, y, nil)
	case opDiv:
		z = v.quotient(x, y)
	case opMod:
		_, z = floorDiv(x, y)
	case opFloorDiv:
		z, _ = floorDiv(x, y)
	}
	return v.fromBig(z)
}

func (v *vm) powBits(x, y *big.Int) int {
	if y.Sign() < 0 {
		v.raise("an integer beyond 2^53 to a negative power has no exact result")
	}
	if !y.IsInt64() || y.Int64() > maxBits {
		return maxBits + 1
	}
	return x.BitLen() * int(y.Int64())
}

func (v *vm) quotient(x, y *big.Int) *big.Int {
	q, r := new(big.Int).QuoRem(x, y, new(big.Int))
	if r.Sign() != 0 {
		v.raise("%s / %s has no exact result: write int.div(a, b) for the floor, with %% for the rest", short(x.String()), short(y.String()))
	}
	return q
}

// floorDiv is the quotient rounded down and the rest with the divisor's sign,
// as Lua's % has it.
func floorDiv(x, y *big.Int) (q, r *big.Int) {
	q, r = new(big.Int).QuoRem(x, y, new(big.Int))
	if r.Sign() != 0 && r.Sign() != y.Sign() {
		q.Sub(q, big.NewInt(1))
		r.Add(r, y)
	}
	return q, r
}

func plainArithmetic(op arithmetic, x, y float64) float64 {
	switch op {
	case opAdd:
		return x + y
	case opSub:
		return x - y
	case opMul:
		return x * y
	case opDiv:
		return x / y
	case opMod:
		return modulo(x, y)
	case opPow:
		return math.Pow(x, y)
	}
	return math.Floor(x / y)
}

// modulo is Lua's %, whose result has the sign of the divisor.
func modulo(x, y float64) float64 {
	r := math.Mod(x, y)
	if r*y < 0 {
		r += y
	}
	return r
}

// openInt defines int(x), which reads an exact integer, and the exact
// operations on integers of any size, whose plain forms would round.
func (v *vm) openInt() {
	op := func(o arithmetic) glua.LGFunction {
		return func(l *glua.LState) int {
			l.Push(v.exact(o, v.whole(v.argInteger(1)), v.whole(v.argInteger(2))))
			return 1
		}
	}
	v.library("int", []entry{{"add", op(opAdd)}, {"sub", op(opSub)}, {"mul", op(opMul)}, {"div", op(opFloorDiv)}, {"mod", op(opMod)}})
	front := v.globals.table.RawGetString("int").(*glua.LTable)
	front.Metatable.(*glua.LTable).RawSetString("__call", v.l.NewFunction(func(l *glua.LState) int {
		l.Push(v.argInteger(2))
		return 1
	}))
}

// argInteger is argument n as an integer.
func (v *vm) argInteger(n int) glua.LValue {
	lv := v.l.Get(n)
	if s, ok := lv.(glua.LString); ok {
		if lv = v.parseNumber(string(s)); lv == glua.LNil {
			v.raise("%q is no integer", short(string(s)))
		}
	}
	if f, ok := lv.(glua.LNumber); ok {
		if f != glua.LNumber(math.Trunc(float64(f))) || math.IsInf(float64(f), 0) {
			v.raise("%s is no integer", numberText(float64(f)))
		}
		if math.Abs(float64(f)) > maxSafe {
			n, _ := new(big.Float).SetFloat64(float64(f)).Int(nil)
			return v.fromBig(n)
		}
		return f
	}
	if asInteger(lv) == nil {
		v.raise("a %s is no integer", v.typeName(lv))
	}
	return lv
}
