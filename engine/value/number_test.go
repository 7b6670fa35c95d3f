package value

import (
	"encoding/json"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestValidNumber(t *testing.T) {
	valid := []string{"0", "-0", "1", "10", "0.0", "-1.5e+10", "1E5", "1e-5", "1e999999999999999999999", "123456789012345678901234567890"}
	invalid := []string{"", "-", "+1", "01", "-01", "1.", ".1", "1.e1", "1e", "1e+", "--1", "1-", "0x1", " 1", "1 ", "Infinity", "NaN", "1_000", "١"}
	for _, s := range valid {
		if !ValidNumber(s) {
			t.Errorf("%q is refused", s)
		}
	}
	for _, s := range invalid {
		if ValidNumber(s) {
			t.Errorf("%q is accepted", s)
		}
	}
}

// Where carries run through an exponent.
const (
	eighteen = "999999999999999999"
	round18  = "1000000000000000000"
)

func TestCompareNumbers(t *testing.T) {
	// Each line is one value in several spellings; lines ascend.
	ascending := [][]string{
		{"-1e" + round18 + "000001", "-10e" + round18 + "000000"},
		{"-1e" + round18 + "000000"},
		{"-1e999999999", "-0.1e1000000000"},
		{"-18446744073709551616"},
		{"-18446744073709551615", "-18446744073709551615.0"},
		{"-1.5", "-15e-1"},
		{"-1e-999999999"},
		{"0", "-0", "0.000", "0e999999999", "-0.0E-99999999999999999999"},
		{"1e-" + round18 + "000001"},
		{"1e-" + round18 + "000000", "10e-" + round18 + "000001", "0.1e-" + eighteen + "999999"},
		{"1e-999999999", "0.001e-999999996"},
		{"0.1", "1e-1", "0.10", "10.0e-2"},
		{"0.1000000000000000000000000001"},
		{"1", "1.0", "1e0", "1e-0", "10e-1", "0.001e3", "1E+000"},
		{"1.000000000000000000000000000000000000001"},
		{"9007199254740992"},
		{"9007199254740993", "9007199254740993.0", "9.007199254740993e15"},
		{"18446744073709551615", "1844674407370955161.5e1"},
		{"18446744073709551616"},
		{"1e64", "1" + strings.Repeat("0", 64)},
		{"1e65", "1" + strings.Repeat("0", 65)},
		{"1e999999999", "10e999999998"},
		{"1.0000001e999999999"},
		{"1e" + eighteen, "10e" + eighteen[:17] + "8"},
		{"1e" + round18, "10e" + eighteen, "0.1e1000000000000000001"},
		{"1e" + round18 + "999", "100e" + round18 + "997"},
	}
	for i, line := range ascending {
		for j, other := range ascending {
			for _, a := range line {
				for _, b := range other {
					if got := CompareNumbers(a, b); sign(got) != sign(i-j) {
						t.Errorf("compare %s with %s: got %d, want %d", a, b, got, sign(i-j))
					}
					if same := CanonicalNumber(a) == CanonicalNumber(b); same != (i == j) {
						t.Errorf("canonical %s and %s: %s and %s", a, b, CanonicalNumber(a), CanonicalNumber(b))
					}
				}
			}
		}
	}
}

func sign(n int) int { return min(max(n, -1), 1) }

func TestCanonicalNumber(t *testing.T) {
	cases := map[string]string{
		"7":                     "7",
		"-7":                    "-7",
		"-0":                    "0",
		"1.50":                  "1.5",
		"12.5e1":                "125",
		"-1.25E+1":              "-12.5",
		"5e-3":                  "0.005",
		"1e3":                   "1000",
		"18446744073709551615":  "18446744073709551615",
		"1e999999999":           "1e999999999",
		"-123.4e999999999":      "-1.234e1000000001",
		"120e-999999999":        "1.2e-999999997",
		"1e-65":                 "1e-65",
		"10e" + eighteen:        "1e" + round18,
		"0.1e" + round18:        "1e" + eighteen,
		"0.1e-" + eighteen:      "1e-" + round18,
		"10e-" + round18:        "1e-" + eighteen,
		"10e" + eighteen + "9":  "1e" + round18 + "0",
		"0.1e" + round18 + "0":  "1e" + eighteen + "9",
		"100e5" + eighteen:      "1e6000000000000000001",
		"0.01e5" + round18[1:]:  "1e4" + eighteen[:17] + "8",
		"1e5" + round18[1:]:     "1e5" + round18[1:],
		"10e1" + round18[1:]:    "1e1" + strings.Repeat("0", 17) + "1",
		strings.Repeat("9", 64): strings.Repeat("9", 64),
		strings.Repeat("9", 65): "9." + strings.Repeat("9", 64) + "e64",
	}
	for in, want := range cases {
		if got := CanonicalNumber(in); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// A hostile exponent must not be written out or counted through.
func TestHugeExponentsAreCheap(t *testing.T) {
	a, b := "1e999999999999", "2e999999999998"
	if n := testing.AllocsPerRun(10, func() { CompareNumbers(a, b) }); n != 0 {
		t.Errorf("%v allocations to compare", n)
	}
	long := "1e" + strings.Repeat("9", 1<<20)
	if got := CanonicalNumber("10" + long[1:]); len(got) != len(long)+1 {
		t.Errorf("got %d bytes", len(got))
	}
	if CompareNumbers(long, "1"+long) >= 0 {
		t.Error("more digits of a number with a huge exponent are not greater")
	}
}

func numbers() *rapid.Generator[string] {
	return rapid.StringMatching(`-?(0|[1-9][0-9]{0,25})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?`)
}

func TestNumbersAgreeWithRationals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := numbers().Draw(t, "a"), numbers().Draw(t, "b")
		x, ok1 := new(big.Rat).SetString(a)
		y, ok2 := new(big.Rat).SetString(b)
		if !ok1 || !ok2 || !ValidNumber(a) || !ValidNumber(b) {
			t.Fatalf("%s or %s is no number", a, b)
		}
		if got := CompareNumbers(a, b); sign(got) != x.Cmp(y) {
			t.Fatalf("got %d, want %d", got, x.Cmp(y))
		}
		c := CanonicalNumber(a)
		z, ok := new(big.Rat).SetString(c)
		if !ok || !ValidNumber(c) || z.Cmp(x) != 0 || CanonicalNumber(c) != c {
			t.Fatalf("canonical %s is %s", a, c)
		}
	})
}

func FuzzNumbers(f *testing.F) {
	for _, s := range []string{"0", "-1.5e3", "1e999999999", "01", "1e", "-", "1e-99999999999999999999999"} {
		f.Add(s, "1")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if ok := json.Valid([]byte(a)) && strings.Trim(a, "+-.eE0123456789") == ""; ok != ValidNumber(a) {
			t.Fatalf("valid %q: got %v, encoding/json says %v", a, !ok, ok)
		}
		if !ValidNumber(a) || !ValidNumber(b) {
			return
		}
		c := CompareNumbers(a, b)
		if sign(c) != -sign(CompareNumbers(b, a)) {
			t.Fatalf("%s and %s compare as %d both ways", a, b, c)
		}
		if same := CanonicalNumber(a) == CanonicalNumber(b); same != (c == 0) {
			t.Fatalf("%s and %s compare as %d; canonical %s and %s", a, b, c, CanonicalNumber(a), CanonicalNumber(b))
		}
		if CompareNumbers(a, CanonicalNumber(a)) != 0 || !ValidNumber(CanonicalNumber(a)) {
			t.Fatalf("canonical %s is %s", a, CanonicalNumber(a))
		}
	})
}

func TestFromFloat(t *testing.T) {
	cases := map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 1: "1", -42: "-42", 0.1: "0.1", 1.5: "1.5",
		4200: "4200", 1 << 53: "9007199254740992", -(1 << 53): "-9007199254740992",
		1e15 + 0.5: "1000000000000000.5", 1e20: "100000000000000000000", 1e21: "1e+21",
		1e-6: "0.000001", 1e-7: "1e-7", 1.25e-10: "1.25e-10",
		math.MaxFloat64: "1.7976931348623157e+308", math.SmallestNonzeroFloat64: "5e-324",
	}
	for f, want := range cases {
		v, ok := FromFloat(f)
		if !ok || v.Text() != want {
			t.Errorf("%v: got %q, want %s", f, v.Text(), want)
		}
	}
	for _, f := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if v, ok := FromFloat(f); ok || v.Kind() != Null {
			t.Errorf("%v became %q", f, v.Text())
		}
	}
}

func TestFromFloatReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := rapid.Float64().Draw(t, "f")
		v, ok := FromFloat(f)
		if back, err := strconv.ParseFloat(v.Text(), 64); !ok || err != nil || back != f || !ValidNumber(v.Text()) {
			t.Fatalf("%v became %q", f, v.Text())
		}
		n := rapid.Int64().Draw(t, "n")
		i := FromInt(n)
		if back, err := strconv.ParseInt(i.Text(), 10, 64); err != nil || back != n {
			t.Fatalf("%d became %q", n, i.Text())
		}
	})
}

func BenchmarkCompareNumbers(b *testing.B) {
	for name, pair := range map[string][2]string{
		"short":   {"1200001", "1000000"},
		"decimal": {"1200001.5", "1000000"},
		"uint64":  {"18446744073709551615", "18446744073709551614"},
		"huge":    {"1e999999999", "1e999999998"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				CompareNumbers(pair[0], pair[1])
			}
		})
	}
}
