package waiting

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
)

// When a pending entry is due: by its record, by the group's claims, by both.
func TestDueAt(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	claims := &spec.Group{Subscriptions: []*spec.Subscription{
		{}, {Claim: &spec.Claim{MinIdle: time.Minute}}, {Claim: &spec.Claim{MinIdle: 30 * time.Second}},
	}}
	for name, c := range map[string]struct {
		group  *spec.Group
		idle   time.Duration
		record time.Duration
		want   time.Duration
		ok     bool
	}{
		"claimed when idle":        {claims, 10 * time.Second, 0, 20 * time.Second, true},
		"idle long enough":         {claims, time.Hour, 0, 0, true},
		"the record is later":      {claims, 29 * time.Second, time.Hour, time.Hour, true},
		"its consumer is first":    {claims, 29 * time.Second, time.Second / 2, time.Second / 2, true},
		"its consumer is gone":     {claims, 29 * time.Second, -time.Minute, time.Second, true},
		"only a record":            {&spec.Group{}, 0, time.Second, time.Second, true},
		"nothing brings it back":   {&spec.Group{}, time.Hour, 0, 0, false},
		"handed back with no idle": {claims, 1000000000 * time.Second, 0, 0, true},
	} {
		var r broker.Record
		if c.record != 0 {
			r.Due = now.Add(c.record)
		}
		due, ok := dueAt(c.group, broker.Pending{Idle: c.idle}, r, now)
		if ok != c.ok || ok && !due.Equal(now.Add(c.want)) {
			t.Errorf("%s: %v, %v; want in %v, %v", name, due.Sub(now), ok, c.want, c.ok)
		}
	}
}

// forbidden is a broker for a login that may not read entries.
type forbidden struct{ broker.Broker }

func (forbidden) Range(context.Context, string, broker.ID, broker.ID, int) ([]broker.Entry, error) {
	return nil, fmt.Errorf("range: %w", broker.ErrNoPermission)
}

// An entry that is pending and was trimmed is told from one that is there.
func TestWhatWasTrimmed(t *testing.T) {
	t.Parallel()
	b, ctx := memory.New(clock.Real(), memory.Options{}), t.Context()
	g := &spec.Group{Label: "g", Name: "g", Stream: &spec.Stream{Name: "in"}}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := b.CreateGroup(ctx, "in", "g", "0")
	must(err)
	for range 3 {
		_, err := b.Add(ctx, []broker.Add{{Stream: "in", Fields: []broker.Field{{Name: "n", Value: "1"}}}})
		must(err)
	}
	_, err = b.Read(ctx, broker.ReadRequest{Owner: broker.Owner{Stream: "in", Group: "g", Consumer: "c"}, Count: 3})
	must(err)
	trimmed := func(from broker.Broker) (is []bool) {
		t.Helper()
		w := Walk{Broker: from, Limit: 10, Now: time.Now(), Each: func(e view.PendingEntry) { is = append(is, e.Trimmed) }}
		_, err := w.Group(ctx, g)
		must(err)
		return is
	}
	for _, c := range []struct {
		keep int64
		want []bool
	}{{3, []bool{false, false, false}}, {1, []bool{true, true, false}}, {0, []bool{true, true, true}}} {
		for {
			entries, err := b.Range(ctx, "in", broker.ID{}, broker.MaxID, 10)
			must(err)
			if int64(len(entries)) <= c.keep {
				break
			}
			_, err = b.Remove(ctx, "in", []broker.ID{entries[0].ID})
			must(err)
		}
		if got := trimmed(b); !slices.Equal(got, c.want) {
			t.Errorf("%d kept: %v, want %v", c.keep, got, c.want)
		}
	}
	if got := trimmed(forbidden{b}); !slices.Equal(got, []bool{false, false, false}) {
		t.Errorf("of what may not be looked at: %v", got)
	}
}
