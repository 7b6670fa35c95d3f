package value

import (
	"strconv"
	"strings"
)

// plainPlaces is how many places before or after the point CanonicalNumber
// writes out before it turns to an exponent. Any bound serves; this one keeps
// ids and amounts as people write them and stops 1e999999999 from being
// written out.
const plainPlaces = 64

// CanonicalNumber returns the one spelling that all numbers equal to s share:
// 1, 1.0, 10e-1 and 1e0 are all 1. Two numbers have the same canonical
// spelling exactly when CompareNumbers finds them equal. An integer of up to
// 64 bytes without an exponent is returned as it is, without allocating. s
// must be a valid number.
func CanonicalNumber(s string) string {
	if isCanonical(s) {
		return s
	}
	d := takeApart(s)
	if d.sign == 0 {
		return "0"
	}
	out := make([]byte, 0, len(s)+plainPlaces)
	if d.sign < 0 {
		out = append(out, '-')
	}
	digits := strings.Replace(d.digits, ".", "", 1)
	places := d.exp.minus(exponent{}) + int64(d.point)
	switch {
	case places > plainPlaces || places <= -plainPlaces:
		out = append(out, digits[0])
		if len(digits) > 1 {
			out = append(append(out, '.'), digits[1:]...)
		}
		out = d.exp.appendPlus(append(out, 'e'), int64(d.point)-1)
	case places <= 0:
		out = appendZeros(append(out, "0."...), -places)
		out = append(out, digits...)
	case places < int64(len(digits)):
		out = append(out, digits[:places]...)
		out = append(append(out, '.'), digits[places:]...)
	default:
		out = append(out, digits...)
		out = appendZeros(out, places-int64(len(digits)))
	}
	return string(out)
}

// isCanonical reports whether s is a short integer written plainly.
func isCanonical(s string) bool {
	return len(s) <= plainPlaces && plainInteger(s) && s != "-0"
}

func appendZeros(dst []byte, n int64) []byte {
	for range n {
		dst = append(dst, '0')
	}
	return dst
}

// exactDigits is how many digits an int64 holds whatever they are.
const exactDigits = 18

// appendPlus appends e + n, where n is no longer than a text.
func (e exponent) appendPlus(dst []byte, n int64) []byte {
	if len(e.digits) <= exactDigits {
		return strconv.AppendInt(dst, e.short()+n, 10)
	}
	// e dwarfs n: the sign stays, and n changes the last digits with a carry.
	if e.neg {
		dst, n = append(dst, '-'), -n
	}
	cut := len(e.digits) - exactDigits
	head := []byte(e.digits[:cut])
	tail, _ := strconv.ParseInt(e.digits[cut:], 10, 64)
	const unit = 1e18
	switch tail += n; {
	case tail >= unit:
		tail -= unit
		head = increment(head)
	case tail < 0:
		tail += unit
		head = decrement(head)
	}
	digits := strconv.FormatInt(tail, 10)
	if len(head) > 0 {
		dst = append(dst, head...)
		dst = appendZeros(dst, int64(exactDigits-len(digits)))
	}
	return append(dst, digits...)
}

// short is the value of an exponent of at most 18 digits.
func (e exponent) short() int64 {
	n, _ := strconv.ParseInt(e.digits, 10, 64)
	if e.neg {
		return -n
	}
	return n
}

func increment(digits []byte) []byte {
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] < '9' {
			digits[i]++
			return digits
		}
		digits[i] = '0'
	}
	return append([]byte{'1'}, digits...)
}

// decrement subtracts one from digits, which are not zero, and drops a
// leading zero.
func decrement(digits []byte) []byte {
	for i := len(digits) - 1; i >= 0; i-- {
		if digits[i] > '0' {
			digits[i]--
			break
		}
		digits[i] = '9'
	}
	if digits[0] == '0' {
		return digits[1:]
	}
	return digits
}
