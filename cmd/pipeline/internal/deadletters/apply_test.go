package deadletters

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
)

func (f *fixture) apply() *Apply {
	return &Apply{Broker: f.broker, Pipeline: f.pipeline, Clock: f.clock}
}

// hostile are fields that repeat, are empty or binary, and headers that only
// look like ours.
func hostile() []broker.Field {
	return []broker.Field{
		{Name: "a", Value: ""}, {Name: "a", Value: "2"}, {Name: "", Value: "\x00\xff"}, {Name: "h:x-retry-count", Value: "9"},
		{Name: "h:x-retry-group", Value: "fraud-v2"}, {Name: "h:dead-letter-old", Value: "x"}, {Name: "dead-letter-reason", Value: "kept"},
		{Name: "h:correlation-id", Value: "c"},
	}
}

func TestReplay(t *testing.T) {
	f := newFixture(t)
	f.bury(1, "ledger", "failed", "", hostile()...)
	f.bury(2, "fraud-v2", "failed", "")
	f.bury(3, "other", "failed", "")
	f.add("payments.dead", []broker.Field{{Name: "x", Value: "y"}})
	r := f.frozen(Replay, Filter{})
	if r.Letters != 2 {
		t.Fatalf("%d letters are chosen: %+v", r.Letters, r.Preview)
	}
	f.bury(4, "ledger", "failed", "") // comes later and is not touched
	got, err := f.apply().Run(t.Context(), r)
	if want := (Result{Total: 2, Done: 2}); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	want := [][]broker.Field{
		{
			{Name: "_payload", Value: "1"}, {Name: "a", Value: ""}, {Name: "a", Value: "2"}, {Name: "", Value: "\x00\xff"},
			{Name: "dead-letter-reason", Value: "kept"}, {Name: "h:correlation-id", Value: "c"}, {Name: "h:x-retry-group", Value: "ledger"},
		},
		{{Name: "_payload", Value: "2"}, {Name: "h:x-retry-group", Value: "fraud-v2"}},
	}
	for i, e := range f.stands("payments") {
		if !slices.Equal(e.Fields, want[i]) {
			t.Errorf("entry %d: %q, want %q", i, e.Fields, want[i])
		}
	}
	if left := f.stands("payments.dead"); len(left) != 3 {
		t.Errorf("left: %v", left)
	}
}

func TestReplayForAllGroups(t *testing.T) {
	f := newFixture(t)
	f.bury(1, "other", "failed", "", hostile()...)
	path := t.TempDir() + "/s"
	n, leftOut, err := Freeze(t.Context(), &Scan{Broker: f.broker}, []*Source{f.dead}, Selection{Action: Replay, Pipeline: "payments", AllGroups: true}, path)
	if n != 1 || err != nil || leftOut.Other != 0 {
		t.Fatal(n, leftOut, err)
	}
	r, err := Open(path)
	f.ok(err)
	defer func() { _ = r.Close() }()
	if got, err := f.apply().Run(t.Context(), r); got.Done != 1 || err != nil {
		t.Fatal(got, err)
	}
	for _, field := range f.stands("payments")[0].Fields {
		if strings.HasPrefix(field.Name, "h:x-retry-") || strings.HasPrefix(field.Name, "h:dead-letter-") {
			t.Errorf("%q came along", field)
		}
	}
}

func TestDrop(t *testing.T) {
	f := newFixture(t)
	keep := f.bury(1, "ledger", "failed", "")
	f.bury(2, "ledger", "invalid", "")
	f.add("payments.dead", []broker.Field{{Name: "x", Value: "y"}})
	r := f.frozen(Drop, Filter{From: keep.Next()})
	got, err := f.apply().Run(t.Context(), r)
	if want := (Result{Total: 2, Done: 2}); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	if left := f.stands("payments.dead"); len(left) != 1 || left[0].ID != keep {
		t.Errorf("left: %v", left)
	}
}

// Whatever goes wrong and whenever, every letter is replayed once when the same
// selection is done again until its end.
func TestEachIsReplayedOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		n := rapid.IntRange(1, 400).Draw(rt, "letters")
		for i := range n {
			f.bury(i, []string{"ledger", "fraud-v2"}[i%2], "failed", "")
		}
		r := f.frozen(Replay, Filter{})
		f.broker.SetFault(func(c memory.Call) memory.Effect {
			switch rapid.IntRange(0, 5).Draw(rt, "fault") {
			case 5:
				return memory.Effect{Err: broker.ErrUnavailable, Skip: true}
			case 4:
				return memory.Effect{Err: broker.ErrUnavailable}
			}
			return memory.Effect{}
		})
		runs := 0
		for ; ; runs++ {
			if runs > 200 {
				f.broker.SetFault(nil)
			}
			got, err := f.apply().Run(t.Context(), r)
			if sum := got.Done + got.Gone + got.Unknown + got.Left(); sum != int64(n) || got.Left() < 0 {
				rt.Fatalf("%+v does not add up to %d", got, n)
			}
			if err == nil {
				break
			}
			f.ok(r.rewind())
		}
		f.broker.SetFault(nil)
		seen := map[string]int{}
		for _, e := range f.stands("payments") {
			seen[e.Fields[0].Value]++
		}
		if len(seen) != n || len(f.stands("payments")) != n || len(f.stands("payments.dead")) != 0 {
			rt.Fatalf("after %d runs %d different entries of %d, %d in all, %d letters left", runs, len(seen), n, len(f.stands("payments")), len(f.stands("payments.dead")))
		}
	})
}

func TestALetterThatDisappearsOrChanges(t *testing.T) {
	for _, action := range []Action{Replay, Drop} {
		t.Run(string(action), func(t *testing.T) {
			f := newFixture(t)
			ids := []broker.ID{f.bury(1, "ledger", "failed", ""), f.bury(2, "ledger", "failed", ""), f.bury(3, "ledger", "failed", "")}
			r := f.frozen(action, Filter{})
			f.broker.Delete("payments.dead")
			f.broker.AddAs("payments.dead", ids[1], []broker.Field{{Name: "_payload", Value: "another"}})
			var problems []string
			a := f.apply()
			a.Problem = func(c Chosen, why string) { problems = append(problems, c.ID+" "+why) }
			got, err := a.Run(t.Context(), r)
			if want := (Result{Total: 3, Gone: 2, Changed: 1}); err != nil || got != want {
				t.Fatalf("%+v, %v", got, err)
			}
			if len(problems) != 1 || !strings.HasPrefix(problems[0], ids[1].String()+" another letter") {
				t.Errorf("%q", problems)
			}
			if left := f.stands("payments.dead"); len(left) != 1 {
				t.Errorf("left: %v", left)
			}
		})
	}
}

// A destination that is no stream keeps its letters; the others go on.
func TestARefusedDestination(t *testing.T) {
	f := newFixture(t)
	f.bury(1, "ledger", "failed", "")
	r := f.frozen(Replay, Filter{})
	f.broker.SetString("payments")
	var problems []string
	a := f.apply()
	a.Problem = func(_ Chosen, why string) { problems = append(problems, why) }
	got, err := a.Run(t.Context(), r)
	if want := (Result{Total: 1, Refused: 1}); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	if len(problems) != 1 || !strings.Contains(problems[0], "publish payments: the key does not hold a stream") {
		t.Errorf("%q", problems)
	}
}

// What the pipeline no longer declares is not replayed, whatever the selection says.
func TestThePipelineChanged(t *testing.T) {
	f := newFixture(t)
	f.bury(1, "ledger", "failed", "")
	r := f.frozen(Replay, Filter{})
	f.pipeline.Groups = f.pipeline.Groups[1:]
	got, err := f.apply().Run(t.Context(), r)
	if want := (Result{Total: 1, Refused: 1}); err != nil || got != want {
		t.Fatalf("%+v, %v", got, err)
	}
	f.pipeline.Groups = nil
	f.ok(r.rewind())
	if got, err = f.apply().Run(t.Context(), r); err != nil || got.Refused != 1 {
		t.Fatalf("%+v, %v", got, err)
	}
	if len(f.stands("payments.dead")) != 1 {
		t.Error("the letter is gone")
	}
}

func TestFullAndForbidden(t *testing.T) {
	for _, kind := range []error{broker.ErrOutOfMemory, broker.ErrNoPermission, broker.ErrUnavailable} {
		t.Run(kind.Error(), func(t *testing.T) {
			f := newFixture(t)
			for i := range 600 {
				f.bury(i, "ledger", "failed", "")
			}
			r := f.frozen(Replay, Filter{})
			moves := 0
			f.broker.SetFault(func(c memory.Call) memory.Effect {
				if c.Op == "move from" {
					moves++
				}
				if moves == 2 {
					return memory.Effect{Err: kind, Skip: true}
				}
				return memory.Effect{}
			})
			got, err := f.apply().Run(t.Context(), r)
			f.broker.SetFault(nil)
			unknown := int64(0)
			if errors.Is(kind, broker.ErrUnavailable) {
				unknown = batchLetters
			}
			if want := (Result{Total: 600, Done: batchLetters, Unknown: unknown}); !errors.Is(err, kind) || got != want {
				t.Fatalf("%+v, %v", got, err)
			}
			if n := len(f.stands("payments.dead")); n != 600-batchLetters {
				t.Errorf("%d letters left", n)
			}
		})
	}
}

// The rate is kept on a clock that only the test moves, and a signal ends the wait.
func TestRate(t *testing.T) {
	f := newFixture(t)
	for i := range 100 {
		f.bury(i, "ledger", "failed", "")
	}
	r := f.frozen(Replay, Filter{})
	a := f.apply()
	a.Rate = 50
	ctx, cancel := context.WithCancel(t.Context())
	steps := make(chan Result)
	a.Progress = func(r Result) { steps <- r }
	type ended struct {
		r   Result
		err error
	}
	end := make(chan ended, 1)
	go func() {
		r, err := a.Run(ctx, r)
		end <- ended{r, err}
	}()
	start := f.clock.Now()
	for i := 1; i <= 10; i++ {
		if got := <-steps; got.Done != int64(5*i) {
			t.Fatalf("step %d: %+v", i, got)
		}
		for waits := false; !waits; runtime.Gosched() {
			_, waits = f.clock.Next()
		}
		f.clock.Advance(100 * time.Millisecond)
	}
	if got := <-steps; got.Done != 55 || f.clock.Now().Sub(start) != time.Second {
		t.Fatalf("%+v after %v", got, f.clock.Now().Sub(start))
	}
	cancel()
	if got := <-end; got.r.Done != 55 || !errors.Is(got.err, context.Canceled) || got.r.Left() != 45 {
		t.Fatalf("%+v", got)
	}
}

func TestReaders(t *testing.T) {
	f := newFixture(t)
	for _, g := range []string{"ledger", "audit", "fraud-v2"} {
		if _, err := f.broker.CreateGroup(t.Context(), "payments", g, "0"); err != nil {
			t.Fatal(err)
		}
	}
	f.pipeline.Groups[1].Subscriptions = nil
	for _, c := range []struct {
		stream, group string
		all           bool
		want          string
	}{
		{"payments", "ledger", false, "[{ledger runs} {audit again} {fraud-v2 unrun}]"},
		{"payments", "ledger", true, "[{ledger runs} {audit again} {fraud-v2 nobody}]"},
		{"payments", "fraud-v2", false, "[{fraud-v2 nobody} {audit again} {ledger unrun}]"},
		{"payments", "gone", true, "[{audit again} {fraud-v2 nobody} {ledger runs}]"},
		{"shop.orders", "ship", false, "[{ship absent}]"},
	} {
		got, err := Readers(t.Context(), f.broker, f.pipeline, c.stream, c.group, c.all)
		if err != nil || fmt.Sprint(got) != c.want {
			t.Errorf("%+v: %v, %v", c, got, err)
		}
	}
}
