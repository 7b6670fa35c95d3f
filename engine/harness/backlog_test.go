package harness_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// echo replies with the entry itself.
func echo(_ context.Context, d *sandbox.Delivery) outcome.Outcome {
	return replyWith(fmt.Sprintf(`{"n":%d}`, number(d, "n")))
}

// numbered are bodies with the numbers from first to last.
func numbered(first, last int) []string {
	var bodies []string
	for n := first; n <= last; n++ {
		bodies = append(bodies, fmt.Sprintf(`{"n":%d}`, n))
	}
	return bodies
}

// throttle is a pipeline in which "first" replies to "out" with at most limit
// unacknowledged entries, which "second" reads and leaves pending while held.
type throttle struct {
	*bench

	out    *spec.Stream
	first  *spec.Subscription
	second *spec.Subscription
	held   bool
}

func newThrottle(t *testing.T, limit int64, handle harness.Func, change func(r *throttle)) *throttle {
	r := &throttle{out: stream("out")}
	r.out.MaxBacklog = limit
	in, dead := group("in", stream("in"), stream("dead")), stream("dead2")
	r.first = subscribe(in, "first", func(s *spec.Subscription) { s.Reply = &spec.Route{To: r.out} })
	out := group("out", r.out, dead)
	r.second = subscribe(out, "second", nil)
	if change != nil {
		change(r)
	}
	r.bench = open(t, harness.Config{Pipeline: pipeline(in, out), Handlers: map[string]sandbox.Handler{
		"first": handle,
		"second": harness.Func(func(context.Context, *sandbox.Delivery) outcome.Outcome {
			if r.held {
				return outcome.Outcome{Kind: outcome.Retry, After: 10 * time.Second, HasAfter: true}
			}
			return outcome.Outcome{Kind: outcome.Ack}
		}),
	}})
	return r
}

// levels are the events about backlogs, in order.
func (b *bench) levels() []observe.EventName {
	var all []observe.EventName
	for _, e := range b.Events() {
		if strings.HasPrefix(string(e.Name), "backlog.") {
			all = append(all, e.Name)
		}
	}
	return all
}

// values are the numbers in a stream.
func (b *bench) values(stream string) []string {
	var all []string
	for _, e := range b.Entries(stream) {
		all = append(all, e.Body.Get("n").Text())
	}
	return all
}

func TestRepliesToAFullStreamAreWithheldAndGoOnByThemselves(t *testing.T) {
	r := newThrottle(t, 10, echo, nil)
	r.held = true
	r.start()
	r.publish("in", numbered(1, 40)...)
	r.advance(8 * time.Second)
	if got := len(r.Entries("out")); got != 10 {
		t.Errorf("%d replies published, max_backlog is 10", got)
	}
	if p := r.Pending("in"); len(p) == 0 || len(p)+10 > 40 {
		t.Errorf("%d pending", len(p))
	}
	w := r.Workers()[0].Snapshot().Subscriptions[0]
	if w.Withheld != w.Held || w.Withheld != len(r.Pending("in")) {
		t.Errorf("%+v", w)
	}
	if got := r.levels(); !slices.Equal(got, []observe.EventName{observe.EventBacklogSlowed, observe.EventBacklogFull}) {
		t.Errorf("told %v", got)
	}
	full := r.told(observe.EventBacklogFull)[0]
	if full.Stream != "out" || full.Group != "out" || full.Count != 10 || !strings.Contains(full.Message, "10 of 10") {
		t.Errorf("%+v", full)
	}

	r.held = false
	r.advance(time.Minute)
	r.advance(time.Minute)
	if got, want := r.values("out"), numbersTo(40); !slices.Equal(got, want) {
		t.Errorf("published %v", got)
	}
	if len(r.Pending("in")) != 0 || len(r.Pending("out")) != 0 {
		t.Errorf("%d and %d pending", len(r.Pending("in")), len(r.Pending("out")))
	}
	if !slices.Contains(r.levels(), observe.EventBacklogRoom) {
		t.Errorf("told %v", r.levels())
	}
	// Each was run once: what waits is settled again, not run again.
	for _, c := range r.Calls("first") {
		if c.Outcome != observe.ResultReply || c.Attempt != 1 {
			t.Errorf("%+v", c)
		}
	}
	if n := len(r.Calls("first")); n != 40 {
		t.Errorf("%d calls", n)
	}
}

func numbersTo(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprint(i+1))
	}
	return all
}

// TestWhatIsWithheldOutlastsMinIdle: it is renewed, so that nobody else is given
// it, and costs no attempt however long it takes.
func TestWhatIsWithheldOutlastsMinIdle(t *testing.T) {
	r := newThrottle(t, 4, echo, nil)
	r.held = true
	r.second.Retry.MaxAttempts = 1000
	r.start()
	r.publish("in", numbered(1, 8)...)
	r.start() // somebody who could claim
	r.advance(10 * time.Minute)
	if n := len(r.Entries("out")); n != 4 {
		t.Errorf("%d published", n)
	}
	for _, p := range r.Pending("in") {
		if p.Deliveries != 1 {
			t.Errorf("%+v", p)
		}
	}
	r.held = false
	r.advance(time.Minute)
	if got := r.values("out"); !slices.Equal(got, numbersTo(8)) || len(r.Calls("first")) != 8 {
		t.Errorf("published %v in %d calls", got, len(r.Calls("first")))
	}
}

func TestWithheldRepliesHoldNothingElseUp(t *testing.T) {
	other := stream("other")
	handle := func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
		switch n := number(d, "n"); n % 5 {
		case 0:
			return outcome.Outcome{Kind: outcome.Ack}
		case 1:
			return outcome.Outcome{Kind: outcome.Drop, Reason: "not needed"}
		case 2:
			return outcome.Outcome{Kind: outcome.Dead, Reason: "no good"}
		case 3:
			said := echo(ctx, d)
			said.Replies[0].To = "other"
			return said
		}
		said := echo(ctx, d)
		said.Replies[0].To = "out"
		return said
	}
	r := newThrottle(t, 1, handle, func(r *throttle) {
		r.first.Reply = nil
		r.first.Routes = []*spec.Route{{Label: "out", To: r.out}, {Label: "other", To: other}}
		r.first.Group.DeadLetter.MaxBacklog = 1 // letters are never withheld
	})
	r.held = true
	r.start()
	r.publish("in", numbered(1, 25)...)
	r.advance(5 * time.Second)
	if len(r.Entries("out")) != 1 || len(r.Entries("other")) != 5 || len(r.Entries("dead")) != 5 {
		t.Errorf("out %d, other %d, dead %d", len(r.Entries("out")), len(r.Entries("other")), len(r.Entries("dead")))
	}
	if n := len(r.Pending("in")); n != 4 {
		t.Errorf("%d pending, want the other replies to out", n)
	}
}

// TestAStepForSeveralStreamsIsPublishedWholeOrNotAtAll: one of them is full.
func TestAStepForSeveralStreamsIsPublishedWholeOrNotAtAll(t *testing.T) {
	other := stream("other")
	other.MaxBacklog = 100
	handle := func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
		a, b := echo(ctx, d), echo(ctx, d)
		a.Replies[0].To, b.Replies[0].To = "other", "out"
		a.Replies = append(a.Replies, b.Replies...)
		return a
	}
	r := newThrottle(t, 3, handle, func(r *throttle) {
		r.first.Reply = nil
		r.first.Routes = []*spec.Route{{Label: "out", To: r.out}, {Label: "other", To: other}}
	})
	r.held = true
	r.start()
	r.publish("in", numbered(1, 9)...)
	r.advance(5 * time.Second)
	if a, b := r.values("out"), r.values("other"); !slices.Equal(a, b) || !slices.Equal(a, numbersTo(3)) {
		t.Errorf("out %v, other %v", a, b)
	}
	r.held = false
	r.advance(time.Minute)
	if a, b := r.values("out"), r.values("other"); !slices.Equal(a, b) || !slices.Equal(a, numbersTo(9)) {
		t.Errorf("out %v, other %v", a, b)
	}
}

// TestADrainHandsBackWhatIsWithheld: another worker runs it again, at once, and no
// attempt is counted however often that happens.
func TestADrainHandsBackWhatIsWithheld(t *testing.T) {
	for name, change := range map[string]func(*spec.Subscription){
		"claiming reads": nil, "XAUTOCLAIM": byAutoclaim, "nobody claims": unclaimed,
	} {
		t.Run(name, func(t *testing.T) {
			r := newThrottle(t, 2, echo, func(r *throttle) {
				if change != nil {
					change(r.first)
				}
			})
			r.held = true
			r.second.Retry.MaxAttempts = 1000
			r.publish("in", numbered(1, 6)...)
			for round := range 8 {
				w, err := r.StartOn(t.Context(), "host")
				if err != nil {
					t.Fatal(err)
				}
				r.advance(5 * time.Second)
				before := r.Now()
				err = w.Stop(t.Context())
				left, ok := errors.AsType[*engine.LeftError](err)
				if !ok || left.Left[0].Count != 4 {
					t.Fatalf("round %d: %v", round, err)
				}
				if took := r.Now().Sub(before); took < 19*time.Second || took > 21*time.Second {
					t.Errorf("round %d: it waited %v for room, drain_timeout is 20s", round, took)
				}
				for _, p := range r.Pending("in") {
					if p.Record.Attempts(p.Deliveries) != 0 || !strings.Contains(p.Record.Error, "stream out has a backlog of 2") {
						t.Errorf("round %d: %+v", round, p)
					}
				}
			}
			r.held = false
			if _, err := r.StartOn(t.Context(), "host"); err != nil {
				t.Fatal(err)
			}
			r.advance(time.Minute)
			r.advance(time.Minute)
			got := r.values("out")
			slices.Sort(got)
			if !slices.Equal(got, numbersTo(6)) || len(r.Entries("dead")) != 0 {
				t.Errorf("published %v, %d dead", got, len(r.Entries("dead")))
			}
		})
	}
}

func TestADrainWaitsForRoomThatComes(t *testing.T) {
	r := newThrottle(t, 2, echo, func(r *throttle) { r.second.Claim.MinIdle = 5 * time.Second })
	r.held = true
	w := r.start()
	r.publish("in", numbered(1, 6)...)
	r.advance(2 * time.Second)
	r.start()
	r.held = false
	if err := w.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if got := r.values("out"); !slices.Equal(got, numbersTo(6)) || len(r.Calls("first")) != 6 {
		t.Errorf("published %v in %d calls", got, len(r.Calls("first")))
	}
}

// TestACrashWithWithheldRepliesLosesNothing and publishes nothing twice.
func TestACrashWithWithheldRepliesLosesNothing(t *testing.T) {
	r := newThrottle(t, 3, echo, nil)
	r.held = true
	w := r.start()
	r.publish("in", numbered(1, 10)...)
	r.advance(3 * time.Second)
	if err := w.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.held = false
	r.revive()
	r.advance(2 * time.Minute)
	got := r.values("out")
	if slices.Sort(got); len(got) != 10 || len(slices.Compact(got)) != 10 {
		t.Errorf("published %v", got)
	}
}

// TestAServerThatGoesAwayWhileRepliesAreWithheld changes nothing of it.
func TestAServerThatGoesAwayWhileRepliesAreWithheld(t *testing.T) {
	r := newThrottle(t, 3, echo, nil)
	r.held = true
	r.start()
	r.publish("in", numbered(1, 10)...)
	r.advance(3 * time.Second)
	r.arm(harness.Fault{Kind: harness.ServerDown, For: 5 * time.Second})
	r.advance(20 * time.Second)
	if n := len(r.Entries("out")); n != 3 {
		t.Errorf("%d published", n)
	}
	r.held = false
	r.advance(2 * time.Minute)
	if got := r.values("out"); !slices.Equal(got, numbersTo(10)) || len(r.Calls("first")) != 10 {
		t.Errorf("published %v in %d calls", got, len(r.Calls("first")))
	}
}

// TestALostAnswerWithWithheldRepliesPublishesNothingTwice.
func TestALostAnswerWithWithheldRepliesPublishesNothingTwice(t *testing.T) {
	r := newThrottle(t, 4, echo, nil)
	r.held = true
	r.start()
	r.arm(harness.Fault{Kind: harness.LostReply, Subscription: "first", At: harness.AtSettle})
	r.publish("in", numbered(1, 12)...)
	r.advance(3 * time.Second)
	r.held = false
	r.advance(2 * time.Minute)
	if got := r.values("out"); !slices.Equal(got, numbersTo(12)) {
		t.Errorf("published %v", got)
	}
}

// TestAnEntryThatIsTrimmedWhileItsReplyIsWithheld is published without waiting:
// nobody could run it again.
func TestAnEntryThatIsTrimmedWhileItsReplyIsWithheld(t *testing.T) {
	r := newThrottle(t, 2, echo, nil)
	r.held = true
	r.start()
	ids := r.publish("in", numbered(1, 3)...)
	r.advance(2 * time.Second)
	if _, err := r.Server().Remove(t.Context(), "in", ids[2:]); err != nil {
		t.Fatal(err)
	}
	r.advance(20 * time.Second)
	if got := r.values("out"); !slices.Equal(got, numbersTo(3)) {
		t.Errorf("published %v", got)
	}
}

// TestOfOneKeyNothingOvertakesAWithheldReply.
func TestOfOneKeyNothingOvertakesAWithheldReply(t *testing.T) {
	r := newThrottle(t, 5, echo, func(r *throttle) { r.first.Batch, r.first.Workers.Count = 3, 4 })
	r.held = true
	r.second.Retry.MaxAttempts = 1000
	r.start()
	for n := range 60 {
		r.publish("in", numbered(n+1, n+1)...)
		r.advance(100 * time.Millisecond)
	}
	r.held = false
	r.advance(5 * time.Minute)
	if got := r.values("out"); !slices.Equal(got, numbersTo(60)) {
		t.Errorf("published %v", got)
	}
}

// TestAStreamWithoutGroupsIsFullWhenItIsThatLong, and has room when it is trimmed.
func TestAStreamWithoutGroupsIsFullWhenItIsThatLong(t *testing.T) {
	out := stream("out")
	out.MaxBacklog = 6
	b := one(t, echo, func(s *spec.Subscription) { s.Reply = &spec.Route{To: out} })
	b.publish("in", numbered(1, 10)...)
	b.advance(5 * time.Second)
	if n := len(b.Entries("out")); n != 6 {
		t.Errorf("%d published", n)
	}
	if _, err := b.Server().Trim(t.Context(), broker.TrimRequest{Stream: "out", MaxLen: 1}); err != nil {
		t.Fatal(err)
	}
	b.advance(5 * time.Second)
	if got := b.values("out"); len(got) == 0 || got[len(got)-1] != "10" {
		t.Errorf("left in the stream: %v", got)
	}
}

// TestAMissingRightToLookEndsTheSubscription, whose entry stays pending.
func TestAMissingRightToLookEndsTheSubscription(t *testing.T) {
	out := stream("out")
	out.MaxBacklog = 6
	b := open(t, harness.Config{
		Pipeline: single(func(s *spec.Subscription) { s.Reply = &spec.Route{To: out} }),
		Handlers: map[string]sandbox.Handler{"s": harness.Func(echo)},
		Wrap:     func(_ string, server broker.Broker) broker.Broker { return blind{server} },
	})
	b.start()
	b.publish("in", numbered(1, 3)...)
	b.advance(5 * time.Second)
	s := b.Workers()[0].Snapshot().Subscriptions[0]
	if s.Err == nil || !strings.Contains(s.Err.Error(), "look at the backlog of the stream that it replies to") || len(b.Pending("g")) != 3 {
		t.Errorf("%v, %d pending", s.Err, len(b.Pending("g")))
	}
}

// blind is a server on which the login may not look at out.
type blind struct{ broker.Broker }

func (s blind) GroupInfos(ctx context.Context, name string) ([]broker.GroupInfo, error) {
	if name == "out" {
		return nil, &broker.Error{Op: "inspect groups of", Stream: name, Kind: broker.ErrNoPermission, Detail: "xinfo|groups"}
	}
	return s.Broker.GroupInfos(ctx, name)
}

// TestBacklogsGoTheSameWayEveryTime compares all that can be seen of two runs.
func TestBacklogsGoTheSameWayEveryTime(t *testing.T) {
	run := func() string {
		r := newThrottle(t, 7, echo, func(r *throttle) { r.first.Workers.Count = 4 })
		r.held = true
		r.start()
		r.start()
		r.publish("in", numbered(1, 50)...)
		r.advance(7 * time.Second)
		r.held = false
		r.advance(90 * time.Second)
		var seen strings.Builder
		for _, e := range r.Entries("out") {
			fmt.Fprintln(&seen, e.ID, e.Body.Get("n").Text())
		}
		for _, e := range r.Events() {
			fmt.Fprintln(&seen, e.At, e.Name, e.Message)
		}
		return seen.String()
	}
	first := run()
	for range 3 {
		if again := run(); again != first {
			t.Fatalf("two runs differ:\n%s\n---\n%s", first, again)
		}
	}
}
