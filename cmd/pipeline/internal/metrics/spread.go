package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// scale is the buckets of a histogram, in whole units of which unit are one in
// the metric: nanoseconds for seconds, so that counting an entry compares and adds
// whole numbers only.
type scale struct {
	bounds []int64
	unit   float64
}

func seconds(bounds ...time.Duration) *scale {
	s := &scale{unit: float64(time.Second)}
	for _, b := range bounds {
		s.bounds = append(s.bounds, int64(b))
	}
	return s
}

// The buckets. Those of calls and operations are the ones that OpenTelemetry
// advises for durations of messaging, and finer ones below, because most handlers
// take less than a millisecond.
var (
	callScale = seconds(100*time.Microsecond, 500*time.Microsecond, time.Millisecond, 5*time.Millisecond, 10*time.Millisecond,
		25*time.Millisecond, 50*time.Millisecond, 75*time.Millisecond, 100*time.Millisecond, 250*time.Millisecond, 500*time.Millisecond,
		750*time.Millisecond, time.Second, 2500*time.Millisecond, 5*time.Second, 7500*time.Millisecond, 10*time.Second)
	waitScale = seconds(time.Millisecond, 5*time.Millisecond, 10*time.Millisecond, 25*time.Millisecond, 50*time.Millisecond,
		100*time.Millisecond, 250*time.Millisecond, 500*time.Millisecond, time.Second, 2500*time.Millisecond, 5*time.Second, 10*time.Second,
		30*time.Second, time.Minute, 5*time.Minute, time.Hour)
	attemptScale = &scale{bounds: []int64{1, 2, 3, 4, 5, 10, 20}, unit: 1}
	byteScale    = &scale{bounds: []int64{64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20}, unit: 1}
)

// spread counts values by bucket. Whoever uses it locks it.
type spread struct {
	*scale

	// counts has one more element than bounds, for what is above all.
	counts []uint64
	sum    int64
}

func newSpread(s *scale) spread { return spread{scale: s, counts: make([]uint64, len(s.bounds)+1)} }

func (s *spread) add(v int64) {
	i := 0
	for i < len(s.bounds) && v > s.bounds[i] {
		i++
	}
	s.counts[i]++
	s.sum += v
}

// copy is a spread that the original does not change any more.
func (s *spread) copy() *spread {
	c := *s
	c.counts = append([]uint64(nil), s.counts...)
	return &c
}

// send sends a copy.
func (s *spread) send(ch chan<- prometheus.Metric, c child) {
	ch <- &sample{child: c, spread: s.copy()}
}

func (s *spread) write() *dto.Histogram {
	h := &dto.Histogram{Bucket: make([]*dto.Bucket, len(s.bounds))}
	n := uint64(0)
	for i, bound := range s.bounds {
		n += s.counts[i]
		h.Bucket[i] = &dto.Bucket{CumulativeCount: new(n), UpperBound: new(float64(bound) / s.unit)}
	}
	h.SampleCount = new(n + s.counts[len(s.bounds)])
	h.SampleSum = new(float64(s.sum) / s.unit)
	return h
}
