package harness_test

import (
	"fmt"
	"testing"
	"time"

	"pipeline/engine/harness"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// BenchmarkScenario is a usual test: 20 entries, ten times 30 seconds.
func BenchmarkScenario(b *testing.B) {
	for b.Loop() {
		h := open(b, harness.Config{Pipeline: single(nil), Handlers: map[string]sandbox.Handler{"s": harness.Func(ack)}})
		h.start()
		for n := range 20 {
			h.publish("in", fmt.Sprintf(`{"n":%d}`, n))
		}
		for range 10 {
			h.advance(30 * time.Second)
		}
		if err := h.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkDay is a day in which nothing comes, with reads of a second each.
func BenchmarkDay(b *testing.B) {
	for _, workers := range []int{1, 8, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			for b.Loop() {
				p := single(func(s *spec.Subscription) { s.Workers.Count = workers })
				h := open(b, harness.Config{Pipeline: p, Handlers: map[string]sandbox.Handler{"s": harness.Func(ack)}})
				h.start()
				h.advance(24 * time.Hour)
				if err := h.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkEntries is how much one entry costs.
func BenchmarkEntries(b *testing.B) {
	h := one(b, ack, nil)
	bodies := make([]string, 100)
	for i := range bodies {
		bodies[i] = fmt.Sprintf(`{"n":%d}`, i)
	}
	for b.Loop() {
		h.publish("in", bodies...)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(bodies)), "ns/entry")
}
