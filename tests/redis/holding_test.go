package redis_test

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// lasting is a handler that takes d of the stopped time and replies.
func lasting(d time.Duration) harness.Func {
	return func(ctx context.Context, v *sandbox.Delivery) outcome.Outcome {
		if harness.Sleep(ctx, d) != nil {
			return outcome.Fail(outcome.FailCanceled, "called off")
		}
		return replyOf(v)
	}
}

func replyOf(v *sandbox.Delivery) outcome.Outcome {
	body := value.NewObject([]value.Value{value.NewString(v.ID).Named("id")})
	return outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: body}}}
}

// claimsAndReplies is a subscription that claims by its way and replies.
func (w way) claimsAndReplies(more ...string) string {
	return strings.Join(append([]string{w.claim, toOut}, more...), "\n")
}

// Reply and acknowledgement are one step: a process that dies before it leaves
// neither, one that dies after it leaves both.
func TestAReplyAndItsAcknowledgementAreOneStep(t *testing.T) {
	for at, replies := range map[harness.Point]int{harness.AfterRun: 0, harness.BeforeAck: 0, harness.AfterAck: 1} {
		t.Run(string(at), func(t *testing.T) {
			onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
				w := stop(t, s, parts{subscription: way.claimsAndReplies()}, harness.Func(func(_ context.Context, v *sandbox.Delivery) outcome.Outcome { return replyOf(v) }))
				w.work("a")
				w.arm(harness.Fault{Kind: harness.Crash, At: at})
				w.add("n", "1")
				if got := len(w.Entries("out")); got != replies || len(w.Pending("g")) != 1-replies {
					t.Errorf("%d replies and %d pending after the crash, want %d and %d", got, len(w.Pending("g")), replies, 1-replies)
				}
				w.advance(10 * time.Second)
				w.work("a")
				w.advance(minIdle + 2*block)
				if got := len(w.Entries("out")); got != 1 || len(w.Pending("g")) != 0 {
					t.Errorf("%d replies and %d pending in the end", got, len(w.Pending("g")))
				}
			})
		})
	}
}

// Of two workers that processed the same entry one publishes: the first one stood
// still, was taken for dead, and goes on.
func TestOfTwoWorkersThatProcessedAnEntryOnePublishes(t *testing.T) {
	for _, at := range []harness.Point{harness.BeforeRun, harness.AfterRun, harness.BeforeAck, harness.AfterAck} {
		t.Run(string(at), func(t *testing.T) {
			onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
				w := stop(t, s, parts{subscription: way.claimsAndReplies()}, lasting(0))
				stalled := w.work("a")
				w.arm(harness.Fault{Kind: harness.Stall, At: at, For: minIdle + 10*time.Second})
				w.add("n", "1")
				w.work("b")
				if !stalled.Stalled() {
					t.Fatal("the worker does not stand still")
				}
				w.advance(minIdle + 2*block)
				if got := len(w.Entries("out")); got != 1 {
					t.Errorf("%d replies after min_idle", got)
				}
				w.advance(time.Minute)
				if got := len(w.Entries("out")); got != 1 || stalled.Stalled() || len(w.Pending("g")) != 0 {
					t.Errorf("%d replies in the end, stalled %v, pending %v", got, stalled.Stalled(), w.Pending("g"))
				}
			})
		})
	}
}

// What a stopped worker held comes back after min_idle: not earlier, and at most a
// block later.
func TestMinIdleBoundsHowLongAStoppedWorkerDelaysItsEntries(t *testing.T) {
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claimsAndReplies()}, lasting(0))
		w.work("a")
		w.arm(harness.Fault{Kind: harness.Crash, At: harness.BeforeRun})
		w.add("n", "1")
		w.work("b")
		w.advance(minIdle - 100*time.Millisecond)
		if got := len(w.Entries("out")); got != 0 {
			t.Fatal("it was taken over before min_idle")
		}
		w.advance(100*time.Millisecond + block)
		if got := len(w.Entries("out")); got != 1 {
			t.Errorf("%d replies %v after min_idle", got, block)
		}
	})
}

// A worker that reaches the server again in time is robbed of nothing: it stood
// still, or the server was away, for less than the lease of its name.
func TestAWorkerThatStandsStillForAMomentIsNotRobbed(t *testing.T) {
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claimsAndReplies("workers {\n      count = 2\n    }")}, lasting(2*time.Minute))
		first, second := w.work("a"), w.work("b")
		for range 8 {
			w.add("n", "1")
		}
		for _, worker := range []*harness.Worker{first, second, first} {
			if err := worker.Stall(t.Context(), 5*time.Second); err != nil {
				t.Fatal(err)
			}
			w.advance(20 * time.Second)
			w.arm(harness.Fault{Kind: harness.ServerDown, For: 5 * time.Second})
			w.advance(20 * time.Second)
		}
		w.advance(10 * time.Minute)
		w.ranOnce(8)
	})
}

// One that stood still for longer than that, but shorter than min_idle, while
// another process took its slot, has lost its name, and finishes under it what it
// runs.
func TestAWorkerThatLostItsNameFinishesWhatItRuns(t *testing.T) {
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claimsAndReplies()}, lasting(time.Minute))
		first := w.work("a")
		w.add("n", "1")
		name := first.Consumer("s")
		if err := first.Stall(t.Context(), 15*time.Second); err != nil {
			t.Fatal(err)
		}
		w.advance(12 * time.Second)
		w.work("a")
		w.advance(5 * time.Minute)
		w.ranOnce(1)
		if w.told("slot.lost") != 1 || first.Consumer("s") == name {
			t.Errorf("told %d times that the name is lost; it was %s and is %s", w.told("slot.lost"), name, first.Consumer("s"))
		}
	})
}

// A newcomer that claims with a smaller min_idle waits until all others renew by
// it: it takes nothing from those who work by a larger one.
func TestANewcomerWithASmallerMinIdleRobsNobody(t *testing.T) {
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		p := parts{subscription: way.claimsAndReplies("workers {\n      count = 2\n    }")}
		w := stop(t, s, p, lasting(time.Minute))
		w.work("a")
		for range 6 {
			w.add("n", "1")
		}
		w.advance(4 * time.Second)
		fresh := load(t, write(t, [2]string{"one.hcl", strings.Replace(p.file(), `"30s"`, `"3s"`, 1)}, [2]string{"h.lua", "function handle() end"}), nil)
		if _, err := w.StartVersion(t.Context(), "b", fresh); err != nil {
			t.Fatal(err)
		}
		w.advance(5 * time.Minute)
		w.ranOnce(6)
	})
}

// After an interruption everyone renews first, and claims again only when all have
// had the time to: nobody is robbed by one who is back sooner.
func TestAfterAnInterruptionNobodyRobsTheOthers(t *testing.T) {
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claimsAndReplies("workers {\n      count = 2\n    }")}, lasting(2*time.Minute))
		for _, machine := range []string{"a", "b", "c"} {
			w.work(machine)
		}
		for range 6 {
			w.add("n", "1")
		}
		w.advance(time.Second)
		w.arm(harness.Fault{Kind: harness.ServerDown, For: minIdle + 5*time.Second})
		w.advance(15 * time.Minute)
		w.ranOnce(6)
	})
}

// A process that starts where an outage ends has seen none, and waits all the same.
func TestAProcessThatStartsWhereAnOutageEndsRobsNobody(t *testing.T) {
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claimsAndReplies("workers {\n      count = 2\n    }")}, lasting(2*time.Minute))
		for _, machine := range []string{"a", "b"} {
			w.work(machine)
		}
		for range 4 {
			w.add("n", "1")
		}
		w.advance(time.Second)
		away := minIdle + 5*time.Second
		w.arm(harness.Fault{Kind: harness.ServerDown, For: away})
		w.advance(away + 10*time.Millisecond)
		w.work("c")
		w.advance(15 * time.Minute)
		w.ranOnce(4)
	})
}

// ranOnce asserts that so many entries ran, each once, with one reply each and
// nothing left.
func (w *stopped) ranOnce(n int) {
	w.t.Helper()
	ran := map[broker.ID]int{}
	for _, c := range w.Calls("s") {
		if ran[c.ID]++; ran[c.ID] > 1 || c.Outcome != "reply" || c.Deliveries != 0 {
			w.t.Errorf("%v ran %d times: %s, %d deliveries", c.ID, ran[c.ID], c.Outcome, c.Deliveries)
		}
	}
	if got := len(w.Entries("out")); got != n || len(ran) != n || len(w.Pending("g")) != 0 || w.told("lease.lost") != 0 {
		w.t.Errorf("%d replies of %d entries, want %d; %d leases lost, pending %v", got, len(ran), n, w.told("lease.lost"), w.Pending("g"))
	}
}

// An entry that is taken from a living worker, by whatever claims it: its handler
// is called off and nothing of it is published.
func TestALostLeaseCallsTheHandlerOffAndPublishesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		g := newGate()
		v := replier(t, s, "host-a", "600ms", g)
		v.ready()
		id := s.CLI("XADD", "in", "*", "n", "0")
		<-g.entered
		s.CLI("XCLAIM", "in", "g", "robber", "0", id, "JUSTID")
		v.record.wait(t, "the loss is told", func() bool { return countEvents(v, "lease.lost") == 1 })
		eventually(t, "the handler is called off", func() bool { return g.canceled.Load() == 1 })
		stolen := s.CLI("XPENDING", "in", "g", "-", "+", "10")
		if !strings.Contains(stolen, "robber") {
			t.Errorf("pending %q: a renewal must not take it back", stolen)
		}
		s.CLI("XACK", "in", "g", id)
		if err := v.drain(); err != nil {
			t.Error(err)
		}
		if n := s.Client().XLen(t.Context(), "out").Val(); n != 0 {
			t.Errorf("%d replies of what was lost", n)
		}
	})
}

// What is trimmed while it runs is published once, without a fence; if it was to be
// tried again it is a letter that says so.
func TestWhatIsTrimmedWhileItRunsIsPublishedOnce(t *testing.T) {
	for name, fails := range map[string]bool{"a reply": false, "a failed attempt": true} {
		t.Run(name, func(t *testing.T) {
			onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
				w := stop(t, s, parts{retry: quick, subscription: way.claimsAndReplies()}, harness.Func(func(ctx context.Context, v *sandbox.Delivery) outcome.Outcome {
					if harness.Sleep(ctx, minIdle) != nil {
						return outcome.Fail(outcome.FailCanceled, "called off")
					}
					if fails {
						return outcome.Fail(outcome.FailError, "boom")
					}
					return replyOf(v)
				}))
				w.work("a")
				w.work("b")
				id := w.add("n", "1")
				w.advance(time.Second)
				w.do("XTRIM", w.keys.Key("in"), "MAXLEN", 0)
				w.advance(minIdle + time.Minute)
				replies, letters := w.Entries("out"), w.Entries("dead")
				if !fails && (len(replies) != 1 || len(letters) != 0) || fails && (len(replies) != 0 || len(letters) != 1) {
					t.Fatalf("%d replies, %d letters", len(replies), len(letters))
				}
				if fails && (letters[0].Letter.Reason != codec.ReasonBodyMissing || letters[0].Letter.ID != id.String() || !strings.Contains(letters[0].Letter.Error, "boom") || letters[0].Fields[0].Name != "n") {
					t.Errorf("letter %+v", letters[0])
				}
				if len(w.Calls("s")) != 1 || len(w.Pending("g")) != 0 || w.told("entry.body_missing") == 0 {
					t.Errorf("calls %q, pending %v, told %d", w.calls(), w.Pending("g"), w.told("entry.body_missing"))
				}
			})
		})
	}
}

// What is given back to the worker that runs it does not run twice, and is not
// counted.
func TestAWorkerThatIsGivenWhatItRunsDoesNotRunItTwice(t *testing.T) {
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claimsAndReplies("workers {\n      count = 2\n    }")}, lasting(30*time.Second))
		w.work("a")
		id := w.add("n", "1")
		for range 5 {
			w.advance(2 * time.Second)
			w.do("XCLAIM", w.keys.Key("in"), "g", w.Pending("g")[0].Consumer, 0, id.String(), "IDLE", 3600_000, "JUSTID")
			w.advance(2 * time.Second)
			if p := w.Pending("g"); p[0].Deliveries != 1 || p[0].Idle > minIdle {
				t.Fatalf("pending %+v: what is held was given back and counted", p)
			}
		}
		w.advance(minIdle)
		if got := w.calls(); !slices.Equal(got, []string{"reply#1/0"}) || len(w.Entries("out")) != 1 {
			t.Errorf("came to %q", got)
		}
	})
}

// One key, one order, in one consumer; keys run beside each other.
func TestEntriesOfOneKeyRunInTheirOrderAndKeysBesideEachOther(t *testing.T) {
	onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
		var order []string
		running, most := map[string]int{}, 0
		w := stop(t, s, parts{subscription: way.claim + "\nworkers {\n      count = 4\n      key   = entry.k\n    }"}, harness.Func(func(ctx context.Context, v *sandbox.Delivery) outcome.Outcome {
			if running[v.Key]++; running[v.Key] > 1 {
				t.Errorf("two of key %s run at once", v.Key)
			}
			most = max(most, len(running))
			took := time.Duration(len(order)%3+1) * time.Second
			if harness.Sleep(ctx, took) != nil {
				return outcome.Fail(outcome.FailCanceled, "called off")
			}
			delete(running, v.Key)
			order = append(order, v.Key+" "+v.ID)
			return outcome.Outcome{Kind: outcome.Ack}
		}))
		for i := range 60 {
			w.add("k", fmt.Sprint(i%6))
		}
		w.work("a")
		w.advance(5 * time.Minute)
		if len(order) != 60 || most < 2 {
			t.Fatalf("%d ran, at most %d keys at once", len(order), most)
		}
		last := map[string]broker.ID{}
		for _, o := range order {
			key, id, _ := strings.Cut(o, " ")
			at, err := broker.ParseID(id)
			if err != nil || !last[key].Less(at) {
				t.Errorf("of key %s %s ran after %v", key, id, last[key])
			}
			last[key] = at
		}
	})
}

// A consumer is <subscription>-<host>-<slot>.<token>: the slot its own among all of
// the host, the token new at each start; a name of one's own gets the same.
func TestHowConsumersAreCalled(t *testing.T) {
	for name, c := range map[string]struct{ subscription, base string }{
		"by the subscription": {"", "s"}, "by a name of one's own": {`consumer = "mine"`, "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *redistest.Server) {
				p := parts{subscription: c.subscription + "\nclaim {\n min_idle = \"30s\"\n}"}
				path := write(t, [2]string{"one.hcl", p.file()}, [2]string{"h.lua", "function handle() return ack() end"})
				form := regexp.MustCompile(`^` + c.base + `-host-a-(\d+)\.([0-9A-Za-z]{8,})$`)
				tokens := map[string]bool{}
				var all []*service
				for range 3 {
					v := start(t, s, load(t, path, nil), "host-a")
					v.ready()
					all = append(all, v)
				}
				// The second one goes and comes again: it has its slot, and another token.
				if err := all[1].drain(); err != nil {
					t.Fatal(err)
				}
				all[1] = start(t, s, load(t, path, nil), "host-a")
				all[1].ready()
				var slots []string
				for _, v := range all {
					parts := form.FindStringSubmatch(v.engine.Snapshot().Subscriptions[0].Consumer)
					if parts == nil {
						t.Fatalf("a consumer is called %q", v.engine.Snapshot().Subscriptions[0].Consumer)
					}
					slots = append(slots, parts[1])
					tokens[parts[2]] = true
				}
				if !slices.Equal(slots, []string{"0", "1", "2"}) || len(tokens) != 3 {
					t.Errorf("slots %q, tokens %v", slots, tokens)
				}
				for i := range 3 {
					key := fmt.Sprintf("{in}:pipeline:g:slot:%s-host-a-%d", c.base, i)
					if ttl := s.Client().PTTL(t.Context(), key).Val(); ttl <= 0 || ttl > 9*time.Second {
						t.Errorf("the lease %s lives for %v, want 3 times block + 2s", key, ttl)
					}
				}
			})
		})
	}
}
