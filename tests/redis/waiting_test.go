package redis_test

import (
	"slices"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/tests/redistest"
)

// block is the default of a subscription.
const block = time.Second

const bareRetry = `function handle(e, ctx)
  if ctx.deliveries < 2 then return retry() end
  return ack()
end`

// A bare retry where somebody claims: the same entry, back after min_idle, one
// delivery on, and no attempt spent.
func TestABareRetryComesBackUnderItsIDAfterMinIdle(t *testing.T) {
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claim, script: bareRetry}, nil)
		w.work("a")
		id := w.add("n", "1")
		w.advance(2*minIdle + 2*block)
		if got, want := w.calls(), []string{"retry#1/0", "retry#1/1", "ack#1/2"}; !slices.Equal(got, want) {
			t.Fatalf("came to %q, want %q", got, want)
		}
		w.after(1, minIdle, block)
		w.after(2, minIdle, block)
		for _, c := range w.Calls("s") {
			if c.ID != id {
				t.Errorf("it came back as %v, was %v", c.ID, id)
			}
		}
		if n := len(w.Entries("in")); n != 1 || len(w.Pending("g")) != 0 {
			t.Errorf("%d entries, want one: no copy; pending %v", n, w.Pending("g"))
		}
	})
}

const oddFields = "\x00\xff\r\n"

// A bare retry where nobody claims: a copy with the fields as they are, and the
// original acknowledged.
func TestABareRetryWithoutAClaimAppendsACopyByteForByte(t *testing.T) {
	onWays(t, []way{noClaim}, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{stream: `codec = "bytes"`, retry: quick, script: `function handle(e, ctx)
  if ctx.attempt < 3 then return retry() end
  return ack()
end`}, nil)
		w.work("a")
		own := []string{"_payload", oddFields, "a", "1", "a", "2", "", "", oddFields, oddFields, "h:x", "", "h:x", "y", "h:x-retry-count", "7"}
		w.add(own...)
		w.advance(time.Minute)
		if got, want := w.calls(), []string{"retry#1/0", "retry#2/0", "ack#3/0"}; !slices.Equal(got, want) {
			t.Fatalf("came to %q, want %q", got, want)
		}
		w.after(1, 2*time.Second, block) // no sooner than after a failed attempt
		w.after(2, 6*time.Second, block)
		entries := w.Entries("in")
		if len(entries) != 3 || len(w.Pending("g")) != 0 {
			t.Fatalf("%d entries, pending %v; want the original and two copies, all acknowledged", len(entries), w.Pending("g"))
		}
		kept := pairs(own[:len(own)-2]...)
		for i, e := range entries[1:] {
			want := append(slices.Clone(kept), pairs("h:x-retry-count", string(rune('1'+i)), "h:x-retry-group", "g")...)
			if !slices.Equal(e.Fields, want) {
				t.Errorf("copy %d is %q, want %q", i+1, e.Fields, want)
			}
		}
	})
}

// pairs are fields of names and values in turn.
func pairs(all ...string) []broker.Field {
	var fields []broker.Field
	for i := 0; i < len(all); i += 2 {
		fields = append(fields, broker.Field{Name: all[i], Value: all[i+1]})
	}
	return fields
}

// askedFor asks for a retry after d once, and acknowledges then.
func askedFor(d string) string {
	return `function handle(e, ctx)
  if ctx.deliveries == 0 then return retry{ after = "` + d + `" } end
  return ack()
end`
}

var afters = map[string]time.Duration{"under a block": 400 * time.Millisecond, "under min_idle": 20 * time.Second, "over min_idle": 50 * time.Second}

// A retry that names a time waits in place and is run when it is due.
func TestARetryThatNamesATimeComesWhenItIsDue(t *testing.T) {
	for name, d := range afters {
		t.Run(name, func(t *testing.T) {
			onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
				w := stop(t, s, parts{subscription: way.claim, script: askedFor(d.String())}, nil)
				w.work("a")
				id := w.add("n", "1")
				w.advance(d + 2*block)
				calls := w.Calls("s")
				if len(calls) != 2 || calls[1].ID != id || calls[1].Attempt != 1 || calls[1].Outcome != "ack" {
					t.Fatalf("came to %+v", calls)
				}
				late := block // where a claiming read brings it
				if way.name == noClaim.name || d < block {
					late = 0 // this consumer takes it itself
				}
				w.after(1, d, late)
				if n := len(w.Entries("in")); n != 1 {
					t.Errorf("%d entries, want one: no copy", n)
				}
			})
		})
	}
}

// It is so, too, where the process that was told of the time is killed: what is
// left is taken over, and run when it is due, not earlier.
func TestARetryThatNamesATimeKeepsItWhereItsProcessIsKilled(t *testing.T) {
	for name, d := range afters {
		t.Run(name, func(t *testing.T) {
			onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
				w := stop(t, s, parts{subscription: way.claim, script: askedFor(d.String())}, nil)
				first := w.work("a")
				w.add("n", "1")
				if err := first.Kill(t.Context()); err != nil {
					t.Fatal(err)
				}
				w.advance(0)
				start := w.Now()
				if way.name == noClaim.name {
					w.advance(10 * time.Second) // the lease of the name runs out
				}
				w.work("a")
				w.advance(d + minIdle + 2*block)
				calls := w.Calls("s")
				if len(calls) != 2 || calls[1].Attempt != 1 || calls[1].Outcome != "ack" {
					t.Fatalf("came to %+v", calls)
				}
				due := start.Add(d)
				latest := due.Add(block)
				if way.name == noClaim.name && due.Before(start.Add(10*time.Second)) {
					latest = start.Add(10*time.Second + block)
				}
				if at := calls[1].Time; at.Before(due) || at.After(latest) {
					t.Errorf("it ran %v after it was due", at.Sub(due))
				}
			})
		})
	}
}

// Whoever is given an entry before its time puts it back, uncounted.
func TestAnEntryThatIsGivenOutBeforeItsTimeIsPutBackUncounted(t *testing.T) {
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claim, script: askedFor("25s")}, nil)
		w.work("a")
		id := w.add("n", "1")
		for range 5 { // another client makes it look idle for long
			w.advance(2 * time.Second)
			consumer := w.Pending("g")[0].Consumer
			w.do("XCLAIM", w.keys.Key("in"), "g", consumer, 0, id.String(), "IDLE", 3600_000, "JUSTID")
			w.advance(2 * time.Second)
		}
		if got := w.calls(); len(got) != 1 {
			t.Fatalf("it ran before its time: %q", got)
		}
		w.advance(20 * time.Second)
		if got, want := w.calls(), []string{"retry#1/0", "ack#1/1"}; !slices.Equal(got, want) {
			t.Errorf("came to %q, want %q", got, want)
		}
		w.after(1, 25*time.Second, block)
	})
}

// Failed attempts are spaced by the policy and end in a dead letter.
func TestFailedAttemptsAreSpacedByThePolicyAndEndInALetter(t *testing.T) {
	onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{retry: quick, subscription: way.claim, script: `function handle() error("boom") end`}, nil)
		w.work("a")
		w.add("n", "1")
		w.advance(time.Minute)
		if got, want := w.calls(), []string{"failed#1/0", "failed#2/1", "failed#3/2"}; !slices.Equal(got, want) {
			t.Fatalf("came to %q, want %q", got, want)
		}
		w.after(1, 2*time.Second, block)
		w.after(2, 6*time.Second, block)
		letters := w.Entries("dead")
		if len(letters) != 1 || letters[0].Letter == nil || letters[0].Letter.Attempts != 3 || len(w.Pending("g")) != 0 || len(w.Entries("in")) != 1 {
			t.Errorf("letters %+v, pending %v", letters, w.Pending("g"))
		}
	})
}

// Without a retry block: 5 attempts, 1s, times 4, at most 5m. Without a dead_letter
// block: a stream beside the source that nothing trims.
func TestTheDefaultPolicyAndTheDefaultLetters(t *testing.T) {
	onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claim, script: `function handle() error("boom") end`, defaultLetters: true}, nil)
		w.work("a")
		w.add("n", "1")
		w.advance(10 * time.Minute)
		if got := w.calls(); len(got) != 5 || got[4] != "failed#5/4" {
			t.Fatalf("came to %q", got)
		}
		for i, d := range []time.Duration{time.Second, 4 * time.Second, 16 * time.Second, 64 * time.Second} {
			w.after(i+1, d, block)
		}
		if letters := w.Entries("in.dead"); len(letters) != 1 || letters[0].Letter == nil {
			t.Errorf("letters %v", letters)
		}
	})
}

// Asked retries are waiting, not failing, however many.
func TestAskedRetriesCostNoAttempt(t *testing.T) {
	onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{retry: quick, subscription: way.claim, script: `function handle(e, ctx)
  if ctx.deliveries < 20 then return retry{ after = "1s" } end
  error("boom")
end`}, nil)
		w.work("a")
		w.add("n", "1")
		w.advance(2 * time.Minute)
		got := w.calls()
		if len(got) != 23 || got[19] != "retry#1/19" || !slices.Equal(got[20:], []string{"failed#1/20", "failed#2/21", "failed#3/22"}) {
			t.Errorf("came to %q", got)
		}
		if n := len(w.Entries("dead")); n != 1 {
			t.Errorf("%d letters", n)
		}
	})
}

// A record that is lost: the entry counts as never failed and due at once, runs
// again, and is neither lost nor a dead letter for it.
func TestWithoutItsRecordAnEntryRunsOnceMore(t *testing.T) {
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{retry: quick, subscription: way.claim, script: `function handle() error("boom") end`}, nil)
		first := w.work("a")
		w.arm(harness.Fault{Kind: harness.Crash, At: harness.AfterRun, Nth: 3})
		w.add("n", "1")
		w.advance(20 * time.Second)
		if first.Alive() || len(w.Calls("s")) != 3 {
			t.Fatalf("three attempts: %q", w.calls())
		}
		// Its last attempt was on record; without that it is one of many deliveries.
		for _, key := range w.server.Client().Keys(t.Context(), "*:records").Val() {
			w.do("DEL", key)
		}
		w.work("b")
		w.advance(minIdle + 2*block)
		calls := w.Calls("s")
		if len(calls) < 4 || !calls[3].Ran {
			t.Fatalf("it did not run again: %q", w.calls())
		}
		w.advance(5 * time.Minute)
		if n := len(w.Entries("dead")); n != 1 || len(w.Pending("g")) != 0 {
			t.Errorf("%d letters in the end, pending %v", n, w.Pending("g"))
		}
	})
}

// Where nobody claims, a process that was killed and is back before its lease has
// run out has another name: what waits under the old one is run all the same.
func TestWhatWaitsIsRunByAProcessThatIsBackAtOnce(t *testing.T) {
	onWays(t, []way{noClaim}, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{script: askedFor("5s")}, nil)
		first := w.work("a")
		w.add("n", "1")
		w.add("n", "2")
		if err := first.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		second := w.work("a")
		w.advance(2*time.Minute + block)
		if got, want := w.calls(), []string{"retry#1/0", "retry#1/0", "ack#1/1", "ack#1/1"}; !slices.Equal(got, want) {
			t.Fatalf("came to %q, want %q; pending %v", got, want, w.Pending("g"))
		}
		if keys := w.server.Client().Keys(t.Context(), "*:slot:*").Val(); len(keys) != 1 || !second.Alive() {
			t.Errorf("leases %q, want that of the one process", keys)
		}
	})
}

// It does not touch what a living process of the same machine has waiting.
func TestWhatWaitsInALivingProcessIsItsOwn(t *testing.T) {
	onWays(t, []way{noClaim}, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{script: askedFor("10m")}, nil)
		first := w.work("a")
		w.add("n", "1")
		w.work("a")
		name := w.Pending("g")[0].Consumer
		w.advance(9 * time.Minute)
		if p := w.Pending("g"); len(p) != 1 || p[0].Consumer != name || first.Consumer("s") != name {
			t.Errorf("pending %+v, was under %s", p, name)
		}
		w.advance(time.Minute)
		if got, want := w.calls(), []string{"retry#1/0", "ack#1/1"}; !slices.Equal(got, want) {
			t.Errorf("came to %q, want %q", got, want)
		}
	})
}
