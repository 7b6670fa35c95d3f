package view_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/observe"
	"pipeline/engine/value"
)

// failures returns an observer of failures, its clock, and what it has written since it was asked last.
func failures() (*view.Failures, *clock.Virtual, func() []string) {
	var b bytes.Buffer
	log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	c := clock.NewVirtual(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC))
	return view.NewFailures(log, c, pipeline()), c, func() []string {
		text := strings.TrimSuffix(b.String(), "\n")
		b.Reset()
		if text == "" {
			return nil
		}
		return strings.Split(text, "\n")
	}
}

// The values of sensitive fields are masked; where they are not known, all that a handler said is, and not why an
// entry could not be read.
func TestWhatIsSensitiveIsNotLogged(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	p := pipeline()
	sub := p.Groups[0].Subscriptions[0]
	sub.Group.Stream.Sensitive = []string{"card"}
	f := view.NewFailures(slog.New(slog.NewTextHandler(&b, nil)), clock.NewVirtual(time.Unix(0, 0)), p)
	body, err := value.ParseJSON(`{"card":"4111-1111"}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		outcome observe.Outcome
		want    string
	}{
		{observe.Outcome{Result: observe.ResultFailed, Error: "card 4111-1111 is closed", Body: &body}, `error="card (masked) is closed"`},
		{observe.Outcome{Result: observe.ResultDead, Dead: true, Reason: "of 4111-1111", Body: &body}, `reason="of (masked)"`},
		{observe.Outcome{Result: observe.ResultFailed, Error: "card 4111-1111 is closed"}, `error=(masked)`},
		{observe.Outcome{Result: observe.ResultInvalid, Error: "the body is no JSON"}, `error="the body is no JSON"`},
	} {
		b.Reset()
		f.Settled(sub, []observe.Outcome{c.outcome})
		if !strings.Contains(b.String(), c.want) {
			t.Errorf("want %s in\n%s", c.want, b.String())
		}
	}
}

func TestWhatGoesWrongIsLogged(t *testing.T) {
	t.Parallel()
	sub := pipeline().Groups[0].Subscriptions[0]
	id := broker.ID{Ms: 5, Seq: 1}
	tests := map[string]struct {
		outcome observe.Outcome
		want    string
	}{
		"acknowledged": {observe.Outcome{ID: id, Result: observe.ResultAck, Attempt: 1}, ""},
		"asked to wait": {
			observe.Outcome{ID: id, Result: observe.ResultRetry, Attempt: 1, HasAfter: true, After: time.Second}, "",
		},
		"failed": {
			observe.Outcome{ID: id, Result: observe.ResultFailed, Attempt: 2, HasAfter: true, After: 1500 * time.Millisecond, Error: "a.lua:3: no"},
			`level=WARN msg="failed, again in 1.5s" event=entry.failed subscription=post_payment id=5-1 attempt=2 max_attempts=5 error="a.lua:3: no"`,
		},
		"failed for the last time": {
			observe.Outcome{ID: id, Result: observe.ResultFailed, Dead: true, Attempt: 5, Reason: "failed", Error: "a.lua:3: no"},
			`level=WARN msg="dead letter, now in payments.dead" event=entry.dead_lettered subscription=post_payment id=5-1 ` +
				`attempt=5 max_attempts=5 reason=failed error="a.lua:3: no"`,
		},
		"refused by the handler": {
			observe.Outcome{ID: id, Result: observe.ResultDead, Dead: true, Attempt: 1, Reason: "stolen card"},
			`level=WARN msg="dead letter, now in payments.dead" event=entry.dead_lettered subscription=post_payment id=5-1 ` +
				`attempt=1 max_attempts=5 reason="stolen card"`,
		},
		"invalid": {
			observe.Outcome{ID: id, Result: observe.ResultInvalid, Error: "not JSON"},
			`level=WARN msg="invalid, the handler did not run" event=entry.invalid subscription=post_payment id=5-1 error="not JSON"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, _, lines := failures()
			f.Settled(sub, []observe.Outcome{test.outcome})
			if got := strings.Join(lines(), "\n"); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

// failed are n entries whose first attempt failed.
func failed(n int) []observe.Outcome {
	many := make([]observe.Outcome, n)
	for i := range many {
		many[i] = observe.Outcome{ID: broker.ID{Ms: 1, Seq: uint64(i)}, Result: observe.ResultFailed, Attempt: 1}
	}
	return many
}

func TestFailuresDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	p := pipeline()
	one, other := p.Groups[0].Subscriptions[0], p.Groups[1].Subscriptions[0]
	f, c, lines := failures()
	many := failed(1000)
	f.Settled(one, many)
	if got := lines(); len(got) != 10 || !strings.Contains(got[9], " id=1-9 ") {
		t.Errorf("%d lines of 1000 failures, the last %q", len(got), got[len(got)-1])
	}
	f.Settled(one, []observe.Outcome{{Result: observe.ResultFailed, Dead: true}})
	f.Settled(other, many[:1])
	if got := lines(); len(got) != 2 {
		t.Errorf("another event and another subscription have their own lines: %q", got)
	}
	c.Advance(9 * time.Second)
	f.Settled(one, many[:1])
	if got := lines(); got != nil {
		t.Errorf("a line within the period: %q", got)
	}
	c.Advance(time.Second)
	f.Settled(one, many[:3])
	got := lines()
	if len(got) != 3 || !strings.HasSuffix(got[0], " left_out_before=991") || strings.Contains(got[1], "left_out") {
		t.Errorf("after the period: %q", got)
	}
}

// A burst that is over is counted, too, once: after a while, or where the process ends.
func TestFailuresCountABurstThatIsOver(t *testing.T) {
	t.Parallel()
	p := pipeline()
	one, other := p.Groups[0].Subscriptions[0], p.Groups[1].Subscriptions[0]
	f, c, lines := failures()
	many := failed(25)
	f.Settled(one, many)
	f.Settled(other, many)
	c.Advance(10 * time.Second)
	f.Settled(other, many[:1]) // says it in its line
	if got := lines(); len(got) != 21 || !strings.HasSuffix(got[20], " left_out_before=15") {
		t.Fatalf("%q", got)
	}
	c.Advance(10 * time.Second)
	want := `level=WARN msg="more of the same were not logged" event=log.left_out subscription=` + one.Label + ` of=entry.failed left_out=15`
	if got := lines(); len(got) != 1 || got[0] != want {
		t.Errorf("after a while: %q, want %q", got, want)
	}
	f.Settled(one, many[:12])
	if got := lines(); len(got) != 10 || strings.Contains(got[0], "left_out") {
		t.Fatalf("%q", got)
	}
	f.Close()
	if got := lines(); len(got) != 1 || !strings.HasSuffix(got[0], " left_out=2") {
		t.Errorf("at the end: %q", got)
	}
	f.Close()
	c.Advance(time.Hour)
	if got := lines(); got != nil {
		t.Errorf("said twice: %q", got)
	}
}
