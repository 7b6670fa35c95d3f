package promql_test

import (
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/promql"
	"pipeline/tests/promtest"
)

func TestExpressions(t *testing.T) {
	series := "m" + promql.Match("a", "x\"\\}\n", "b", "é")
	for _, c := range []struct{ got, want string }{
		{promql.Match(), `{}`},
		{series, `m{a="x\"\\}\n",b="é"}`},
		{promql.Narrow(series, `c=~"d|e"`), `m{a="x\"\\}\n",b="é",c=~"d|e"}`},
		{promql.Seconds(90 * time.Second), "90"},
		{promql.Seconds(1500 * time.Millisecond), "1.5"},
		{promql.Sum("m", "a", "b"), "sum by (a, b) (m)"},
		{promql.Rise("m", "5m"), "((m unless m offset 5m) or increase(m[5m]))"},
	} {
		if c.got != c.want {
			t.Errorf("%s, want %s", c.got, c.want)
		}
	}
	promtest.Parses(t, map[string]string{
		"selector": series, "narrowed": promql.Narrow(series, `c=~"d|e"`), "rise": promql.Max(promql.Rise(series, "5m"), "a"),
		"count": promql.Count(series+" > "+promql.Seconds(time.Millisecond), "a"),
	})
}
