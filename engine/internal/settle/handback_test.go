package settle_test

import (
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
)

// TestHandingBackCostsNoAttempt hands an entry back again and again that never
// began to run, as restarts do to what is queued: its attempts must stay what
// they were.
func TestHandingBackCostsNoAttempt(t *testing.T) {
	for _, c := range []struct {
		name  string
		moves int // how often it is delivered before the first time it is queued
		want  int64
	}{{"new", 1, 0}, {"delivered once", 2, 1}, {"delivered twice", 3, 2}, {"delivered often", 6, 2}} {
		t.Run(c.name, func(t *testing.T) {
			v := clock.NewVirtual(time.UnixMilli(1_700_000_000_000))
			m := memory.New(v, memory.Options{})
			owner := broker.Owner{Stream: "s", Group: "g", Consumer: "c"}
			if _, err := m.CreateGroup(t.Context(), "s", "g", "0"); err != nil {
				t.Fatal(err)
			}
			ids, err := m.Add(t.Context(), []broker.Add{{Stream: "s", Fields: []broker.Field{{Name: "a", Value: "b"}}}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Read(t.Context(), broker.ReadRequest{Owner: owner, Count: 1}); err != nil {
				t.Fatal(err)
			}
			for range c.moves - 2 {
				if _, err := m.TakeOver(t.Context(), owner, "c", ids); err != nil {
					t.Fatal(err)
				}
			}
			for restart := range 5 {
				var d broker.Delivery
				if c.moves > 1 || restart > 0 {
					taken, err := m.TakeOver(t.Context(), owner, "c", ids)
					if err != nil || len(taken.Deliveries) != 1 {
						t.Fatal(taken, err)
					}
					d = taken.Deliveries[0]
				} else {
					d.ID = ids[0]
				}
				used := int64(0)
				if d.Deliveries > 0 {
					as, err := m.Admit(t.Context(), broker.AdmitRequest{
						Owner: owner, MinIdle: 30 * time.Second, MaxAttempts: 5,
						Entries: []broker.Redelivery{{ID: ids[0], Deliveries: d.Deliveries}},
					})
					if err != nil || as[0].Verdict != broker.Run {
						t.Fatalf("restart %d: %+v %v", restart, as, err)
					}
					used = as[0].Record.Attempts(d.Deliveries)
				}
				if used != c.want {
					t.Fatalf("restart %d: %d attempts used, want %d", restart, used, c.want)
				}
				b := newBench(t, batch.Release)
				b.item(1).Delivery = d
				b.settler.Broker, b.settler.Owner, b.settler.Claimable = m, owner, time.Hour
				b.run()
				ps, err := m.Pending(t.Context(), "s", "g", "c", broker.ID{}, 10)
				if err != nil || len(ps) != 1 || ps[0].Idle < time.Hour {
					t.Fatalf("restart %d: pending %+v %v, want it idle for an hour", restart, ps, err)
				}
				if len(b.settled) != 0 || b.held.Count() != 0 {
					t.Errorf("observed %v, %d held", b.results(), b.held.Count())
				}
			}
		})
	}
}
