package harness_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// idle is a bench of the pipeline without a worker.
func idle(t *testing.T, handle harness.Func, change func(*spec.Subscription)) *bench {
	t.Helper()
	return open(t, harness.Config{Pipeline: single(change), Handlers: map[string]sandbox.Handler{"s": handle}})
}

func (b *bench) startOn(machine string) *harness.Worker {
	b.t.Helper()
	w, err := b.StartOn(b.t.Context(), machine)
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

// told are the events of that name.
func (b *bench) told(name observe.EventName) []harness.Event {
	return slices.DeleteFunc(b.Events(), func(e harness.Event) bool { return e.Name != name })
}

// TestAfterACrashTheNextProcessKeepsTheOrder: whenever the one that holds them
// dies, another process has the retried entry wait for its time and runs the
// others after it. Nothing is run twice but what a crash left unwritten.
func TestAfterACrashTheNextProcessKeepsTheOrder(t *testing.T) {
	tests := []struct {
		name  string
		crash harness.Fault
		want  string
	}{
		{"while it waits", harness.Fault{}, "a1:retry@0 a1:ack@100 a2:ack@100 a3:ack@100"},
		{"before the first run", harness.Fault{At: harness.BeforeRun}, "a1:retry@30 a1:ack@130 a2:ack@130 a3:ack@130"},
		{"before the first retry is written", harness.Fault{At: harness.BeforeAck}, "a1:crashed@0 a1:ack@30 a2:ack@30 a3:ack@30"},
		{"after the first retry is written", harness.Fault{At: harness.AfterAck}, "a1:retry@0 a1:ack@100 a2:ack@100 a3:ack@100"},
		{"before the second run", harness.Fault{At: harness.BeforeRun, Nth: 2}, "a1:retry@0 a1:ack@130 a2:ack@130 a3:ack@130"},
		{"before the second outcome is written", harness.Fault{At: harness.BeforeAck, Nth: 2}, "a1:retry@0 a1:crashed@100 a1:ack@130 a2:ack@130 a3:ack@130"},
		{"after the second outcome is written", harness.Fault{At: harness.AfterAck, Nth: 2}, "a1:retry@0 a1:ack@100 a2:ack@130 a3:ack@130"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := idle(t, at(retryIn(100*time.Second), map[string]int{"a1": 1}), holds)
			w := b.start()
			if test.crash.At != "" {
				test.crash.Kind, test.crash.Subscription = harness.Crash, "s"
				b.arm(test.crash)
			}
			b.publish("in", rows("a1", "a2", "a3")...)
			if test.crash.At == "" {
				if err := w.Kill(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			b.start()
			b.advance(5 * time.Minute)
			b.done(test.want)
		})
	}
}

// TestTheNextHolderOfTheNameKeepsTheOrder: where nobody claims, and after a
// drain, the next process on the machine takes over what is left before it reads
// anything new. Where others claim, what a killed process held comes back by
// min_idle, after what is new: that process could be alive and stand still.
func TestTheNextHolderOfTheNameKeepsTheOrder(t *testing.T) {
	for name, change := range map[string]func(*spec.Subscription){"claims": holds, "nobody claims": unclaimed} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, killed), func(t *testing.T) {
				b := idle(t, at(retryIn(2*time.Minute), map[string]int{"a1": 1}), change)
				w := b.startOn("m")
				b.publish("in", rows("a1", "a2", "a3")...)
				var err error
				if killed {
					err = w.Kill(t.Context())
					b.advance(10 * time.Second) // the lease of the name runs out
				} else {
					err = w.Stop(t.Context())
				}
				if err != nil {
					t.Fatal(err)
				}
				b.publish("in", rows("a4", "b1")...)
				b.startOn("m")
				b.advance(5 * time.Minute)
				begun := "b1:ack@0"
				if killed {
					begun = "b1:ack@10"
				}
				if killed && name == "claims" {
					b.done("a1:retry@0 a4:ack@10 b1:ack@10 a1:ack@120 a2:ack@120 a3:ack@120")
					return
				}
				b.done("a1:retry@0 " + begun + " a1:ack@120 a2:ack@120 a3:ack@120 a4:ack@120")
			})
		}
	}
}

// TestADrainHandsWhatIsHeldBackAtOnce: the other process has it with its next
// read, no attempt is used up, and what is retried keeps its time, its record
// and its order.
func TestADrainHandsWhatIsHeldBackAtOnce(t *testing.T) {
	b := idle(t, at(boom, map[string]int{"a1": 4}), func(s *spec.Subscription) { holds(s); s.Workers.Count = 1 })
	w := b.start()
	b.publish("in", rows("a1", "a2", "a3")...)
	b.advance(10 * time.Second)
	b.start()
	before := b.Pending("g")
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.advance(time.Second) // a read that waits is not woken by what is handed back
	after := b.Pending("g")
	if len(before) != 3 || len(after) != 3 {
		t.Fatalf("pending before %v, after %v", before, after)
	}
	for i := range after {
		was, is := before[i], after[i]
		if is.Consumer == was.Consumer || is.Deliveries > was.Deliveries || !is.Record.Due.Equal(was.Record.Due) ||
			is.Record.Error != was.Record.Error || is.Record.Starts != was.Record.Starts || is.Record.Asked != was.Record.Asked {
			t.Errorf("before the drain %+v, after it %+v", was, is)
		}
	}
	if handed := b.told(observe.EventHandedBack); len(handed) != 1 || handed[0].Count != 3 || handed[0].Err != nil {
		t.Errorf("told of %+v", handed)
	}
	b.advance(5 * time.Minute)
	b.done("a1:failed@0 a1:failed@1 a1:failed@5 a1:failed@21 a1:ack@85 a2:ack@85 a3:ack@85")
	for _, c := range b.Calls("s") {
		if c.Entry.Get("n").Text() != "1" && (c.Attempt != 1 || c.Deliveries != 0) {
			t.Errorf("being held and handed back cost %s an attempt: %+v", c.ID, c)
		}
	}
}

// TestADrainHandsAKeyBackWhenItsEntryIsSettled, not while it still runs here.
func TestADrainHandsAKeyBackWhenItsEntryIsSettled(t *testing.T) {
	b := idle(t, at(retryIn(time.Second), map[string]int{"a1": 1, "b1": 1}), holds)
	w := b.start()
	b.publish("in", rows("a1", "a2", "b1", "b2")...)
	b.arm(harness.Fault{Kind: harness.Slow, Subscription: "s", Nth: 1, For: 10 * time.Second})
	b.advance(time.Second) // a1 runs again, for ten seconds
	b.start()
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.advance(time.Minute)
	b.done("a1:retry@0 b1:retry@0 a1:ack@1 b1:ack@1 b2:ack@1 a2:ack@12")
}

// TestWhatIsHeldIsNotTakenFromALivingProcess, however long it waits.
func TestWhatIsHeldIsNotTakenFromALivingProcess(t *testing.T) {
	for name, change := range map[string]func(*spec.Subscription){"claiming reads": holds, "XAUTOCLAIM": byAutoclaim} {
		t.Run(name, func(t *testing.T) {
			b := idle(t, at(retryIn(20*time.Minute), map[string]int{"a1": 1}), change)
			first := b.start()
			b.publish("in", rows("a1", "a2", "a3")...)
			b.start()
			for range 20 {
				b.advance(50 * time.Second)
				for _, p := range b.Pending("g") {
					if p.Consumer != first.Consumer("s") || p.Idle > 11*time.Second {
						t.Fatalf("%s: pending %+v", b.Now(), p)
					}
				}
			}
			b.advance(10 * time.Minute)
			b.done("a1:retry@0 a1:ack@1200 a2:ack@1200 a3:ack@1200")
		})
	}
}

// TestWhatIsLostWhileItIsHeldIsNotRunHere: another consumer has it.
func TestWhatIsLostWhileItIsHeldIsNotRunHere(t *testing.T) {
	b := one(t, at(retryIn(60*time.Second), map[string]int{"a1": 1}), holds)
	ids := b.publish("in", rows("a1", "a2", "a3", "a4")...)
	w := b.Workers()[0]
	thief := broker.Owner{Stream: "in", Group: "g", Consumer: "thief"}
	if _, err := b.Server().TakeOver(t.Context(), thief, w.Consumer("s"), ids[:2]); err != nil {
		t.Fatal(err)
	}
	b.advance(11 * time.Second) // a renewal
	// Nothing keeps the rest back any more.
	if got := b.ran(); got != "a1:retry@0 a3:ack@10 a4:ack@10" {
		t.Errorf("ran %s", got)
	}
	if lost := b.told(observe.EventLeaseLost); len(lost) != 1 || lost[0].Count != 2 {
		t.Errorf("told of %+v", lost)
	}
	if n := w.Snapshot().Subscriptions[0].HeldBack; n != 0 {
		t.Errorf("%d are still held", n)
	}
}

// TestABodyThatIsDeletedWhileItIsHeldIsLostData: it is told of, once, and its key
// opens.
func TestABodyThatIsDeletedWhileItIsHeldIsLostData(t *testing.T) {
	tests := []struct {
		name    string
		version string
		change  func(*spec.Subscription)
		deleted []int
		want    string
	}{
		{"a held one", "", holds, []int{1}, "a1:retry@0 a1:ack@60 a3:ack@60"},
		{"the retried one", "", holds, []int{0}, "a1:retry@0 a2:ack@10 a3:ack@10"},
		{"all", "", holds, []int{0, 1, 2}, "a1:retry@0"},
		{"a held one, nobody claims", "", unclaimed, []int{1}, "a1:retry@0 a1:ack@60 a3:ack@60"},
		{"the retried one, nobody claims", "", unclaimed, []int{0}, "a1:retry@0 a2:ack@60 a3:ack@60"},
		{"before 7.0", "6.2", holds, []int{0, 1}, "a1:retry@0 a3:ack@60"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := open(t, harness.Config{
				Pipeline: single(test.change), Version: test.version,
				Handlers: map[string]sandbox.Handler{"s": at(retryIn(60*time.Second), map[string]int{"a1": 1})},
			})
			b.start()
			ids := b.publish("in", rows("a1", "a2", "a3")...)
			for _, i := range test.deleted {
				b.Server().DeleteEntries("in", ids[i])
			}
			b.advance(5 * time.Minute)
			b.done(test.want)
			missing := 0
			for _, e := range b.told(observe.EventBodyMissing) {
				missing += e.Count
			}
			if missing != len(test.deleted) || len(b.told(observe.EventLeaseLost)) != 0 {
				t.Errorf("told of %d missing bodies; events %+v", missing, b.Events())
			}
		})
	}
}

// TestAGroupThatIsLostWhileEntriesAreHeldIsReadAgainInOrder.
func TestAGroupThatIsLostWhileEntriesAreHeldIsReadAgainInOrder(t *testing.T) {
	b := one(t, at(retryIn(20*time.Second), map[string]int{"a1": 2}), holds)
	b.publish("in", rows("a1", "a2", "a3")...)
	b.advance(6 * time.Second)
	b.Server().DestroyGroup("in", "g")
	b.advance(5 * time.Minute)
	last := 0
	for _, c := range b.Calls("s") {
		n := int(c.Entry.Get("n").Text()[0] - '0')
		if n < last {
			t.Errorf("a%d ran after a%d: %s", n, last, b.ran())
		}
		last = n
	}
	if len(b.Pending("g")) != 0 || !strings.HasSuffix(b.ran(), "a1:ack@40 a2:ack@40 a3:ack@40") {
		t.Errorf("ran %s, pending %v", b.ran(), b.Pending("g"))
	}
}

// TestOnFailureStopKeepsTheKeyClosed: nothing behind the entry that stopped the
// subscription runs.
func TestOnFailureStopKeepsTheKeyClosed(t *testing.T) {
	b := one(t, at(boom, map[string]int{"a1": 1}), func(s *spec.Subscription) {
		holds(s)
		s.OnFailure = spec.PolicyStop
	})
	b.publish("in", rows("a1", "a2", "a3", "b1")...)
	if got := b.ran(); strings.Contains(got, "a2") || strings.Contains(got, "a3") {
		t.Errorf("ran %s", got)
	}
	if p := b.Pending("g"); len(p) < 3 {
		t.Errorf("pending %v", p)
	}
}
