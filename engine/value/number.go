package value

import (
	"cmp"
	"strings"
)

// ValidNumber reports whether s is a number as JSON writes it (RFC 8259,
// section 6): no plus sign, no leading zeros, digits on both sides of a point.
func ValidNumber(s string) bool {
	n, ok := scanNumber(s, 0)
	return ok && n == len(s)
}

// scanNumber reads the longest JSON number in s from i on. It returns where
// the number ends, or, when ok is false, where a digit was missing.
func scanNumber(s string, i int) (end int, ok bool) {
	if i < len(s) && s[i] == '-' {
		i++
	}
	switch {
	case i >= len(s):
		return i, false
	case s[i] == '0':
		i++
	default:
		if i, ok = scanDigits(s, i); !ok {
			return i, false
		}
	}
	if i < len(s) && s[i] == '.' {
		if i, ok = scanDigits(s, i+1); !ok {
			return i, false
		}
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		return scanDigits(s, i)
	}
	return i, true
}

// scanDigits reads at least one digit.
func scanDigits(s string, i int) (end int, ok bool) {
	start := i
	for i < len(s) && s[i]-'0' <= 9 {
		i++
	}
	return i, i > start
}

// CompareNumbers compares two JSON numbers by value: negative when a is less
// than b, zero when they are equal, positive when a is greater. It is exact
// for any number of digits and any exponent, in time that grows with the
// length of the texts only, and it allocates nothing: 1e999999999 costs no
// more than 1. Both must be valid numbers.
func CompareNumbers(a, b string) int {
	if plainInteger(a) && plainInteger(b) {
		return compareIntegers(a, b)
	}
	x, y := takeApart(a), takeApart(b)
	if x.sign != y.sign || x.sign == 0 {
		return cmp.Compare(x.sign, y.sign)
	}
	return x.sign * compareMagnitude(&x, &y)
}

// plainInteger reports whether a valid number has neither point nor exponent,
// as nearly all numbers of entries.
func plainInteger(s string) bool {
	for i := range len(s) {
		if s[i]-'0' > 9 && s[i] != '-' {
			return false
		}
	}
	return true
}

func compareIntegers(a, b string) int {
	sign := integerSign(a)
	if other := integerSign(b); sign != other || sign == 0 {
		return cmp.Compare(sign, other)
	}
	if len(a) != len(b) {
		return sign * cmp.Compare(len(a), len(b))
	}
	return sign * strings.Compare(a, b)
}

func integerSign(s string) int {
	switch {
	case s == "0" || s == "-0":
		return 0
	case s[0] == '-':
		return -1
	}
	return 1
}

// decimal is a number taken apart in place:
// sign × 0.digits × 10^point × 10^exponent.
type decimal struct {
	sign int // -1, 0 or 1
	// digits run from the first significant digit to the last one that is not
	// zero, as they are written: there may be a point among them.
	digits string
	point  int
	exp    exponent
}

// exponent is an integer of any size; digits have no leading zeros.
type exponent struct {
	neg    bool
	digits string
}

func takeApart(s string) decimal {
	d := decimal{sign: 1}
	if strings.HasPrefix(s, "-") {
		d.sign, s = -1, s[1:]
	}
	for i := range len(s) {
		if s[i]|0x20 == 'e' {
			d.exp, s = takeExponent(s[i+1:]), s[:i]
			break
		}
	}
	integer, fraction, _ := strings.Cut(s, ".")
	if significant := strings.TrimLeft(integer, "0"); significant != "" {
		d.point = len(significant)
		d.digits = s[len(integer)-len(significant):]
	} else {
		d.digits = strings.TrimLeft(fraction, "0")
		d.point = len(d.digits) - len(fraction)
	}
	for n := len(d.digits); n > 0 && (d.digits[n-1] == '0' || d.digits[n-1] == '.'); n-- {
		d.digits = d.digits[:n-1]
	}
	if d.digits == "" {
		return decimal{}
	}
	return d
}

func takeExponent(s string) exponent {
	digits := strings.TrimPrefix(strings.TrimPrefix(s, "-"), "+")
	return exponent{neg: s[0] == '-', digits: strings.TrimLeft(digits, "0")}
}

// compareMagnitude compares the absolute values of two numbers that are not
// zero.
func compareMagnitude(x, y *decimal) int {
	scale := x.exp.minus(y.exp) + int64(x.point-y.point)
	if scale != 0 {
		return cmp.Compare(scale, 0)
	}
	return compareDigits(x.digits, y.digits)
}

// settled is a difference of leading digits so large that neither the digits
// after them nor the length of any text can change its sign.
const settled = 1 << 40

// minus is e - f, exactly when it is small, else some number of the same sign
// beyond settled.
func (e exponent) minus(f exponent) (d int64) {
	n := max(len(e.digits), len(f.digits))
	for i := n; i > 0; i-- {
		d = d*10 + e.digit(i) - f.digit(i)
		if d > settled || d < -settled {
			return d
		}
	}
	return d
}

// digit is the signed digit at place i, counted from 1 at the last one.
func (e exponent) digit(i int) int64 {
	if i > len(e.digits) {
		return 0
	}
	d := int64(e.digits[len(e.digits)-i] - '0')
	if e.neg {
		return -d
	}
	return d
}

// compareDigits compares 0.a with 0.b, passing over a point in either.
func compareDigits(a, b string) int {
	i, j := 0, 0
	for {
		if i < len(a) && a[i] == '.' {
			i++
		}
		if j < len(b) && b[j] == '.' {
			j++
		}
		if i == len(a) || j == len(b) {
			return cmp.Compare(len(a)-i, len(b)-j)
		}
		if a[i] != b[j] {
			return cmp.Compare(a[i], b[j])
		}
		i++
		j++
	}
}
