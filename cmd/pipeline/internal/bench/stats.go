package bench

import "slices"

// Spread is the middle and the ends of some measurements.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spread is that of values, which may not be empty. Of an even number the median
// is the mean of the two in the middle.
func spread(values []float64) Spread {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}
}

// ratios are those of two series, pair by pair: both of a pair were measured one
// right after the other, so that what slowed one slowed the other. A pair whose
// second is 0 has none; ok is false when no pair has one.
func ratios(a, b []float64) (out Spread, ok bool) {
	var quotients []float64
	for i := range min(len(a), len(b)) {
		if b[i] != 0 {
			quotients = append(quotients, a[i]/b[i])
		}
	}
	if len(quotients) == 0 {
		return Spread{}, false
	}
	return spread(quotients), true
}
