package lua

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	glua "github.com/yuin/gopher-lua"
)

// strFormat is string.format of Lua 5.1: the options of C without * and
// without widths over 99.
func (v *vm) strFormat(l *glua.LState) int {
	f := v.argText(1)
	var out []byte
	arg := 1
	for i := 0; i < len(f); i++ {
		if f[i] != '%' {
			out = append(out, f[i])
			continue
		}
		if i+1 < len(f) && f[i+1] == '%' {
			out = append(out, '%')
			i++
			continue
		}
		spec, option := v.formatSpec(f[i+1:])
		i += len(spec) + 1
		arg++
		before := len(out)
		out = v.formatOne(out, spec, option, arg)
		v.use(1, int64(len(out)-before))
	}
	return v.pushText(string(out))
}

// formatSpec splits what follows a % into flags, width and precision, and the
// option's letter.
func (v *vm) formatSpec(s string) (spec string, option byte) {
	digits := func(i int) int {
		n := i
		for n < len(s) && s[n]-'0' <= 9 {
			n++
		}
		if n-i > 2 {
			v.raise("invalid format (width or precision over 99)")
		}
		return n
	}
	i := 0
	for i < len(s) && strings.IndexByte("-+ #0", s[i]) >= 0 {
		i++
	}
	if i > 5 {
		v.raise("invalid format (repeated flags)")
	}
	i = digits(i)
	if i < len(s) && s[i] == '.' {
		i = digits(i + 1)
	}
	if i >= len(s) {
		v.raise("invalid format (ends after '%%')")
	}
	return s[:i], s[i]
}

func (v *vm) formatOne(out []byte, spec string, option byte, arg int) []byte {
	switch option {
	case 'd', 'i':
		return v.formatInteger(out, spec, 'd', arg)
	case 'u':
		return v.formatInteger(out, strings.Trim(spec, "+ "), 'd', arg)
	case 'x', 'X', 'o':
		return v.formatInteger(out, spec, option, arg)
	case 'c':
		return fmt.Appendf(out, "%"+widthOnly(spec)+"s", string([]byte{byte(v.argInt(arg))}))
	case 'e', 'E', 'f', 'g', 'G':
		return v.formatFloat(out, spec, option, arg)
	case 'q':
		return appendQuoted(out, v.argText(arg))
	case 's':
		return v.formatString(out, spec, arg)
	}
	v.raise("invalid option '%%%s' to 'format'", short(string(option)))
	return nil
}

// formatString pads and cuts by bytes, as C does; Go counts characters.
func (v *vm) formatString(out []byte, spec string, arg int) []byte {
	s := v.display(v.argAny(arg))
	width, precision, hasPrecision := strings.Cut(strings.TrimLeft(spec, "-+ #0"), ".")
	if hasPrecision {
		n, _ := strconv.Atoi(precision)
		s = s[:min(n, len(s))]
	}
	n, _ := strconv.Atoi(width)
	v.use(int64(len(s)/64), 0)
	pad := strings.Repeat(" ", max(0, n-len(s)))
	if strings.Contains(spec, "-") {
		return append(append(out, s...), pad...)
	}
	return append(append(out, pad...), s...)
}

func (v *vm) formatInteger(out []byte, spec string, verb byte, arg int) []byte {
	lv := v.argAny(arg)
	if s, ok := lv.(glua.LString); ok {
		lv = v.parseNumber(string(s))
	}
	if x := asInteger(lv); x != nil {
		return fmt.Appendf(out, "%"+spec+string(verb), v.big(x))
	}
	n, ok := lv.(glua.LNumber)
	if !ok {
		v.badArg(arg, "number")
	}
	f := math.Trunc(float64(n))
	if math.IsNaN(f) || math.Abs(f) >= math.MaxInt64 {
		v.raise("%s cannot be formatted as an integer", numberText(float64(n)))
	}
	if f < 0 && verb != 'd' {
		// C shows the two's complement.
		return fmt.Appendf(out, "%"+spec+string(verb), uint64(int64(f)))
	}
	return fmt.Appendf(out, "%"+spec+string(verb), int64(f))
}

func (v *vm) formatFloat(out []byte, spec string, option byte, arg int) []byte {
	f := v.argFloat(arg)
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return fmt.Appendf(out, "%"+widthOnly(spec)+"s", numberText(f))
	}
	if !strings.Contains(spec, ".") {
		// C's default precision is 6; Go's is as many as needed for %g.
		spec += ".6"
	}
	if option == 'g' || option == 'G' {
		if strings.HasSuffix(spec, ".") || strings.HasSuffix(spec, ".0") {
			spec = strings.TrimRight(spec, ".0") + ".1"
		}
	}
	return fmt.Appendf(out, "%"+spec+string(option), f)
}

// widthOnly keeps of a spec what applies to a text.
func widthOnly(spec string) string {
	width, _, _ := strings.Cut(spec, ".")
	left := ""
	if strings.Contains(width, "-") {
		left = "-"
	}
	return left + strings.TrimLeft(width, "-+ #0")
}

// appendQuoted quotes a string so that Lua reads it back.
func appendQuoted(out []byte, s string) []byte {
	out = append(out, '"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\', '\n':
			out = append(out, '\\', c)
		case '\r':
			out = append(out, `\r`...)
		case 0:
			out = append(out, `\000`...)
		default:
			out = append(out, c)
		}
	}
	return append(out, '"')
}
