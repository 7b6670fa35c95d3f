//go:build linux

package guide

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// any stands for what differs from run to run: part of a line, or, alone on its line, any number of lines.
const anything = "…"

// pattern compiles one expected line.
func pattern(line string) *regexp.Regexp {
	parts := strings.Split(line, anything)
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
}

// consume reports how many of the lines of a terminal the expected ones take, and whether all of them are
// there. With whole the lines must be taken to the last one.
func (s shows) consume(lines []string, whole bool) (int, bool) {
	if s.anyOrder {
		return s.consumeInAnyOrder(lines, whole)
	}
	return consume(s.lines, lines, whole)
}

// whole reports whether the lines are the expected ones, and no more.
func (s shows) whole(lines []string) bool {
	_, ok := s.consume(lines, true)
	return ok
}

func consume(want, lines []string, whole bool) (int, bool) {
	if len(want) == 0 {
		return 0, !whole || len(lines) == 0
	}
	if want[0] == anything {
		for skip := range len(lines) + 1 {
			if n, ok := consume(want[1:], lines[skip:], whole); ok {
				return skip + n, true
			}
		}
		return 0, false
	}
	if len(lines) == 0 || !pattern(want[0]).MatchString(lines[0]) {
		return 0, false
	}
	n, ok := consume(want[1:], lines[1:], whole)
	return n + 1, ok
}

// consumeInAnyOrder pairs each expected line with one of the first lines, the expected ones that say most first.
func (s shows) consumeInAnyOrder(lines []string, whole bool) (int, bool) {
	if len(lines) < len(s.lines) || whole && len(lines) > len(s.lines) {
		return 0, false
	}
	rest := slices.Clone(lines[:len(s.lines)])
	want := slices.Clone(s.lines)
	slices.SortFunc(want, func(a, b string) int {
		return cmp.Compare(len(strings.ReplaceAll(b, anything, "")), len(strings.ReplaceAll(a, anything, "")))
	})
	for _, w := range want {
		i := slices.IndexFunc(rest, pattern(w).MatchString)
		if i < 0 {
			return 0, false
		}
		rest = slices.Delete(rest, i, i+1)
	}
	return len(s.lines), true
}

// difference shows the expected lines beside those that came.
func difference(want, got []string) string {
	return fmt.Sprintf("the document says:\n\t%s\nthe terminal shows:\n\t%s", strings.Join(want, "\n\t"), strings.Join(got, "\n\t"))
}

func TestConsume(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		want, lines     []string
		whole, anyOrder bool
		taken           int
		ok              bool
	}{
		"the same":                    {want: []string{"a", "b"}, lines: []string{"a", "b"}, whole: true, taken: 2, ok: true},
		"nothing":                     {whole: true, ok: true},
		"unexpected output":           {lines: []string{"a"}, whole: true},
		"another line":                {want: []string{"a"}, lines: []string{"b"}, whole: true},
		"a line more":                 {want: []string{"a"}, lines: []string{"a", "b"}, whole: true},
		"a line more, later":          {want: []string{"a"}, lines: []string{"a", "b"}, taken: 1, ok: true},
		"a line less":                 {want: []string{"a", "b"}, lines: []string{"a"}, whole: true},
		"within a line":               {want: []string{"id … is …."}, lines: []string{"id 5-1 is here."}, whole: true, taken: 1, ok: true},
		"within a line, at its end":   {want: []string{"id …"}, lines: []string{"id 5-1"}, whole: true, taken: 1, ok: true},
		"not over lines":              {want: []string{"a…b"}, lines: []string{"a", "b"}, whole: true},
		"any lines":                   {want: []string{"a", "…", "b"}, lines: []string{"a", "x", "y", "b"}, whole: true, taken: 4, ok: true},
		"any lines, none":             {want: []string{"a", "…", "b"}, lines: []string{"a", "b"}, whole: true, taken: 2, ok: true},
		"any lines, shortest":         {want: []string{"…", "b"}, lines: []string{"x", "b", "b"}, taken: 2, ok: true},
		"any lines, to the last":      {want: []string{"…", "b"}, lines: []string{"x", "b", "b"}, whole: true, taken: 3, ok: true},
		"any lines and none after":    {want: []string{"a", "…"}, lines: []string{"a", "x"}, whole: true, taken: 2, ok: true},
		"letters that mean more":      {want: []string{"a.c"}, lines: []string{"abc"}, whole: true},
		"any order":                   {want: []string{"…b", "ab"}, lines: []string{"ab", "xb"}, whole: true, anyOrder: true, taken: 2, ok: true},
		"any order, one twice":        {want: []string{"a", "b"}, lines: []string{"a", "a"}, whole: true, anyOrder: true},
		"any order, more":             {want: []string{"a"}, lines: []string{"a", "b"}, whole: true, anyOrder: true},
		"any order, more, later":      {want: []string{"a"}, lines: []string{"a", "b"}, anyOrder: true, taken: 1, ok: true},
		"any order, not there by now": {want: []string{"a", "b"}, lines: []string{"b"}, anyOrder: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			taken, ok := shows{test.want, test.anyOrder}.consume(test.lines, test.whole)
			if ok != test.ok || ok && taken != test.taken {
				t.Errorf("got %d, %t, want %d, %t", taken, ok, test.taken, test.ok)
			}
		})
	}
}
