package memory_test

import (
	"testing"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
)

// BenchmarkRoad is an entry's whole way, in batches of 500: added, read with a
// claiming read, acknowledged.
func BenchmarkRoad(b *testing.B) {
	road(b, 0)
}

// BenchmarkRoadBesideMany is the same beside a million entries that are pending
// and a million that were settled.
func BenchmarkRoadBesideMany(b *testing.B) {
	road(b, 1_000_000)
}

func road(b *testing.B, beside int) {
	const batch = 500
	m, _, ids := start(b, memory.Options{}, 2*beside)
	for range 2 * beside / 1000 {
		read(b, m, broker.ReadRequest{Owner: owner("other"), Count: 1000})
	}
	if _, err := m.Settle(b.Context(), &broker.Settlement{Owner: owner("other"), Acks: ids[:beside]}); err != nil {
		b.Fatal(err)
	}
	adds := numbered(stream, batch)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		ids, err := m.Add(b.Context(), adds)
		if err != nil {
			b.Fatal(err)
		}
		got := read(b, m, broker.ReadRequest{Owner: owner("c"), Count: batch, MinIdle: 1e9})
		if len(got) != batch || got[0].ID != ids[0] {
			b.Fatalf("read %d", len(got))
		}
		if _, err := m.Settle(b.Context(), &broker.Settlement{Owner: owner("c"), Acks: ids}); err != nil {
			b.Fatal(err)
		}
		if _, err := m.Trim(b.Context(), broker.TrimRequest{Stream: stream, MaxLen: int64(2 * beside)}); err != nil {
			b.Fatal(err)
		}
		n += batch
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "entries/s")
}
