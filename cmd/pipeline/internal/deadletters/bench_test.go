package deadletters

import (
	"context"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
)

// endless is a dead-letter stream of n letters that are made when they are read.
type endless struct {
	broker.Broker
	n uint64
}

func (e *endless) StreamInfo(context.Context, string) (broker.StreamInfo, error) {
	return broker.StreamInfo{Length: int64(e.n), FirstID: broker.ID{Ms: 1}, LastID: broker.ID{Ms: e.n}}, nil
}

func (e *endless) Range(_ context.Context, _ string, first, last broker.ID, count int) ([]broker.Entry, error) {
	var out []broker.Entry
	for ms := max(1, first.Ms+min(first.Seq, 1)); ms <= min(last.Ms, e.n) && len(out) < count; ms++ {
		id := strconv.FormatUint(ms, 10)
		d := codec.DeadLetter{
			Reason: "failed", Error: "handlers/p.lua:6: no account acct-" + id, Stream: "payments", ID: id + "-0", Group: "ledger",
			Subscription: "post_payment", Consumer: "c-" + id, Attempts: 5, PipelineVersion: "1",
		}
		fields := d.Fields([]broker.Field{{Name: "_payload", Value: `{"id":` + id + `}`}, {Name: "h:" + codec.HeaderPartitionKey, Value: "k-" + id}})
		out = append(out, broker.Entry{ID: broker.ID{Ms: ms}, Fields: fields})
	}
	return out, nil
}

func (e *endless) Move(_ context.Context, r broker.MoveRequest) ([]broker.Moved, error) {
	out := make([]broker.Moved, len(r.Moves))
	for i, m := range r.Moves {
		out[i] = broker.Moved{Found: true, ID: m.ID}
	}
	return out, nil
}

// heap is how much is in use.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Memory does not grow with the number of letters that are counted, frozen and
// replayed.
func TestMemoryIsFlat(t *testing.T) {
	f := newFixture(t)
	const letters = 100_000
	b := &endless{Broker: f.broker, n: letters}
	const bound = 16 << 20
	before := heap()
	highest := uint64(0)
	watch := func(done int64) {
		if done%20_000 == 0 {
			highest = max(highest, heap())
		}
	}
	stats := &Stats{Source: f.dead}
	for l, err := range (&Scan{Broker: b}).Letters(t.Context(), f.dead) {
		f.ok(err)
		stats.Add(&l, l.Facts.Error)
		watch(stats.Letters)
	}
	path := filepath.Join(t.TempDir(), "s")
	n, _, err := Freeze(t.Context(), &Scan{Broker: b}, []*Source{f.dead}, Selection{Action: Replay, Pipeline: "payments"}, path)
	f.ok(err)
	r, err := Open(path)
	f.ok(err)
	defer func() { _ = r.Close() }()
	a := f.apply()
	a.Broker = b
	a.Progress = func(r Result) { watch(r.Done) }
	got, err := a.Run(t.Context(), r)
	if err != nil || got.Done != letters || n != letters || stats.Letters != letters {
		t.Fatal(got, err, n, stats.Letters)
	}
	if highest > before+bound {
		t.Errorf("%d bytes are in use, %d at the beginning", highest, before)
	}
}

// BenchmarkReplay is the whole way of a letter but for the server: chosen,
// written down, read twice, checked and moved.
func BenchmarkReplay(b *testing.B) {
	f := newFixture(b)
	letters := &endless{Broker: f.broker, n: uint64(b.N)}
	path := filepath.Join(b.TempDir(), "s")
	_, _, err := Freeze(b.Context(), &Scan{Broker: letters}, []*Source{f.dead}, Selection{Action: Replay, Pipeline: "payments"}, path)
	f.ok(err)
	r, err := Open(path)
	f.ok(err)
	defer func() { _ = r.Close() }()
	a := f.apply()
	a.Broker = letters
	if got, err := a.Run(b.Context(), r); err != nil || got.Done != int64(b.N) {
		b.Fatal(got, err)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "letters/s")
}
