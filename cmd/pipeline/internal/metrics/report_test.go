package metrics

import (
	"testing"
	"time"
)

// A quantile lies in the bucket of its rank, in proportion; above all buckets it is
// said to be beyond.
func TestQuantiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []time.Duration
		q      float64
		want   time.Duration
		beyond bool
	}{
		"none":              {nil, 0.5, 0, false},
		"half of a bucket":  {[]time.Duration{time.Microsecond, time.Microsecond}, 0.5, 50 * time.Microsecond, false},
		"the whole of it":   {[]time.Duration{time.Microsecond}, 0.99, 99 * time.Microsecond, false},
		"in a later bucket": {[]time.Duration{time.Microsecond, 2 * time.Millisecond}, 0.75, 3 * time.Millisecond, false},
		"beyond":            {[]time.Duration{time.Minute}, 0.5, 10 * time.Second, true},
		"most are beyond":   {[]time.Duration{time.Microsecond, time.Minute, time.Minute}, 0.99, 10 * time.Second, true},
	} {
		s := newSpread(callScale)
		for _, v := range c.values {
			s.add(int64(v))
		}
		got, beyond := s.quantile(c.q)
		if time.Duration(got).Round(time.Microsecond) != c.want || beyond != c.beyond {
			t.Errorf("%s: %v, %v; want %v, %v", name, time.Duration(got), beyond, c.want, c.beyond)
		}
	}
}
