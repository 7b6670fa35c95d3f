package lua

import (
	"math"
	"math/big"
	"strconv"

	glua "github.com/yuin/gopher-lua"

	"pipeline/engine/value"
)

// integer is an exact integer beyond 2^53, where a plain Lua number would lose
// digits. Within a call there is one userdata per value, so that equal
// integers are the same value and the same table key. What fits a plain number
// is never an integer.
type integer struct {
	// text is the digits as they were written.
	text string
	// n is made when it is first calculated with.
	n *big.Int
	// opaque is set for a number of the body that is beyond all doubles and
	// not written as an integer, 1e400: it can be passed on, not calculated
	// with.
	opaque bool
}

// maxBits bounds the integers of calculations, maxDigits those in text form.
const (
	maxBits   = 4096
	maxDigits = 1200
)

// arithmeticEvents are the metamethods of the operators. Values that cannot be
// calculated with have them too, for the sake of the message.
var arithmeticEvents = []string{"__add", "__sub", "__mul", "__div", "__mod", "__pow", "__unm"}

// copyEvents copies named metamethods.
func copyEvents(to, from *glua.LTable, events []string) {
	for _, event := range events {
		to.RawSetString(event, from.RawGetString(event))
	}
}

// openValues makes the metatables of the values that are no Lua values.
func (v *vm) openValues() {
	v.intMeta = v.opaque("a number")
	for name, op := range map[string]arithmetic{
		"__add": opAdd, "__sub": opSub, "__mul": opMul, "__div": opDiv, "__mod": opMod, "__pow": opPow,
	} {
		v.intMeta.RawSetString(name, v.l.NewFunction(func(l *glua.LState) int {
			l.Push(v.calculate(op, l.Get(1), l.Get(2)))
			return 1
		}))
	}
	v.intMeta.RawSetString("__unm", v.l.NewFunction(func(l *glua.LState) int {
		l.Push(v.calculate(opSub, glua.LNumber(0), l.Get(1)))
		return 1
	}))
	meta := v.opaque("a null value")
	copyEvents(meta, v.intMeta, arithmeticEvents)
	v.null = &glua.LUserData{Value: jsonNull{}, Metatable: meta}
}

// jsonNull is the value of json.null.
type jsonNull struct{}

// number is the Lua value of a number as JSON writes it.
func (v *vm) number(digits string) glua.LValue {
	if n, ok := smallInteger(digits); ok {
		return glua.LNumber(n)
	}
	if isInteger(digits) {
		if n, err := strconv.ParseInt(digits, 10, 64); err == nil && -maxSafe <= n && n <= maxSafe {
			return glua.LNumber(n)
		}
		return v.intern(digits, nil, false)
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return v.intern(digits, nil, true)
	}
	return glua.LNumber(f)
}

// smallInteger reads an integer of up to 15 digits.
func smallInteger(s string) (n int64, ok bool) {
	digits := s
	if digits != "" && digits[0] == '-' {
		digits = digits[1:]
	}
	if len(digits) == 0 || len(digits) > 15 {
		return 0, false
	}
	for i := range len(digits) {
		c := digits[i] - '0'
		if c > 9 {
			return 0, false
		}
		n = n*10 + int64(c)
	}
	if len(digits) < len(s) {
		n = -n
	}
	return n, true
}

// isInteger reports whether s is written as an integer.
func isInteger(s string) bool {
	if s != "" && s[0] == '-' {
		s = s[1:]
	}
	for i := range len(s) {
		if s[i]-'0' > 9 {
			return false
		}
	}
	return s != ""
}

// intern returns the one value for the digits.
func (v *vm) intern(text string, n *big.Int, opaque bool) glua.LValue {
	if ud, ok := v.ints[text]; ok {
		return ud
	}
	ud := &glua.LUserData{Value: &integer{text: text, n: n, opaque: opaque}, Metatable: v.intMeta}
	v.ints[text] = ud
	v.use(1, int64(len(text))+bytesPerValue)
	return ud
}

// fromBig is n as a plain number if that holds it, as an integer otherwise.
func (v *vm) fromBig(n *big.Int) glua.LValue {
	if n.IsInt64() {
		if i := n.Int64(); -maxSafe <= i && i <= maxSafe {
			return glua.LNumber(i)
		}
	}
	return v.intern(n.String(), n, false)
}

// big is the number of an integer.
func (v *vm) big(x *integer) *big.Int {
	if x.opaque {
		v.raise("the number %s is too large to calculate with", short(x.text))
	}
	if x.n == nil {
		if len(x.text) > maxDigits {
			v.raise("an integer of %d digits is too long to calculate with", len(x.text))
		}
		v.use(int64(len(x.text)/8), int64(len(x.text)))
		x.n, _ = new(big.Int).SetString(x.text, 10)
	}
	return x.n
}

// asInteger returns the integer that a value is, or nil.
func asInteger(lv glua.LValue) *integer {
	if ud, ok := lv.(*glua.LUserData); ok {
		if x, ok := ud.Value.(*integer); ok {
			return x
		}
	}
	return nil
}

// compare orders two numbers of either kind exactly. ok is false when one is
// no number; unordered when one is NaN.
func compare(a, b glua.LValue) (order int, ok, unordered bool) {
	x, plainX := a.(glua.LNumber)
	y, plainY := b.(glua.LNumber)
	if plainX && plainY {
		switch {
		case x < y:
			return -1, true, false
		case x > y:
			return 1, true, false
		case x == y:
			return 0, true, false
		}
		return 0, true, true
	}
	m, n := asInteger(a), asInteger(b)
	switch {
	case m != nil && n != nil:
		return value.CompareNumbers(m.text, n.text), true, false
	case m != nil && plainY:
		order, unordered = compareMixed(m, float64(y))
		return order, true, unordered
	case n != nil && plainX:
		order, unordered = compareMixed(n, float64(x))
		return -order, true, unordered
	}
	return 0, false, false
}

func compareMixed(x *integer, f float64) (order int, unordered bool) {
	switch {
	case math.IsNaN(f):
		return 0, true
	case math.IsInf(f, 1):
		return -1, false
	case math.IsInf(f, -1):
		return 1, false
	}
	exact, _ := new(big.Float).SetFloat64(f).Int(nil)
	order = value.CompareNumbers(x.text, exact.String())
	return order, false
}

// numberText is a plain number as scripts and replies show it: integers
// without exponent, others in the fewest digits that read back the same.
func numberText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	out, _ := value.FromFloat(f)
	return out.Text()
}
