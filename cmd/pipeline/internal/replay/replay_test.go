package replay_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/cmd/pipeline/internal/replay"
	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/tests/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const file = `
pipeline "p" {
  language = 1
}
variable "redis_url" {
  type    = string
  default = env("REDIS_URL")
}
broker "redis" {
  url = var.redis_url
}
stream "in" {
  codec = "fields"
  retention {
    max_length = 1
  }
}
stream "out" {}
stream "dead" {}
handler "h" {
  source = "h.lua"
}
group "g" {
  stream = stream.in
  dead_letter {
    to = stream.dead
  }
  subscription "s" {
    handler = handler.h
    claim {
      min_idle = "2s"
    }
    workers {
      count = 4
    }
    reply {
      to = stream.out
    }
  }
}
`

const script = `
function handle(e)
  if e.bad then return dead("bad") end
  if e.wait then return retry{after = "1h"} end
  return reply({n = e.n})
end
`

// world is a stream on a server, and the pipeline that reads it.
type world struct {
	*redis.Broker

	t        *testing.T
	server   *redistest.Server
	pipeline *spec.Pipeline
	// url is the login of those who run a replay.
	url string
	ids []broker.ID
}

// everyVersion runs a test on an empty database of each server version.
func everyVersion(t *testing.T, test func(w *world)) {
	t.Helper()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(newWorld(t, redistest.Shared(t, version)))
		})
	}
}

func newWorld(t *testing.T, s *redistest.Server) *world {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"p.hcl": file, "h.lua": script} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, report := build.Load(filepath.Join(dir, "p.hcl"), build.Vars{
		Env: func(name string) (string, bool) { return s.URL(), name == "REDIS_URL" },
	})
	if report.HasErrors() {
		t.Fatal(report.All())
	}
	w := &world{t: t, server: s, pipeline: p, url: s.URL()}
	w.Broker = w.open()
	if _, err := w.CreateGroup(t.Context(), "in", "g", "0"); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) open() *redis.Broker {
	w.t.Helper()
	b, err := redis.Open(redis.Options{URL: w.url})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = b.Close() })
	return b
}

// add adds n entries with a field.
func (w *world) add(n int, field string) {
	w.t.Helper()
	adds := make([]broker.Add, n)
	for i := range adds {
		adds[i] = broker.Add{Stream: "in", Fields: []broker.Field{{Name: "n", Value: fmt.Sprint(len(w.ids) + i)}, {Name: field, Value: "1"}}}
	}
	ids, err := w.Add(w.t.Context(), adds)
	if err != nil {
		w.t.Fatal(err)
	}
	w.ids = append(w.ids, ids...)
}

// over is a replay of entries by their number, both ends in it.
func (w *world) over(first, last int, publish bool) *replay.Range {
	return &replay.Range{Subscription: w.pipeline.Groups[0].Subscriptions[0], Group: "again", First: w.ids[first], Last: w.ids[last], Publish: publish}
}

func (w *world) run(ctx context.Context, r *replay.Range) (replay.Result, error) {
	w.t.Helper()
	handlers, err := build.Compile(w.pipeline, build.LogHost(slog.New(slog.DiscardHandler)))
	if err != nil {
		w.t.Error(err)
		return replay.Result{}, err
	}
	defer func() { _ = handlers.Close() }()
	return replay.Run(ctx, w.pipeline, w.open(), r, replay.Settings{
		Handlers: handlers.ByLabel(), Clock: clock.Real(), Logger: slog.New(slog.DiscardHandler), Observer: observe.None{},
	})
}

// bodies are those of a stream's entries.
func (w *world) bodies(stream string) []string {
	w.t.Helper()
	entries, err := w.Range(w.t.Context(), stream, broker.ID{}, broker.MaxID, 10_000)
	if err != nil {
		w.t.Fatal(err)
	}
	out := make([]string, len(entries))
	for i := range entries {
		out[i] = entries[i].Fields[0].Value
	}
	return out
}

// own is the state of the pipeline's own group.
func (w *world) own() broker.GroupInfo {
	w.t.Helper()
	groups, err := w.GroupInfos(w.t.Context(), "in")
	if err != nil || len(groups) != 1 || groups[0].Name != "g" {
		w.t.Fatalf("%+v, %v", groups, err)
	}
	return groups[0]
}

// Entries before and behind the range are not run, the own group stays as it is with
// what is pending in it, nothing is trimmed, and no reply is published unless that is
// asked for; what is buried is.
func TestAReplayRunsItsRangeAndTouchesNothingElse(t *testing.T) {
	everyVersion(t, func(w *world) {
		w.add(10, "f")
		w.add(1, "bad")
		w.add(5, "f")
		o := broker.Owner{Stream: "in", Group: "g", Consumer: "worker"}
		if d, err := w.Read(w.t.Context(), broker.ReadRequest{Owner: o, Count: 7}); err != nil || len(d) != 7 {
			w.t.Fatal(len(d), err)
		}
		before := w.own()
		r := w.over(3, 12, false)
		p, err := replay.Look(w.t.Context(), w, r)
		if err != nil || p != (replay.Preview{Entries: 10}) {
			w.t.Errorf("%+v, %v", p, err)
		}
		got, err := w.run(w.t.Context(), r)
		if err != nil || !got.Ended || got.Settled[observe.ResultReply] != 9 || got.Settled[observe.ResultDead] != 1 || got.Unpublished != 9 {
			w.t.Fatalf("%+v, %v", got, err)
		}
		if out, dead := w.bodies("out"), w.bodies("dead"); len(out) != 0 || len(dead) != 1 {
			w.t.Errorf("published %q, buried %q", out, dead)
		}
		if after := w.own(); after != before {
			w.t.Errorf("the own group was %+v and is %+v", before, after)
		}
		if n := len(w.bodies("in")); n != 16 {
			w.t.Errorf("%d entries are left of 16", n)
		}
		r.Group = "published"
		r.Publish = true
		if got, err = w.run(w.t.Context(), r); err != nil || !got.Ended || got.Unpublished != 0 {
			w.t.Fatalf("%+v, %v", got, err)
		}
		want := "3 4 5 6 7 8 9 11 12"
		seen := map[string]bool{}
		for _, body := range w.bodies("out") {
			seen[body] = true
		}
		for n := range strings.FieldsSeq(want) {
			if !seen[fmt.Sprintf(`{"n":%q}`, n)] {
				w.t.Errorf("entry %s was not answered: %v", n, seen)
			}
		}
		if len(w.bodies("out")) != 9 {
			w.t.Errorf("published are %q", w.bodies("out"))
		}
	})
}

// Several processes share a replay, and whenever each of them sees that it is over,
// every reply is there once. One that comes too late runs nothing.
func TestSeveralProcessesPublishEachReplyOnce(t *testing.T) {
	everyVersion(t, func(w *world) {
		const entries = 300
		w.add(entries, "f")
		r := w.over(0, entries-1, true)
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if got, err := w.run(w.t.Context(), r); err != nil || !got.Ended && got.State != redis.ReplayEnded {
					w.t.Errorf("%+v, %v", got, err)
				}
			})
		}
		all.Wait()
		seen := map[string]int{}
		for _, body := range w.bodies("out") {
			seen[body]++
		}
		if len(seen) != entries || len(w.bodies("out")) != entries {
			w.t.Errorf("%d replies, %d different ones, want %d", len(w.bodies("out")), len(seen), entries)
		}
		w.own()
		if got, err := w.run(w.t.Context(), r); err != nil || got.State != redis.ReplayEnded || len(w.bodies("out")) != entries {
			w.t.Errorf("again: %+v, %v; %d replies", got, err, len(w.bodies("out")))
		}
	})
}

// Broken off, it leaves what is settled settled and what waits pending; the next run
// goes on there.
func TestAReplayThatIsBrokenOffGoesOn(t *testing.T) {
	everyVersion(t, func(w *world) {
		w.add(4, "f")
		w.add(1, "wait")
		r := w.over(0, 4, true)
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
		defer cancel()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if got, err := w.run(ctx, r); !errors.Is(err, context.Canceled) || got.Ended {
				w.t.Errorf("%+v, %v", got, err)
			}
		}()
		for len(w.bodies("out")) < 4 {
			if ctx.Err() != nil {
				w.t.Fatal("it does not get on")
			}
			_ = clock.Sleep(ctx, clock.Real(), 20*time.Millisecond)
		}
		cancel()
		<-ended
		p, err := replay.Look(w.t.Context(), w, r)
		if err != nil || p != (replay.Preview{State: redis.ReplayBegun, Pending: 1}) {
			w.t.Errorf("%+v, %v", p, err)
		}
		// The record of the entry says that it waits for an hour: without it it is due.
		w.server.CLI("DEL", redis.KeysBeside("in", "again").Records)
		w.server.CLI("XDEL", "in", w.ids[4].String())
		got, err := w.run(w.t.Context(), r)
		if err != nil || !got.Ended || len(w.bodies("out")) != 4 {
			w.t.Errorf("%+v, %v; %d replies", got, err, len(w.bodies("out")))
		}
	})
}

// The rule of a worker and the rights to create and remove groups suffice; without
// the second it is told, and goes on once it is given.
func TestWhatALoginNeedsForAReplay(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, redistest.Start(t, version))
			w.add(3, "f")
			rule := append(plan.RulesOf(w.pipeline, broker.Features{}).Worker, "+xgroup|create")
			allow := func(words ...string) {
				args := []any{"ACL", "SETUSER", "exact", ">pw"}
				for _, word := range words {
					args = append(args, word)
				}
				if err := w.server.Client().Do(t.Context(), args...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			allow(rule...)
			w.url = "redis://exact:pw@" + w.server.Addr
			r := w.over(0, 2, true)
			if got, err := w.run(t.Context(), r); !errors.Is(err, broker.ErrNoPermission) || !strings.Contains(err.Error(), "+xgroup|destroy") || got.Ended {
				t.Errorf("%+v, %v", got, err)
			}
			allow("+xgroup|destroy")
			if got, err := w.run(t.Context(), r); err != nil || !got.Ended || len(w.bodies("out")) != 3 {
				t.Errorf("%+v, %v; %d replies", got, err, len(w.bodies("out")))
			}
			w.own()
		})
	}
}
