package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/codec"
	"pipeline/engine/harness"
	"pipeline/tests/redistest"
)

// What on_invalid and on_failure do, each value, in each way of claiming.
func TestEveryPolicy(t *testing.T) {
	const script = `function handle() error("boom") end`
	for _, c := range []struct {
		name, policy string
		// entry is what is added; calls what it comes to within a minute.
		entry []string
		calls []string
		// reason is that of the letter, empty for none; pending how many entries stay,
		// and ended whether the subscription does.
		reason  string
		pending int
		ended   bool
	}{
		{"invalid by default", "", invalidEntry, []string{"invalid#1/0"}, codec.ReasonInvalid, 0, false},
		{"invalid and dead", `on_invalid = "dead"`, invalidEntry, []string{"invalid#1/0"}, codec.ReasonInvalid, 0, false},
		{"invalid and dropped", `on_invalid = "drop"`, invalidEntry, []string{"invalid#1/0"}, "", 0, false},
		{"invalid and retried", `on_invalid = "retry"`, invalidEntry, []string{"invalid#1/0", "invalid#2/1", "invalid#3/2"}, codec.ReasonInvalid, 0, false},
		{"invalid and stopped", `on_invalid = "stop"`, invalidEntry, []string{"invalid#1/0"}, "", 1, true},
		{"too large by default", "", tooLarge, []string{"invalid#1/0"}, codec.ReasonTooLarge, 0, false},
		{"too large and dropped", `on_invalid = "drop"`, tooLarge, []string{"invalid#1/0"}, "", 0, false},
		{"failed by default", "", validEntry, []string{"failed#1/0", "failed#2/1", "failed#3/2"}, codec.ReasonFailed, 0, false},
		{"failed and retried", `on_failure = "retry"`, validEntry, []string{"failed#1/0", "failed#2/1", "failed#3/2"}, codec.ReasonFailed, 0, false},
		{"failed and dead", `on_failure = "dead"`, validEntry, []string{"failed#1/0"}, codec.ReasonFailed, 0, false},
		{"failed and stopped", `on_failure = "stop"`, validEntry, []string{"failed#1/0"}, "", 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
				w := stop(t, s, parts{
					stream: "entry = object({ n = number })\n  max_entry_size = \"1KiB\"", retry: quick,
					subscription: c.policy + "\n" + way.claim, script: script,
				}, nil)
				w.work("a")
				w.add(c.entry...)
				w.advance(20 * time.Second)
				if got := w.calls(); !slices.Equal(got, c.calls) {
					t.Errorf("came to %q, want %q", got, c.calls)
				}
				reason := ""
				for _, l := range w.Entries("dead") {
					reason += l.Letter.Reason
				}
				if reason != c.reason || len(w.Pending("g")) != c.pending {
					t.Errorf("letters %q, want %q; %d pending, want %d", reason, c.reason, len(w.Pending("g")), c.pending)
				}
				if n := w.told("subscription.failed"); (n == 1) != c.ended {
					t.Errorf("told %d times that the subscription ended", n)
				}
			})
		})
	}
}

var (
	validEntry   = []string{"n", "1"}
	invalidEntry = []string{"_payload", `{"n":`, "n", "1"}
	tooLarge     = []string{"_payload", `{"n":1,"x":"` + strings.Repeat("x", 1024) + `"}`}
)

// One bad entry among good ones: they are processed, whatever is wrong with it.
func TestTheRestOfTheStreamGoesOnBesideABadEntry(t *testing.T) {
	for name, bad := range map[string][]string{
		"undecodable": invalidEntry, "too large": tooLarge, "lacking a field": {"m", "1"}, "garbage": {"\x00\xff", "\x00\xff"},
		"failing": {"n", "-1"}, "looping": {"n", "-2"}, "eating memory": {"n", "-3"},
	} {
		t.Run(name, func(t *testing.T) {
			onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
				w := stop(t, s, parts{
					stream: "entry = object({ n = number })\n  max_entry_size = \"1KiB\"", retry: quick, subscription: way.claim + "\n" + toOut,
					script: `function handle(e)
  if e.n == -1 then error("boom") end
  if e.n == -2 then while true do end end
  if e.n == -3 then local t = {} for i = 1, 1e9 do t[i] = ("x"):rep(1000) .. i end end
  return { n = e.n }
end`,
				}, nil)
				w.work("a")
				w.add(bad...)
				for i := range 10 {
					w.add("n", fmt.Sprint(i))
				}
				if n := len(w.Entries("out")); n != 10 {
					t.Fatalf("%d of 10 good ones were processed beside it", n)
				}
				w.advance(20 * time.Second)
				if n := len(w.Entries("dead")); n != 1 || w.told("subscription.failed") != 0 {
					t.Errorf("%d letters", n)
				}
			})
		})
	}
}

// A letter is the entry byte for byte, and after it why, from where and when.
func TestALetterIsTheEntryByteForByteWithAllThatIsKnownOfIt(t *testing.T) {
	const script = `function handle(e, ctx)
  if e == "asked" and ctx.deliveries == 0 then return retry{ after = "3s" } end
  if e == "asked" then return dead("stolen\ncard") end
  error("boom at " .. ctx.attempt)
end`
	odd := []string{"a", "1", "a", "2", "", "", oddFields, oddFields, "h:x", "", "h:x", "y", "h:dead-letter-reason", "before"}
	for _, c := range []struct {
		name, body, reason, words string
		attempts                  int
		first                     time.Duration // before the last delivery
	}{
		{"failed", "\x00\xff{", codec.ReasonFailed, "boom at 3", 3, 8 * time.Second},
		{"rejected", "asked", codec.ReasonRejected, "stolen card", 1, 3 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
				w := stop(t, s, parts{stream: `codec = "bytes"`, retry: quick, subscription: way.claim, script: script}, nil)
				worker := w.work("a")
				entry := append([]string{"_payload", c.body}, odd...)
				id := w.add(entry...)
				w.advance(20 * time.Second)
				letters := w.Entries("dead")
				if len(letters) != 1 {
					t.Fatalf("%d letters", len(letters))
				}
				own, ours := letters[0].Fields[:len(entry)/2], letters[0].Fields[len(entry)/2:]
				if !slices.Equal(own, pairs(entry...)) {
					t.Errorf("the entry came as %q", own)
				}
				calls := w.Calls("s")
				last := calls[len(calls)-1].Time
				want := pairs("reason", c.reason, "error", "", "stream", "in", "id", id.String(), "group", "g", "subscription", "s",
					"consumer", worker.Consumer("s"), "attempts", fmt.Sprint(c.attempts), "first-delivery", "", "last-delivery", "", "pipeline-version", "1.2.3")
				if len(ours) != len(want) {
					t.Fatalf("headers %q", text(ours))
				}
				for i, f := range ours {
					name, value := "h:dead-letter-"+want[i].Name, want[i].Value
					switch want[i].Name {
					case "error":
						if !strings.Contains(f.Value, c.words) || strings.Contains(f.Value, "\n") {
							t.Errorf("the error is %q", f.Value)
						}
						value = f.Value
					case "first-delivery", "last-delivery":
						at, err := time.Parse(time.RFC3339Nano, f.Value)
						when := last
						if want[i].Name == "first-delivery" {
							when = last.Add(-c.first)
						}
						if d := at.Sub(when); err != nil || d < -block || d > block {
							t.Errorf("%s is %s, want %v", f.Name, f.Value, when)
						}
						value = f.Value
					}
					if f.Name != name || f.Value != value {
						t.Errorf("header %d is %s=%s, want %s=%s", i, f.Name, f.Value, name, value)
					}
				}
			})
		})
	}
}

// The first delivery is left out where it came to no outcome.
func TestALetterDoesNotInventTheFirstDelivery(t *testing.T) {
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{retry: quick, subscription: way.claim, script: `function handle() return dead("no") end`}, nil)
		w.work("a")
		w.arm(harness.Fault{Kind: harness.Crash, At: harness.AfterRun})
		w.add("n", "1")
		w.work("b")
		w.advance(minIdle + 2*block)
		letters := w.Entries("dead")
		if len(letters) != 1 || !letters[0].Letter.FirstDelivery.IsZero() || letters[0].Letter.LastDelivery.IsZero() {
			t.Errorf("letters %+v", letters)
		}
	})
}

// An entry that is older than max_age when an attempt fails is not tried again.
func TestAnEntryThatIsTooOldExpires(t *testing.T) {
	const aged = `retry "r" {
  max_attempts = 10
  delay        = "10s"
  multiplier   = 1
  jitter       = 0
  max_age      = "25s"
}`
	onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{retry: aged, subscription: way.claim, script: `function handle() error("boom") end`}, nil)
		w.work("a")
		w.add("n", "1")
		w.advance(2 * time.Minute)
		if got, want := w.calls(), []string{"failed#1/0", "failed#2/1", "failed#3/2", "failed#4/3"}; !slices.Equal(got, want) {
			t.Errorf("came to %q, want %q", got, want)
		}
		letters := w.Entries("dead")
		if len(letters) != 1 || letters[0].Letter.Reason != codec.ReasonExpired || !strings.Contains(letters[0].Letter.Error, "boom") {
			t.Errorf("letters %+v", letters)
		}
	})
}

// A forgotten return is a failed attempt that says what to return.
func TestAForgottenReturnSaysWhatToReturn(t *testing.T) {
	onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{retry: quick, subscription: way.claim, script: `function handle() end`}, nil)
		w.work("a")
		w.add("n", "1")
		w.advance(20 * time.Second)
		letters := w.Entries("dead")
		if len(letters) != 1 || letters[0].Letter.Attempts != 3 {
			t.Fatalf("letters %+v", letters)
		}
		for _, words := range []string{"ack()", "retry()", "dead(", "drop(", "value"} {
			if !strings.Contains(letters[0].Letter.Error, words) {
				t.Errorf("%q does not say %q", letters[0].Letter.Error, words)
			}
		}
	})
}
