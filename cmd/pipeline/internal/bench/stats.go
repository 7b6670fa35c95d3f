package bench

import (
	"math"
	"slices"
	"time"
)

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

// percentile is the smallest value that at least a share p of the values, which
// are sorted, do not exceed: the nearest rank, so that it is one that occurred.
func percentile(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	// What p*n is above a whole number by rounding alone is no rank more.
	rank := int(math.Ceil(p*float64(len(sorted)) - 1e-9))
	return sorted[min(max(rank, 1), len(sorted))-1]
}

// slope is that of the line with the least squares through the points, 0 for
// fewer than two.
func slope(x, y []float64) float64 {
	n := float64(len(x))
	var sx, sy, sxx, sxy float64
	for i := range x {
		sx, sy = sx+x[i], sy+y[i]
		sxx, sxy = sxx+x[i]*x[i], sxy+x[i]*y[i]
	}
	d := n*sxx - sx*sx
	if d == 0 {
		return 0
	}
	return (n*sxy - sx*sy) / d
}
