package redis_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// wideTo is a message of more fields than a script passes on.
func wideTo(to string) broker.Add {
	m := broker.Add{Stream: to}
	for i := range 3000 {
		m.Fields = append(m.Fields, field(fmt.Sprint(i), "v"))
	}
	return m
}

// What goes through a transaction is refused there message by message, and the rest
// is done all the same. An entry of which nothing was published stays pending; one of
// which something was is told to be torn, and acknowledged, so that it is not
// published again.
func TestAWideStepThatIsRefusedInItsTransaction(t *testing.T) {
	become := func(key string) func(*testing.T, *redistest.Server) {
		return func(t *testing.T, s *redistest.Server) {
			s.Client().Set(t.Context(), key, "x", 0)
		}
	}
	none := func(*testing.T, *redistest.Server) {}
	for _, c := range []struct {
		name string
		to   []string
		// meanwhile happens between the look at the destinations and the transaction.
		meanwhile func(*testing.T, *redistest.Server)
		want      broker.Status
		kind      error
		of        string
		published int64
	}{
		{"takes no more entries", []string{"full"}, none, broker.Refused, nil, "full", 0},
		{"all take no more entries", []string{"full", "full"}, none, broker.Refused, nil, "full", 0},
		{"a later one takes no more entries", []string{replies, "full"}, none, broker.Torn, nil, "full", 1},
		{"the first one takes no more entries", []string{"full", replies}, none, broker.Torn, nil, "full", 1},
		{"changes its type", []string{replies}, become(replies), broker.Refused, broker.ErrWrongType, replies, 0},
		{"a later one changes its type", []string{replies, "other"}, become("other"), broker.Torn, broker.ErrWrongType, "other", 1},
		{"taken", []string{replies, replies}, none, broker.Done, nil, "", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			everyVersion(t, func(t *testing.T, s *redistest.Server, direct *redis.Broker) {
				b, p := openThrough(t, s)
				ids := fill(t, b, 2)
				read(t, b, "c", 10)
				settle(t, b, &broker.Settlement{Owner: owner("c"), Waits: []broker.Wait{{ID: ids[0], Error: "again"}}})
				s.Client().XAdd(t.Context(), maxedOut("full"))
				step := broker.Step{ID: ids[0]}
				for _, to := range c.to {
					step.Publish = append(step.Publish, wideTo(to))
				}
				p.hook.Store(&hook{"multi", func() { c.meanwhile(t, s) }})
				r := settle(t, b, &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{step, {ID: ids[1]}}, Forget: ids[:1]}).Steps
				if p.hook.Load() != nil {
					t.Fatal("it did not go through a transaction")
				}
				if r[0].Status != c.want || r[1].Status != broker.Done {
					t.Errorf("%+v, want %v", r, c.want)
				}
				if c.want != broker.Done {
					wantKind(t, r[0].Err, c.kind, "publish "+c.of)
				}
				left := broker.Record{}
				if c.want == broker.Refused {
					left.Error = "again"
				}
				var pending []broker.ID
				for id := range pendingOf(t, b) {
					pending = append(pending, id)
				}
				if want := ids[:1]; (c.want == broker.Refused) != slices.Equal(pending, want) || len(pending) > 1 {
					t.Errorf("pending: %v", pending)
				}
				if rec, err := b.Records(t.Context(), stream, group, ids[:1]); err != nil || rec[0].Error != left.Error {
					t.Errorf("record %+v, %v", rec, err)
				}
				if s.Client().Type(t.Context(), replies).Val() == "string" {
					s.Client().Del(t.Context(), replies)
				}
				if n := lengthOf(t, direct, replies); n != c.published {
					t.Errorf("%d published, want %d", n, c.published)
				}
				// What was refused is written once it can be.
				if c.want == broker.Refused {
					s.Client().Del(t.Context(), "full")
					for _, want := range []broker.Status{broker.Done, broker.NotOwned} {
						if r := settle(t, b, &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{step}}).Steps; r[0].Status != want {
							t.Errorf("again: %+v, want %v", r, want)
						}
					}
					if n := lengthOf(t, direct, c.to[0]); n != int64(len(c.to)) {
						t.Errorf("%d published in the end, want %d", n, len(c.to))
					}
				}
			})
		})
	}
}

// A server that is full when the transaction is run, though it was not when its
// commands came, refuses it as a whole.
func TestAWideStepOfWhichTheServerGetsFull(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			b, p := openThrough(t, s)
			ids := fill(t, b, 1)
			read(t, b, "c", 1)
			step := broker.Step{ID: ids[0], Publish: []broker.Add{wideTo(replies), wideTo("other")}}
			set := &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{step}}
			limit := func(n string) {
				if err := s.Client().ConfigSet(t.Context(), "maxmemory", n).Err(); err != nil {
					t.Error(err)
				}
			}
			for _, when := range []string{"before", "exec"} {
				if when == "before" {
					limit("1")
				} else {
					p.hook.Store(&hook{when, func() { waitQueued(t, s, len(step.Publish)+1); limit("1") }})
				}
				r := settle(t, b, set).Steps[0]
				if r.Status != broker.Refused {
					t.Errorf("full %s: %+v", when, r)
				}
				wantKind(t, r.Err, broker.ErrOutOfMemory, "publish "+replies)
				if left := pendingOf(t, b); len(left) != 1 || lengthOf(t, b, replies)+lengthOf(t, b, "other") > 0 {
					t.Errorf("full %s: %d pending, %d and %d published", when, len(left), lengthOf(t, b, replies), lengthOf(t, b, "other"))
				}
				limit("0")
			}
			for _, want := range []broker.Status{broker.Done, broker.NotOwned} {
				if r := settle(t, b, set).Steps[0]; r.Status != want {
					t.Errorf("%+v, want %v", r, want)
				}
			}
			if n, m := lengthOf(t, b, replies), lengthOf(t, b, "other"); n != 1 || m != 1 {
				t.Errorf("%d and %d published", n, m)
			}
		})
	}
}

// waitQueued waits until a client of the server has queued so many commands in a
// transaction.
func waitQueued(t *testing.T, s *redistest.Server, commands int) {
	t.Helper()
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); {
		if contains(s.Client().ClientList(t.Context()).Val(), fmt.Sprintf(" multi=%d ", commands)) {
			return
		}
	}
	t.Errorf("no transaction of %d commands", commands)
}
