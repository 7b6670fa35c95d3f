package harness_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis/aging"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// said are outcomes by their letters.
var said = map[byte]outcome.Outcome{
	'A': {Kind: outcome.Ack}, 'D': {Kind: outcome.Dead, Reason: "no"}, 'X': {Kind: outcome.Drop, Reason: "no"},
	'R': bare, 'T': retryIn(3 * time.Second), 'L': retryIn(70 * time.Second), 'F': boom,
}

// keyed plays a pipeline with held keys and watches the order.
type keyed struct {
	*harness.Harness

	t    rapid.TB
	keys map[broker.ID]string
	// calls counts the calls at each entry.
	calls map[string]int
	// sole: entries never come from a consumer that is gone.
	sole    bool
	entries int
}

// handle says what the body has for this attempt, and acknowledges after that.
func (k *keyed) handle(_ context.Context, d *sandbox.Delivery) outcome.Outcome {
	k.watch(d)
	n := d.Body.Get("n").Text()
	attempt := k.calls[n]
	k.calls[n]++
	if script := d.Body.Get("s").Text(); attempt < len(script) {
		return said[script[attempt]]
	}
	return outcome.Outcome{Kind: outcome.Ack}
}

// watch fails the test if an earlier entry of the key waits with the consumer
// that runs this one.
func (k *keyed) watch(d *sandbox.Delivery) {
	if d.Key == "" {
		return
	}
	calls := k.Calls("s")
	me := calls[0]
	for _, c := range calls { // it is written down before the handler is called
		if c.ID.String() == d.ID {
			me = c
		}
	}
	for _, p := range k.Pending("g") {
		if p.Consumer == me.Consumer && p.ID.Compare(me.ID) < 0 && k.keys[p.ID] == d.Key && k.waits(p, calls) {
			k.t.Fatalf("%s ran before %s of the same key %s, which is pending here too\n%s", d.ID, p.ID, d.Key, k)
		}
	}
}

// waits reports whether the entry is known to its consumer and has not come to
// its end there.
func (k *keyed) waits(p harness.Pending, calls []harness.Call) bool {
	known, ended, retried := k.sole, false, false
	for _, c := range calls {
		if c.ID == p.ID && c.Consumer == p.Consumer {
			known = true
			ended = c.Said == "ack" || c.Said == "drop" || c.Said == "dead"
			retried = retried || !ended
		}
	}
	// What went well at first here may be written with what comes after it.
	return known && (!ended || retried)
}

func (k *keyed) publish(key, script string) {
	k.entries++
	body := fmt.Sprintf(`{"k":%q,"n":"%d","s":%q}`, key, k.entries, script)
	ids, err := k.Publish(broker.Add{Stream: "in", Fields: []broker.Field{{Name: spec.DefaultBody, Value: body}}})
	k.check(err)
	k.keys[ids[0]] = key
}

func (k *keyed) check(err error) {
	if err != nil {
		k.t.Fatalf("%v\n%s", err, k)
	}
}

// step is one thing that happens.
type step struct {
	kind    string
	entries []string // key and script
	fault   harness.Fault
	d       time.Duration
	n       int
}

func drawSteps(t *rapid.T, kinds []string) []step {
	steps := make([]step, rapid.IntRange(1, 12).Draw(t, "steps"))
	for i := range steps {
		s := &steps[i]
		s.kind = rapid.SampledFrom(kinds).Draw(t, "kind")
		switch s.kind {
		case "publish":
			s.entries = rapid.SliceOfN(rapid.StringMatching(`[abc-][ADXRTLF]{0,6}`), 1, 8).Draw(t, "entries")
		case "fault":
			s.fault = drawFault(t)
			if s.fault.Subscription != "" {
				s.fault.Subscription = "s"
			}
			if s.fault.Kind == harness.Crash && !slices.Contains(kinds, "kill") {
				s.fault = harness.Fault{Kind: harness.LostReply, At: harness.AtSettle}
			}
		}
		s.d = time.Duration(rapid.IntRange(1, 500).Draw(t, "d")) * 100 * time.Millisecond
		s.n = rapid.IntRange(0, 3).Draw(t, "n")
	}
	return steps
}

// TestTheOrderOfAKeyIsNeverBroken: whatever handlers say and whatever goes wrong,
// no consumer runs an entry while it has an earlier one of the key that is not
// at its end; nothing is lost and nothing stays.
func TestTheOrderOfAKeyIsNeverBroken(t *testing.T) {
	for _, test := range plays {
		t.Run(test.name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				steps := drawSteps(t, test.kinds)
				first := playKeyed(t, harness.Config{}, test.workers, test.change, steps, test.sole())
				if again := playKeyed(t, harness.Config{}, test.workers, test.change, steps, test.sole()); again != first {
					t.Fatalf("the second run differs: %s", difference(first, again))
				}
			})
		})
	}
}

// keyedPlay is how many processes there are, how they hold keys and what happens.
type keyedPlay struct {
	name    string
	workers int
	change  func(*spec.Subscription)
	kinds   []string
}

// sole: nothing comes from a consumer that is gone.
func (p *keyedPlay) sole() bool {
	return !slices.Contains(p.kinds, "kill") && !slices.Contains(p.kinds, "stop")
}

var plays = []keyedPlay{
	{"one process", 1, holds, []string{"publish", "publish", "advance", "fault"}},
	{"one process, nobody claims", 1, unclaimed, []string{"publish", "publish", "advance", "fault"}},
	{"two processes", 2, holds, []string{"publish", "publish", "advance"}},
	{"stops and crashes", 2, holds, []string{"publish", "publish", "advance", "fault", "stop", "kill"}},
	{"stops and crashes, XAUTOCLAIM", 2, byAutoclaim, []string{"publish", "publish", "advance", "fault", "stop", "kill"}},
	{"little room", 1, limited(3, holds), []string{"publish", "publish", "advance", "fault"}},
	{"little room, crashes", 2, limited(3, holds), []string{"publish", "publish", "advance", "stop", "kill"}},
}

func playKeyed(t rapid.TB, cfg harness.Config, workers int, change func(*spec.Subscription), steps []step, sole bool) string {
	k := &keyed{t: t, keys: map[broker.ID]string{}, calls: map[string]int{}, sole: sole}
	var err error
	cfg.Pipeline = single(func(s *spec.Subscription) { change(s); s.Retry.MaxDelay = time.Minute })
	cfg.Handlers = map[string]sandbox.Handler{"s": harness.Func(k.handle)}
	k.Harness, err = harness.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := k.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	ctx := context.Background()
	start := func() { _, err := k.Start(ctx); k.check(err) }
	for range workers {
		start()
	}
	for _, s := range steps {
		switch s.kind {
		case "publish":
			for _, e := range s.entries {
				k.publish(strings.Trim(e[:1], "-"), e[1:])
			}
			k.check(k.Settle(ctx))
		case "advance":
			k.check(k.Advance(ctx, s.d))
		case "fault":
			k.check(k.Arm(s.fault))
			k.check(k.Settle(ctx))
		case "stop":
			_ = k.Workers()[s.n%len(k.Workers())].Stop(ctx) // what it leaves is pending
			start()
		case "kill":
			k.check(k.Workers()[s.n%len(k.Workers())].Kill(ctx))
			start()
		}
	}
	k.Disarm()
	if !slices.ContainsFunc(k.Workers(), (*harness.Worker).Alive) {
		start()
	}
	k.check(k.Advance(ctx, 2*time.Minute))
	// Long enough for all attempts at all entries of a key one after the other.
	for range 10 * k.entries {
		if len(k.Pending("g")) == 0 {
			break
		}
		k.check(k.Advance(ctx, time.Minute))
	}
	k.ended()
	return k.String()
}

// ended fails the test unless every entry came to its end and nothing is held.
func (k *keyed) ended() {
	ends := map[string]bool{}
	for _, c := range k.Calls("s") {
		// An outcome may be written without its worker hearing of it.
		final := c.Said == "ack" || c.Said == "drop" || c.Said == "dead"
		if c.Settled && (final || c.Dead) {
			ends[c.Entry.Get("n").Text()] = true
		}
	}
	for n := range k.entries {
		if !ends[strconv.Itoa(n+1)] {
			k.t.Fatalf("entry %d came to no end\n%s", n+1, k)
		}
	}
	if p := k.Pending("g"); len(p) > 0 {
		k.t.Fatalf("pending %+v\n%s", p, k)
	}
	for _, w := range k.Workers() {
		for _, s := range w.Snapshot().Subscriptions {
			if w.Alive() && (s.HeldBack != 0 || s.HeldKeys != 0 || s.HoldFull || s.Held != 0) {
				k.t.Fatalf("%s still holds %+v\n%s", w.Name(), s, k)
			}
		}
	}
}

// TestHeldKeysAreTheSameOnARealServer plays the same steps in memory and there:
// what ran when, what came of it and what is told is the same.
func TestHeldKeysAreTheSameOnARealServer(t *testing.T) {
	besideMemory(t, func(t *testing.T, played string, redis *aging.Redis) {
		for _, test := range plays {
			for seed := range max(1, *aged/3) {
				steps := rapid.Custom(func(t *rapid.T) []step { return drawSteps(t, test.kinds) }).Example(seed)
				for i := range steps {
					for j, e := range steps[i].entries {
						// Copies, which entries without a key leave, have ids of the
						// server's own time.
						steps[i].entries[j] = strings.ReplaceAll(e, "-", "d")
					}
				}
				memory := playKeyed(t, harness.Config{Version: played}, test.workers, test.change, steps, test.sole())
				server := playKeyed(t, onRedis(t, redis), test.workers, test.change, steps, test.sole())
				if a, b := nameless(letterless(memory)), nameless(letterless(server)); a != b {
					t.Fatalf("%s, seed %d, %+v: %s", test.name, seed, steps, difference(a, b))
				}
			}
		}
	})
}

// letterless drops the dead letters of a state: they hold the time.
func letterless(state string) string {
	var kept strings.Builder
	for line := range strings.Lines(state) {
		if !strings.Contains(line, "entry dead ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}
