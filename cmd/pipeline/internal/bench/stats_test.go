package bench

import "testing"

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
