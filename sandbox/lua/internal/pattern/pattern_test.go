package pattern

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// newMatcher returns a matcher whose failures are panics with the problem.
func newMatcher() *Matcher {
	return &Matcher{Charge: func(int64) {}, Fail: func(problem string) { panic(problem) }}
}

// find is the first match.
func find(m *Matcher, s, p string) (start, end int) {
	m.Reset(s, p)
	for at := 0; at <= len(s); at++ {
		if end := m.At(at, 0); end >= 0 {
			return at, end
		}
	}
	return -1, -1
}

// piece is a pattern and the regular expression that means the same.
type piece struct{ lua, re string }

func pieces(depth int) *rapid.Generator[piece] {
	single := rapid.Custom(func(t *rapid.T) piece {
		one := rapid.SampledFrom([]piece{
			{"a", "a"}, {"b", "b"}, {".", "(?s:.)"}, {"%d", "[0-9]"}, {"%a", "[A-Za-z]"}, {"[ab]", "[ab]"}, {"[^a]", "(?s:[^a])"},
			{"[0-9]", "[0-9]"}, {"%.", `\.`}, {"[%d.]", `[0-9.]`}, {"[]a]", `[\]a]`},
		}).Draw(t, "one")
		suffix := rapid.SampledFrom([]piece{{"", ""}, {"*", "*"}, {"+", "+"}, {"-", "*?"}, {"?", "?"}}).Draw(t, "suffix")
		return piece{one.lua + suffix.lua, one.re + suffix.re}
	})
	return rapid.Custom(func(t *rapid.T) piece {
		var out piece
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			p := single.Draw(t, "single")
			if depth > 0 && rapid.IntRange(0, 3).Draw(t, "group") == 0 {
				inner := pieces(depth-1).Draw(t, "inner")
				p = piece{"(" + inner.lua + "x?)", "(" + inner.re + "x?)"}
			}
			out.lua, out.re = out.lua+p.lua, out.re+p.re
		}
		return out
	})
}

// TestAgainstRegexp compares with Go's regular expressions, where both can say
// the same: Perl's rules for what is preferred are Lua's.
func TestAgainstRegexp(t *testing.T) {
	m := newMatcher()
	rapid.Check(t, func(t *rapid.T) {
		p := pieces(2).Draw(t, "pattern")
		s := rapid.StringOfN(rapid.RuneFrom([]rune("ab1.]x")), 0, 12, -1).Draw(t, "text")
		want := regexp.MustCompile(p.re).FindStringSubmatchIndex(s)
		start, end := find(m, s, p.lua)
		if want == nil {
			if start >= 0 {
				t.Fatalf("%q in %q: matched [%d,%d), want no match", p.lua, s, start, end)
			}
			return
		}
		if start != want[0] || end != want[1] {
			t.Fatalf("%q in %q: [%d,%d), want %v", p.lua, s, start, end, want)
		}
		for i := range m.Captures() {
			if text, _ := m.Capture(i, start, end); text != s[want[2*i+2]:want[2*i+3]] {
				t.Fatalf("%q in %q: capture %d is %q, want %v", p.lua, s, i, text, want)
			}
		}
	})
}

// TestStepsAreCharged has an exponential pattern stopped by its steps.
func TestStepsAreCharged(t *testing.T) {
	type stop struct{}
	m := newMatcher()
	left := int64(1_000_000)
	m.Charge = func(steps int64) {
		if left -= steps; left < 0 {
			panic(stop{})
		}
	}
	defer func() {
		if _, ok := recover().(stop); !ok {
			t.Error("was not stopped")
		}
	}()
	find(m, strings.Repeat("a", 30), strings.Repeat("a?", 30)+strings.Repeat("a", 30)+"b")
}

func TestMalformed(t *testing.T) {
	for pattern, want := range map[string]string{
		"%": "ends with '%'", "[": "missing ']'", "[%": "missing ']'", "[^": "missing ']'", "[]": "missing ']'", "(": "unfinished capture",
		")": "invalid pattern capture", "%b": "missing arguments", "%bx": "missing arguments", "%f": "missing '['", "%fa": "missing '['",
		"%1": "invalid capture index", "(%1)": "invalid capture index", "%0": "invalid capture index", "()%1": "position capture",
		strings.Repeat("()", 33): "too many captures",
	} {
		func() {
			defer func() {
				if got, _ := recover().(string); !strings.Contains(got, want) {
					t.Errorf("%q: %q, want %q", pattern, got, want)
				}
			}()
			m := newMatcher()
			start, end := find(m, "aaa", pattern)
			if start >= 0 {
				for i := range m.Captures() {
					m.Capture(i, start, end)
				}
			}
		}()
	}
}

func BenchmarkMatch(b *testing.B) {
	m := newMatcher()
	for b.Loop() {
		if s, _ := find(m, "order-12345 from acct-000123 on 2026-01-02", "acct%-(%d+) on (%d+)%-(%d+)"); s < 0 {
			b.Fatal("no match")
		}
	}
}
