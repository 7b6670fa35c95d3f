package seek_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/seek"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
)

var ledger = &spec.Group{Label: "ledger", Name: "ledger", Stream: &spec.Stream{Name: "payments"}}

// filled is a group that was given some of the entries of its stream.
func filled(t *testing.T, entries, given int) (*memory.Broker, []broker.ID) {
	t.Helper()
	b := memory.New(clock.NewVirtual(time.UnixMilli(1_000_000)), memory.Options{})
	t.Cleanup(func() { _ = b.Close() })
	if _, err := b.CreateGroup(t.Context(), "payments", "ledger", "0"); err != nil {
		t.Fatal(err)
	}
	adds := make([]broker.Add, entries)
	for i := range adds {
		adds[i] = broker.Add{Stream: "payments", Fields: []broker.Field{{Name: "n", Value: "1"}}}
	}
	ids, err := b.Add(t.Context(), adds)
	if err != nil {
		t.Fatal(err)
	}
	o := broker.Owner{Stream: "payments", Group: "ledger", Consumer: "c"}
	if given > 0 {
		if _, err := b.Read(t.Context(), broker.ReadRequest{Owner: o, Count: given}); err != nil {
			t.Fatal(err)
		}
	}
	return b, ids
}

func at(t *testing.T, text string) seek.Position {
	t.Helper()
	p, err := seek.ParsePosition(text, time.UnixMilli(1_000_000))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWhatASeekComesToIsCounted(t *testing.T) {
	b, ids := filled(t, 10, 6)
	for _, c := range []struct {
		to                          string
		again, skipped, freed, kept int64
		first, last                 int
	}{
		{"0", 6, 0, 6, 0, 0, 5},
		{ids[3].String(), 2, 0, 2, 4, 4, 5},
		{ids[5].String(), 0, 0, 0, 6, 0, 0},
		{ids[7].String(), 0, 2, 0, 6, 6, 7},
		{"$", 0, 4, 0, 6, 6, 9},
	} {
		p, err := seek.Look(t.Context(), b, ledger, at(t, c.to))
		if err != nil {
			t.Fatal(err)
		}
		if p.Again.Entries != c.again || p.Skipped.Entries != c.skipped || p.Freed != c.freed || p.Kept != c.kept || p.From != ids[5] {
			t.Errorf("to %s: %+v", c.to, p)
		}
		span := p.Again
		if p.Skipped.Entries > 0 {
			span = p.Skipped
		}
		if span.Entries > 0 && (span.First != ids[c.first] || span.Last != ids[c.last] || !span.Exact) {
			t.Errorf("to %s: %+v, want %v to %v", c.to, span, ids[c.first], ids[c.last])
		}
	}
}

// What is too long to be read is told as far as the server counts.
func TestALongWayIsEstimated(t *testing.T) {
	const entries, given = 260_000, 120_000
	b, ids := filled(t, entries, given)
	if _, err := b.Settle(t.Context(), &broker.Settlement{Owner: broker.Owner{Stream: "payments", Group: "ledger", Consumer: "c"}, Acks: ids[:given]}); err != nil {
		t.Fatal(err)
	}
	for to, want := range map[string]seek.Span{
		"0":                   {Entries: given, First: ids[0], Last: ids[given-1]},
		"$":                   {Entries: entries - given, First: ids[given], Last: ids[entries-1]},
		ids[5].String():       {Entries: 100_000, More: true, First: ids[6], Last: ids[given-1]},
		ids[250_000].String(): {Entries: 100_000, More: true, First: ids[given], Last: ids[250_000]},
	} {
		p, err := seek.Look(t.Context(), b, ledger, at(t, to))
		got := p.Again
		if !p.Back() {
			got = p.Skipped
		}
		if got.Entries >= 100_000 && got.More {
			got.Entries = 100_000 // the last page may bring a few more
		}
		if err != nil || got != want {
			t.Errorf("to %s: %+v, %v, want %+v", to, got, err, want)
		}
	}
}

// moving delivers an entry before each of the first seeks, as workers do.
type moving struct {
	*memory.Broker
	t     *testing.T
	times int
}

func (m *moving) Seek(ctx context.Context, r broker.SeekRequest) (broker.Sought, error) {
	if m.times > 0 {
		m.times--
		if _, err := m.Read(ctx, broker.ReadRequest{Owner: broker.Owner{Stream: "payments", Group: "ledger", Consumer: "w"}, Count: 1}); err != nil {
			m.t.Error(err)
		}
	}
	return m.Broker.Seek(ctx, r)
}

func TestAGroupThatMovesOnIsLookedAtAgainAFewTimes(t *testing.T) {
	for _, c := range []struct {
		times  int
		seen   bool
		status broker.SeekStatus
		again  int64
	}{
		{2, false, broker.SeekDone, 5},
		{100, false, broker.SeekMoved, 7},
		{1, true, broker.SeekMoved, 3},
	} {
		t.Run(fmt.Sprint(c), func(t *testing.T) {
			b, ids := filled(t, 20, 3)
			seen := broker.MaxID
			if c.seen {
				seen = ids[2]
			}
			p, sought, err := seek.Move(t.Context(), &moving{b, t, c.times}, ledger, at(t, "0"), seen, nil)
			if err != nil || sought.Status != c.status || p.Again.Entries != c.again {
				t.Errorf("%+v, %+v, %v", sought, p.Again, err)
			}
		})
	}
}

func TestPositions(t *testing.T) {
	b, ids := filled(t, 3, 1)
	now := time.UnixMilli(1_000_000)
	for text, want := range map[string]broker.ID{
		"$": ids[2], "new": ids[2], "0": {}, "beginning": {}, "7": {Ms: 7}, "7-3": {Ms: 7, Seq: 3},
		"1970-01-01T00:00:00.5Z": broker.ID{Ms: 500}.Prev(), "10s": broker.ID{Ms: 990_000}.Prev(), "1970-01-01T00:00:00Z": {},
	} {
		p, err := seek.Look(t.Context(), b, ledger, at(t, text))
		if err != nil || p.To != want {
			t.Errorf("%s is %v, want %v: %v", text, p.To, want, err)
		}
	}
	for _, text := range []string{"", "end", "-1", "1-2-3", "yesterday"} {
		if _, err := seek.ParsePosition(text, now); err == nil {
			t.Errorf("%q is a position", text)
		}
	}
}
