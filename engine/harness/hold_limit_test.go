package harness_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/observe"
	"pipeline/engine/spec"
)

// limited holds up to a number of entries and reads a few at a time.
func limited(limit int, change func(*spec.Subscription)) func(*spec.Subscription) {
	return func(s *spec.Subscription) {
		change(s)
		s.Batch, s.Workers.HoldLimit = 4, limit
	}
}

// many are the entries from first to last of key a.
func many(first, last int) []string {
	var names []string
	for n := first; n <= last; n++ {
		names = append(names, fmt.Sprintf("a%d", n))
	}
	return rows(names...)
}

// TestAtTheHoldLimitReadingStopsAndGoesOnByItself, and it says so once each time.
func TestAtTheHoldLimitReadingStopsAndGoesOnByItself(t *testing.T) {
	for name, change := range map[string]func(*spec.Subscription){
		"claiming reads": holds, "XAUTOCLAIM": byAutoclaim, "nobody claims": unclaimed,
	} {
		t.Run(name, func(t *testing.T) {
			b := one(t, at(retryIn(5*time.Minute), map[string]int{"a1": 1}), limited(10, change))
			b.publish("in", many(1, 60)...)
			b.publish("in", rows("b1", "b2")...) // beyond what is read
			b.advance(2 * time.Minute)
			w := b.Workers()[0]
			s := w.Snapshot().Subscriptions[0]
			if !s.HoldFull || s.HeldKeys != 1 || s.HeldBack < 10 || s.HeldBack > 10+4*4 {
				t.Errorf("%+v", s)
			}
			if full := b.told(observe.EventHoldFull); len(full) != 1 || full[0].Count < 10 || !strings.Contains(full[0].Message, "hold_limit") {
				t.Errorf("told of %+v", full)
			}
			if p := b.Pending("g"); len(p) != s.HeldBack || b.ran() != "a1:retry@0" {
				t.Errorf("%d pending, %d held; ran %s", len(p), s.HeldBack, b.ran())
			}
			b.advance(4 * time.Minute)
			b.inOrder(60)
			// It was full again while the rest came in; each change is told of once.
			var told []observe.EventName
			for _, e := range b.Events() {
				if e.Name == observe.EventHoldFull || e.Name == observe.EventHoldRoom {
					told = append(told, e.Name)
				}
			}
			for i, name := range told {
				if (name == observe.EventHoldFull) != (i%2 == 0) {
					t.Errorf("told of %v", told)
				}
			}
			if len(told)%2 != 0 || b.Workers()[0].Snapshot().Subscriptions[0].HoldFull {
				t.Errorf("it is full at the end; told of %v", told)
			}
		})
	}
}

// inOrder fails the test unless the n entries of key a ran in order once the
// first one was no longer retried, b1 and b2 ran, and nothing is left.
func (b *bench) inOrder(n int) {
	b.t.Helper()
	var want, as, bs []string
	for i := range n {
		want = append(want, fmt.Sprintf("a%d:ack@300", i+1))
	}
	for _, call := range strings.Fields(b.ran())[1:] {
		if call[0] == 'a' {
			as = append(as, call)
		} else {
			bs = append(bs, call)
		}
	}
	if !slices.Equal(as, want) || len(bs) != 2 || len(b.Pending("g")) != 0 {
		b.t.Errorf("ran\n%s\npending %v", b.ran(), b.Pending("g"))
	}
}

// TestTakingOverStopsAtTheHoldLimitToo: what a dead process left does not fill
// the next one without bound, and is all run in order.
func TestTakingOverStopsAtTheHoldLimitToo(t *testing.T) {
	for name, change := range map[string]func(*spec.Subscription){
		"claiming reads": holds, "XAUTOCLAIM": byAutoclaim, "nobody claims": unclaimed,
	} {
		t.Run(name, func(t *testing.T) {
			handle := at(retryIn(5*time.Minute), map[string]int{"a1": 1})
			var sub *spec.Subscription
			b := idle(t, handle, limited(0, func(s *spec.Subscription) { change(s); sub = s }))
			w := b.startOn("m")
			b.publish("in", many(1, 60)...)
			if n := w.Snapshot().Subscriptions[0].HeldBack; n != 60 {
				t.Fatalf("%d are held", n)
			}
			sub.Workers.HoldLimit = 10
			if err := w.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			b.publish("in", rows("b1", "b2", "a61")...)
			w = b.startOn("m")
			b.advance(time.Minute)
			if s := w.Snapshot().Subscriptions[0]; !s.HoldFull || s.HeldBack < 10 || s.HeldBack > 10+4*4 {
				t.Errorf("%+v", s)
			}
			b.advance(5 * time.Minute)
			b.inOrder(61)
		})
	}
}

// TestAHeldKeyDoesNotStarveOthers: neither its lane nor the window of what is in
// flight fills up with entries that wait.
func TestAHeldKeyDoesNotStarveOthers(t *testing.T) {
	b := one(t, at(retryIn(time.Hour), map[string]int{"a1": 1}), func(s *spec.Subscription) {
		holds(s)
		s.Batch, s.Workers.Count = 10, 1 // all keys have one lane
	})
	b.publish("in", many(1, 3000)...)
	b.publish("in", rows("b1", "b2")...)
	if got := b.ran(); got != "a1:retry@0 b1:ack@0 b2:ack@0" {
		t.Errorf("ran %s", got)
	}
	s := b.Workers()[0].Snapshot().Subscriptions[0]
	if s.HeldBack != 3000 || s.Held != 0 || s.HoldFull {
		t.Errorf("%+v", s)
	}
	b.advance(time.Hour + time.Minute)
	if n := len(b.Calls("s")); n != 3003 || len(b.Pending("g")) != 0 {
		t.Errorf("%d calls, %d pending", n, len(b.Pending("g")))
	}
}
