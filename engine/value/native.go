package value

import (
	"math"
	"strconv"
)

// exactFloat is 2^53: every integer up to it is a float64 of its own.
const exactFloat = 1 << 53

// FromFloat returns f as a number: an integer up to 2^53 in plain digits, any
// other in the fewest digits that read back as f, with an exponent below 1e-6
// and from 1e21 on. Minus zero is 0. JSON has no infinities and no NaN: ok is
// false for those.
func FromFloat(f float64) (v Value, ok bool) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return Value{}, false
	}
	var buf [32]byte
	return NewNumber(string(appendFloat(buf[:0], f))), true
}

func appendFloat(dst []byte, f float64) []byte {
	abs := math.Abs(f)
	switch {
	case abs <= exactFloat && f == math.Trunc(f):
		return strconv.AppendInt(dst, int64(f), 10)
	case abs >= 1e-6 && abs < 1e21:
		return strconv.AppendFloat(dst, f, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, f, 'e', -1, 64)
	// 1e-07 is written 1e-7.
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst = append(dst[:n-2], dst[n-1])
	}
	return dst
}

// FromInt returns n as a number.
func FromInt(n int64) Value { return NewNumber(strconv.FormatInt(n, 10)) }
