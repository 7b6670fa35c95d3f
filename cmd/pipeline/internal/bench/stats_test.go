package bench

import (
	"math"
	"testing"
	"time"
)

func TestSpread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []float64
		want   Spread
	}{
		"one":           {[]float64{4}, Spread{4, 4, 4}},
		"odd, unsorted": {[]float64{9, 1, 5}, Spread{5, 1, 9}},
		"even":          {[]float64{4, 1, 9, 2}, Spread{3, 1, 9}},
	} {
		before := append([]float64{}, c.values...)
		if got := spread(c.values); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for i := range before {
			if before[i] != c.values[i] {
				t.Errorf("%s: the values were moved: %v", name, c.values)
			}
		}
	}
}

// The ratio is the median of the pairs' ratios, not the ratio of the medians: a
// machine that slows down from one pair to the next must not show.
func TestRatios(t *testing.T) {
	t.Parallel()
	got, ok := ratios([]float64{100, 10, 1}, []float64{50, 5, 0.5})
	if want := (Spread{2, 2, 2}); !ok || got != want {
		t.Errorf("%v %v, want %v", got, ok, want)
	}
	got, ok = ratios([]float64{1, 8, 9}, []float64{1, 2, 0})
	if want := (Spread{2.5, 1, 4}); !ok || got != want {
		t.Errorf("beside a 0: %v %v, want %v", got, ok, want)
	}
	if _, ok = ratios([]float64{1}, nil); ok {
		t.Error("a ratio of nothing")
	}
}

func TestPercentile(t *testing.T) {
	t.Parallel()
	thousand := make([]time.Duration, 1000)
	for i := range thousand {
		thousand[i] = time.Duration(i + 1)
	}
	for _, c := range []struct {
		sorted []time.Duration
		p      float64
		want   time.Duration
	}{
		{nil, .5, 0},
		{[]time.Duration{7}, .5, 7},
		{[]time.Duration{7}, .999, 7},
		{[]time.Duration{1, 2}, .5, 1},
		{[]time.Duration{1, 2, 3}, .5, 2},
		{thousand, .5, 500},
		{thousand, .99, 990},
		{thousand, .999, 999},
		{thousand, 1, 1000},
		{thousand[:100], .999, 100},
		{thousand, 0, 1},
	} {
		if got := percentile(c.sorted, c.p); got != c.want {
			t.Errorf("p%v of %d: %d, want %d", 100*c.p, len(c.sorted), got, c.want)
		}
	}
}

func TestSlope(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		x, y []float64
		want float64
	}{
		"none":          {nil, nil, 0},
		"one point":     {[]float64{1}, []float64{5}, 0},
		"a line":        {[]float64{0, 1, 2, 5}, []float64{3, 5, 7, 13}, 2},
		"around a line": {[]float64{0, 1, 2, 3}, []float64{1, -1, 1, -1}, -0.4},
		"level":         {[]float64{0, 10, 20}, []float64{4, 4, 4}, 0},
	} {
		if got := slope(c.x, c.y); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
