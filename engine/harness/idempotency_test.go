package harness_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// by is the key entry.name, or headers["name"].
func by(root spec.Root, name string) spec.Expr {
	return &spec.Path{Root: root, Steps: []spec.Step{{Name: name}}}
}

// once has a subscription do nothing twice with one n, for an hour.
func once(s *spec.Subscription) {
	s.Idempotency = &spec.Idempotency{Key: by(spec.RootEntry, "n"), Window: time.Hour}
	s.Reply = &spec.Route{To: stream("out")}
}

// deduplicating is a bench whose handler says what the entries' member "say" asks
// for, and counts its runs.
func deduplicating(t *testing.T, change func(*spec.Subscription)) (b *bench, ran *int) {
	t.Helper()
	ran = new(int)
	b = one(t, func(_ context.Context, d *sandbox.Delivery) outcome.Outcome {
		*ran++
		switch d.Body.Get("say").Text() {
		case "reply":
			return replyWith(`{"n":1}`)
		case "drop":
			return outcome.Outcome{Kind: outcome.Drop, Reason: "not needed"}
		case "dead":
			return outcome.Outcome{Kind: outcome.Dead, Reason: "no"}
		case "retry":
			return outcome.Outcome{Kind: outcome.Retry}
		case "fail":
			return outcome.Fail(outcome.FailError, "bank is closed")
		}
		return outcome.Outcome{Kind: outcome.Ack}
	}, func(s *spec.Subscription) {
		once(s)
		if change != nil {
			change(s)
		}
	})
	return b, ran
}

// want asserts the outcomes of s, that nothing is pending, and the replies.
func (b *bench) want(published int, outcomes ...string) {
	b.t.Helper()
	if got := b.outcomes("s"); !slices.Equal(got, outcomes) {
		b.t.Errorf("outcomes %v, want %v", got, outcomes)
	}
	if p := b.Pending("g"); len(p) != 0 {
		b.t.Errorf("pending %+v", p)
	}
	if got := len(b.Entries("out")); got != published {
		b.t.Errorf("%d replies, want %d", got, published)
	}
}

func body(n any, say string) string { return fmt.Sprintf(`{"n":%v,"say":%q}`, n, say) }

func TestWhatWasSettledIsADuplicateUnrun(t *testing.T) {
	for _, say := range []string{"ack", "reply", "drop"} {
		t.Run(say, func(t *testing.T) {
			b, ran := deduplicating(t, nil)
			ids := b.publish("in", body(7, say))
			b.publish("in", body(7, say), body("7.0", say), body(`"7"`, say), body(8, say))
			published := 0
			if say == "reply" {
				published = 2
			}
			b.want(published, say, "duplicate", "duplicate", "duplicate", say)
			if *ran != 2 {
				t.Errorf("ran %d times", *ran)
			}
			for _, c := range b.Calls("s") {
				if c.Outcome == "duplicate" && (c.Ran || !c.Settled || len(c.Replies) > 0 || c.Reason != "of "+ids[0].String()) {
					t.Errorf("%+v", c)
				}
			}
			snapshot := b.Workers()[0].Snapshot().Subscriptions[0]
			if snapshot.Settled[observe.ResultDuplicate] != 3 || snapshot.Settled[observe.Result(say)] != 2 {
				t.Errorf("counted %v", snapshot.Settled)
			}
			told := 0
			for _, e := range b.Events() {
				if e.Name == observe.EventDuplicate {
					told += e.Count
				}
			}
			if told != 3 {
				t.Errorf("told of %d duplicates", told)
			}
		})
	}
}

// What was not settled by a handler's own word marks nothing: the next entry with
// the key runs.
func TestDeadLettersAndRetriesMarkNothing(t *testing.T) {
	for _, c := range []struct {
		say, first string
		pending    int
	}{{"dead", "dead", 0}, {"retry", "retry", 1}, {"fail", "failed", 1}} {
		t.Run(c.say, func(t *testing.T) {
			b, ran := deduplicating(t, nil)
			b.publish("in", body(7, c.say))
			if got := len(b.Pending("g")); got != c.pending {
				t.Fatalf("%d pending", got)
			}
			b.publish("in", body(7, "reply"))
			if got := b.outcomes("s"); !slices.Equal(got, []string{c.first, "reply"}) || *ran != 2 {
				t.Fatalf("outcomes %v", got)
			}
			// What waits for another attempt comes back as a duplicate of what was settled meanwhile.
			b.advance(time.Minute)
			want := []string{c.first, "reply"}
			if c.pending > 0 {
				want = append(want, "duplicate")
			}
			b.want(1, want...)
		})
	}
}

func TestAnEntryThatUsedUpItsAttemptsMarksNothing(t *testing.T) {
	b, _ := deduplicating(t, func(s *spec.Subscription) { s.Retry.MaxAttempts = 3 })
	b.publish("in", body(7, "fail"))
	b.advance(10 * time.Minute)
	b.publish("in", body(7, "ack"))
	b.want(0, "failed", "failed", "failed", "ack")
	if letters := b.Entries("dead"); len(letters) != 1 {
		t.Errorf("%d letters", len(letters))
	}
}

// A crash at any point leaves either an entry that is pending and whose key is not
// marked, or one that is not pending and whose key is. The next copy then runs, or
// does not.
func TestACrashNeverLosesAnEntryForItsMark(t *testing.T) {
	for _, say := range []string{"ack", "reply", "drop"} {
		for _, c := range []struct {
			at       harness.Point
			first    []string // before the takeover
			outcomes []string
			ran      int
		}{
			{harness.BeforeRun, nil, []string{say, "duplicate"}, 1},
			{harness.AfterRun, []string{"crashed"}, []string{"crashed", say, "duplicate"}, 2},
			{harness.BeforeAck, []string{"crashed"}, []string{"crashed", say, "duplicate"}, 2},
			{harness.AfterAck, []string{say}, []string{say, "duplicate"}, 1},
		} {
			t.Run(fmt.Sprint(say, " ", c.at), func(t *testing.T) {
				b, ran := deduplicating(t, nil)
				b.arm(harness.Fault{Kind: harness.Crash, Subscription: "s", At: c.at})
				b.publish("in", body(7, say))
				if got := b.outcomes("s"); !slices.Equal(got, c.first) {
					t.Errorf("after the crash: %v, want %v", got, c.first)
				}
				b.revive()
				b.advance(30 * time.Second)
				b.publish("in", body(7, say))
				published := 0
				if say == "reply" {
					published = 1
				}
				b.want(published, c.outcomes...)
				if *ran != c.ran {
					t.Errorf("ran %d times, want %d", *ran, c.ran)
				}
			})
		}
	}
}

// The copy comes first: it runs while the entry of the dead worker is pending, and
// that one is its duplicate when it is taken over.
func TestAnEntryOfADeadWorkerIsADuplicateOfTheCopyThatWasSettledMeanwhile(t *testing.T) {
	b, ran := deduplicating(t, nil)
	b.arm(harness.Fault{Kind: harness.Crash, At: harness.BeforeAck})
	b.publish("in", body(7, "reply"))
	b.revive()
	b.publish("in", body(7, "reply"))
	b.advance(30 * time.Second)
	b.want(1, "crashed", "reply", "duplicate")
	if *ran != 2 {
		t.Errorf("ran %d times", *ran)
	}
}

// An outcome whose answer was lost is what it was: neither stale nor a duplicate
// of itself.
func TestAnOutcomeWhoseAnswerWasLostIsCountedAsItself(t *testing.T) {
	for _, say := range []string{"ack", "reply", "drop"} {
		t.Run(say, func(t *testing.T) {
			b, _ := deduplicating(t, nil)
			b.arm(harness.Fault{Kind: harness.LostReply, Subscription: "s", At: harness.AtSettle})
			b.publish("in", body(7, say))
			b.advance(5 * time.Second)
			b.publish("in", body(7, say))
			published := 0
			if say == "reply" {
				published = 1
			}
			b.want(published, say, "duplicate")
			for _, e := range b.Events() {
				if e.Name == observe.EventStaleSettle {
					t.Errorf("told of %+v", e)
				}
			}
		})
	}
}

// The same of a duplicate: its acknowledgement was written, and it has no mark of
// its own by which that could be told. Nothing is lost by it.
func TestADuplicateWhoseAnswerWasLostStaysAcknowledged(t *testing.T) {
	b, _ := deduplicating(t, nil)
	b.publish("in", body(7, "reply"))
	b.arm(harness.Fault{Kind: harness.LostReply, Subscription: "s", At: harness.AtSettle})
	b.arm(harness.Fault{Kind: harness.ServerDown, For: time.Nanosecond}) // no call finishes with a duplicate, which the fault asks for
	b.publish("in", body(7, "reply"))
	b.advance(5 * time.Second)
	b.want(1, "reply", "duplicate")
}

// Two with one key in one settlement whose answer is lost: sent again, neither is
// pending any more, and only one of them has marked the key. The other one is a
// duplicate all the same, and counts as one, whatever it said.
func TestOfTwoWhoseAnswerWasLostOneIsADuplicate(t *testing.T) {
	for _, say := range []string{"ack", "reply", "drop"} {
		t.Run(say, func(t *testing.T) {
			b, ran := deduplicating(t, func(s *spec.Subscription) { s.Workers.Count = 1 })
			b.arm(harness.Fault{Kind: harness.LostReply, Subscription: "s", At: harness.AtSettle})
			ids := b.publish("in", body(7, say), body(7, say))
			b.advance(5 * time.Second)
			published := 0
			if say == "reply" {
				published = 1
			}
			b.want(published, say, "duplicate")
			if *ran != 2 {
				t.Fatalf("ran %d times, want both before either was settled", *ran)
			}
			if c := b.Calls("s")[1]; len(c.Replies) > 0 || c.Reason != "of "+ids[0].String() {
				t.Errorf("%+v", c)
			}
			if got := b.Workers()[0].Snapshot().Subscriptions[0].Settled; got[observe.Result(say)] != 1 || got[observe.ResultDuplicate] != 1 {
				t.Errorf("counted %v", got)
			}
		})
	}
}

// A lost group is read again from its floor. What was settled is known by its
// marks, and not done again.
func TestALostGroupIsReadAgainWithoutDoingAgain(t *testing.T) {
	b, ran := deduplicating(t, nil)
	ids := b.publish("in", body(1, "reply"), body(2, "ack"), body(3, "drop"))
	b.Server().DestroyGroup("in", "g")
	b.advance(time.Minute)
	b.publish("in", body(4, "reply"))
	if *ran != 4 || len(b.Entries("out")) != 2 {
		t.Fatalf("ran %d times, %d replies", *ran, len(b.Entries("out")))
	}
	again := 0
	for _, c := range b.Calls("s") {
		if c.Outcome == "duplicate" {
			again++
			if !slices.Contains(ids, c.ID) || !strings.Contains(c.Reason, "of itself") {
				t.Errorf("%+v", c)
			}
		}
	}
	if again == 0 || len(b.Pending("g")) != 0 {
		t.Errorf("%d came again, pending %v", again, b.Pending("g"))
	}
}

// Two processes run the same key at once: both run, one publishes.
func TestOfTwoThatRunAtOnceOnePublishes(t *testing.T) {
	for _, say := range []string{"ack", "reply"} {
		t.Run(say, func(t *testing.T) {
			var ran []string
			p := single(once)
			p.Groups[0].Subscriptions[0].Batch = 1
			p.Groups[0].Subscriptions[0].Workers.Count = 1
			b := open(t, harness.Config{Pipeline: p, Handlers: map[string]sandbox.Handler{
				"s": harness.Func(func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
					ran = append(ran, d.ID)
					if err := harness.Sleep(ctx, time.Second); err != nil {
						return outcome.Fail(outcome.FailCanceled, "")
					}
					if say == "reply" {
						return replyWith(`{"n":1}`)
					}
					return outcome.Outcome{Kind: outcome.Ack}
				}),
			}})
			b.start()
			b.start()
			// Each worker reads one entry at a time.
			b.publish("in", body(7, ""), body(7, ""), body(1, ""), body(2, ""))
			b.advance(10 * time.Second)
			published := map[string]int{"ack": 0, "reply": 3}[say]
			got := b.outcomes("s")
			slices.Sort(got)
			if want := []string{say, say, say, "duplicate"}; !equalSorted(got, want) || len(b.Entries("out")) != published || len(b.Pending("g")) != 0 {
				t.Errorf("outcomes %v, %d replies, pending %v", got, len(b.Entries("out")), b.Pending("g"))
			}
			workers := map[string]bool{}
			for _, c := range b.Calls("s") {
				if c.Entry.Get("n").Text() == "7" {
					workers[c.Worker] = c.Ran
				}
			}
			if len(workers) != 2 || len(ran) != 4 {
				t.Errorf("the key ran in %v, %d runs in all", workers, len(ran))
			}
		})
	}
}

func equalSorted(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// Two in one batch are one publication, too, whoever runs first.
func TestTwoInOneBatchPublishOnce(t *testing.T) {
	b, _ := deduplicating(t, nil)
	b.publish("in", body(7, "reply"), body(7, "reply"), body(7, "ack"), body(7, "drop"))
	b.want(1, "reply", "duplicate", "duplicate", "duplicate")
}

// A key is remembered for the window, to the millisecond, from when it was
// settled.
func TestTheWindowIsExact(t *testing.T) {
	const window = 10 * time.Minute
	for _, start := range []time.Duration{0, 3 * time.Minute, window - time.Millisecond, window, window + time.Millisecond, 25 * time.Minute} {
		for _, c := range []struct {
			after time.Duration
			want  string
		}{{window - time.Millisecond, "duplicate"}, {window, "ack"}, {window + time.Millisecond, "ack"}, {2 * window, "ack"}} {
			t.Run(fmt.Sprint(start, " ", c.after), func(t *testing.T) {
				b, _ := deduplicating(t, func(s *spec.Subscription) { s.Idempotency.Window = window })
				b.publish("in", body(1, "ack")) // the memory begins here
				b.advance(start)
				b.publish("in", body(7, "ack"))
				b.advance(c.after)
				b.publish("in", body(7, "ack"))
				b.want(0, "ack", "ack", c.want)
			})
		}
	}
}

// A duplicate does not prolong the memory, and a key that was forgotten and
// settled again is remembered anew.
func TestTheWindowBeginsWithTheSettlement(t *testing.T) {
	b, _ := deduplicating(t, nil)
	b.publish("in", body(7, "ack"))
	b.advance(40 * time.Minute)
	b.publish("in", body(7, "ack"))
	b.advance(20 * time.Minute)
	b.publish("in", body(7, "ack"))
	b.advance(59 * time.Minute)
	b.publish("in", body(7, "ack"))
	b.want(0, "ack", "duplicate", "ack", "duplicate")
}

// What has no key is invalid, whatever it lacks, and never shares one.
func TestWhatHasNoKeyIsInvalid(t *testing.T) {
	for _, c := range []struct {
		name string
		key  spec.Expr
		body string
		says string
	}{
		{"missing", by(spec.RootEntry, "n"), `{}`, "entry.n: expected a string or a number that tells the entry from all others, found nothing"},
		{"null", by(spec.RootEntry, "n"), `{"n":null}`, "found nothing"},
		{"empty", by(spec.RootEntry, "n"), `{"n":""}`, "entry.n: expected a string or a number that tells the entry from all others, found an empty string"},
		{"bool", by(spec.RootEntry, "n"), `{"n":true}`, "entry.n: expected a string or a number, found a bool"},
		{"list", by(spec.RootEntry, "n"), `{"n":[1]}`, "found a list"},
		{"header", by(spec.RootHeaders, "idempotency-key"), `{"n":1}`, `headers["idempotency-key"]: expected`},
		{
			"part of a template", &spec.Template{Parts: []spec.Expr{by(spec.RootEntry, "tenant"), &spec.Literal{JSON: `"-"`}, by(spec.RootEntry, "n")}},
			`{"tenant":"acme"}`, "entry.n: expected",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, ran := deduplicating(t, func(s *spec.Subscription) { s.Idempotency.Key = c.key })
			b.publish("in", c.body, c.body)
			b.want(0, "invalid", "invalid")
			letters := b.Entries("dead")
			if *ran != 0 || len(letters) != 2 || letters[0].Letter.Reason != "invalid" {
				t.Fatalf("ran %d times, letters %+v", *ran, letters)
			}
			if got := letters[0].Letter.Error; !strings.HasPrefix(got, "idempotency: key: ") || !strings.Contains(got, c.says) {
				t.Errorf("the letter says %q", got)
			}
		})
	}
}

// An entry that was trimmed while it ran has its outcome published without a
// fence; its key is marked with it and keeps its copies from doing the same.
func TestATrimmedEntryMarksItsKey(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprint("answer lost ", lost), func(t *testing.T) {
			b, _ := deduplicating(t, nil)
			b.arm(harness.Fault{Kind: harness.Slow, Nth: 1, For: 20 * time.Second})
			ids := b.publish("in", body(7, "reply"))
			b.Server().DeleteEntries("in", ids...)
			if lost {
				b.arm(harness.Fault{Kind: harness.LostReply, At: harness.AtSettle})
			}
			b.advance(50 * time.Second)
			b.publish("in", body(7, "reply"))
			b.want(1, "reply", "duplicate")
		})
	}
}

// A reply that cannot be written beside a mark is a failed attempt that says so.
func TestAReplyThatIsTooWideIsAFailedAttempt(t *testing.T) {
	wide := "{"
	for i := range broker.MaxMarkedFields + 1 {
		wide += fmt.Sprintf(`"f%d":1,`, i)
	}
	wide = strings.TrimSuffix(wide, ",") + "}"
	b := one(t, func(context.Context, *sandbox.Delivery) outcome.Outcome { return replyWith(wide) }, func(s *spec.Subscription) {
		once(s)
		s.Reply.To.Codec = spec.CodecFields
		s.OnFailure = spec.PolicyDead
	})
	b.publish("in", body(7, ""))
	calls := b.Calls("s")
	if len(calls) != 1 || calls[0].Outcome != "failed" || !strings.Contains(calls[0].Error, "at most 2450") {
		t.Fatalf("%+v", calls)
	}
}

// While the server cannot be asked, nothing runs and nothing burns an attempt; a
// drain meanwhile hands everything back.
func TestNothingRunsUnasked(t *testing.T) {
	for _, drain := range []bool{false, true} {
		t.Run(fmt.Sprint("drain ", drain), func(t *testing.T) {
			b, ran := deduplicating(t, nil)
			b.publish("in", body(7, "ack"))
			away := true
			b.Server().SetFault(faultOn("look up marks of", &away))
			b.publish("in", body(7, "ack"), body(8, "ack"))
			b.advance(20 * time.Second)
			if *ran != 1 || len(b.Pending("g")) != 2 {
				t.Fatalf("ran %d times, pending %+v", *ran, b.Pending("g"))
			}
			if drain {
				if err := b.Workers()[0].Stop(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, p := range b.Pending("g") {
					if p.Deliveries != 0 || p.Idle < time.Minute {
						t.Errorf("handed back as %+v", p)
					}
				}
			}
			away = false
			if drain {
				b.start()
			}
			b.advance(31 * time.Second)
			got := b.outcomes("s")
			if !equalSorted(got, []string{"ack", "ack", "duplicate"}) || len(b.Pending("g")) != 0 {
				t.Errorf("outcomes %v, pending %+v", got, b.Pending("g"))
			}
			for _, c := range b.Calls("s") {
				if c.Attempt != 1 {
					t.Errorf("%+v", c)
				}
			}
		})
	}
}

// faultOn makes the server away for one operation while on.
func faultOn(op string, on *bool) func(memory.Call) memory.Effect {
	return func(c memory.Call) memory.Effect {
		if *on && c.Op == op {
			return memory.Effect{Err: broker.ErrUnavailable, Skip: true}
		}
		return memory.Effect{}
	}
}
