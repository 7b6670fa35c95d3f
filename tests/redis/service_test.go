// Package redis_test runs whole pipelines, language and sandbox and engine,
// against real Redis servers.
package redis_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker/redis"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/lang"
	"pipeline/sandbox"
	"pipeline/sandbox/lua"
	"pipeline/tests/redistest"
)

// patience bounds every wait of these tests. Nothing here measures time: it is
// only how long a test waits before it says that something never happened.
const patience = time.Minute

// service is one engine in this process, as one `pipeline run` would be.
type service struct {
	t        *testing.T
	pipeline *spec.Pipeline
	reached  redis.Options
	engine   *engine.Engine
	record   *recorder
	stop     context.CancelFunc
	done     chan error
}

// load reads a pipeline file with variables.
func load(t *testing.T, path string, vars map[string]string) *spec.Pipeline {
	t.Helper()
	p, report := lang.Load(lang.OS(), path, lang.Options{Vars: vars})
	if report.HasErrors() {
		t.Fatalf("%s: %v", path, report.All())
	}
	return p
}

// write puts files into a folder and returns the path of the first.
func write(t *testing.T, files ...[2]string) string {
	t.Helper()
	dir := t.TempDir()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f[0]), []byte(f[1]), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(dir, files[0][0])
}

// compile compiles the handlers of a pipeline.
func compile(t *testing.T, p *spec.Pipeline) map[string]sandbox.Handler {
	t.Helper()
	return compileFor(t, p, silent{})
}

// compileFor compiles them for a host of the test's own.
func compileFor(t *testing.T, p *spec.Pipeline, host sandbox.Host) map[string]sandbox.Handler {
	t.Helper()
	handlers := make(map[string]sandbox.Handler)
	for _, h := range p.Handlers {
		code, err := os.ReadFile(h.Path)
		if err != nil {
			t.Fatal(err)
		}
		s := sandbox.Spec{
			Label: h.Label, Function: h.Function, Source: sandbox.Source{Name: h.Source, Code: code},
			Limits: sandbox.Limits{Timeout: h.Limits.Timeout, Memory: h.Limits.Memory, Instructions: h.Limits.Instructions},
			Host:   host,
		}
		for _, g := range h.Grants {
			s.Grants = append(s.Grants, sandbox.Grant{Kind: g.Kind})
		}
		handlers[h.Label], err = lua.Compile(s)
		if err != nil {
			t.Fatal(err)
		}
	}
	return handlers
}

type silent struct{}

func (silent) Log(*sandbox.Delivery, sandbox.LogLine) {}

// start runs a pipeline on a server until the test ends or stop is called.
func start(t *testing.T, s *redistest.Server, p *spec.Pipeline, host string) *service {
	t.Helper()
	return startWith(t, s, p, host, compile(t, p))
}

// startWith runs a pipeline with handlers of the test's own.
func startWith(t *testing.T, s *redistest.Server, p *spec.Pipeline, host string, handlers map[string]sandbox.Handler) *service {
	t.Helper()
	return startAt(t, s.URL(), p, host, handlers)
}

// startAt is startWith for a server that is reached at a URL of its own.
func startAt(t *testing.T, url string, p *spec.Pipeline, host string, handlers map[string]sandbox.Handler) *service {
	t.Helper()
	return startOn(t, redis.Options{URL: url}, p, host, handlers)
}

// startOn is startWith for a server that is reached as the options say.
func startOn(t *testing.T, o redis.Options, p *spec.Pipeline, host string, handlers map[string]sandbox.Handler) *service {
	t.Helper()
	b, err := redis.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	record := &recorder{changed: make(chan struct{})}
	e, err := engine.New(engine.Config{Pipeline: p, Broker: b, Handlers: handlers, Observer: record, Host: host})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	v := &service{t: t, pipeline: p, reached: o, engine: e, record: record, stop: cancel, done: make(chan error, 1)}
	go func() {
		err := e.Run(ctx)
		v.done <- errors.Join(err, b.Close())
	}()
	t.Cleanup(func() {
		cancel()
		select {
		case <-v.done:
		case <-time.After(patience):
			t.Error("the engine does not stop")
			return
		}
		v.check()
	})
	return v
}

// ready waits until every subscription reads.
func (v *service) ready() {
	v.t.Helper()
	select {
	case <-v.engine.Ready():
	case err := <-v.done:
		v.done <- err
		v.t.Fatalf("the engine ended: %v", err)
	case <-time.After(patience):
		v.t.Fatal("the engine does not get ready")
	}
}

// drain stops the engine and returns what Run returned.
func (v *service) drain() error {
	v.t.Helper()
	v.stop()
	select {
	case err := <-v.done:
		v.done <- err
		return err
	case <-time.After(patience):
		v.t.Fatal("the engine does not drain")
		return nil
	}
}

// settled waits until a subscription has settled n outcomes of the given result.
func (v *service) settled(sub string, r observe.Result, n int) {
	v.t.Helper()
	v.record.wait(v.t, sub+" settles "+string(r), func() bool { return v.record.count[sub][r] >= n })
}

// recorder remembers what the engine told.
type recorder struct {
	mu       sync.Mutex
	changed  chan struct{}
	count    map[string]map[observe.Result]int
	outcomes map[string][]observe.Outcome
	events   []observe.Event
}

func (r *recorder) Settled(sub *spec.Subscription, outs []observe.Outcome) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.count == nil {
		r.count, r.outcomes = map[string]map[observe.Result]int{}, map[string][]observe.Outcome{}
	}
	if r.count[sub.Label] == nil {
		r.count[sub.Label] = map[observe.Result]int{}
	}
	for _, o := range outs {
		r.count[sub.Label][o.Result]++
		r.outcomes[sub.Label] = append(r.outcomes[sub.Label], o)
	}
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *recorder) Event(e observe.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	close(r.changed)
	r.changed = make(chan struct{})
}

// wait waits until a condition on what was recorded holds.
func (r *recorder) wait(t *testing.T, what string, holds func() bool) {
	t.Helper()
	r.waitFor(t, patience, what, holds)
}

// waitFor is wait with a patience of its own.
func (r *recorder) waitFor(t *testing.T, patience time.Duration, what string, holds func() bool) {
	t.Helper()
	limit := time.After(patience)
	for {
		r.mu.Lock()
		ok, changed := holds(), r.changed
		r.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-limit:
			r.mu.Lock()
			defer r.mu.Unlock()
			t.Fatalf("never: %s\noutcomes: %v\nevents: %v", what, r.count, r.events)
		}
	}
}

// eventually waits until a condition on the server holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	if !eventuallyHolds(holds) {
		t.Fatalf("never: %s", what)
	}
}

func eventuallyHolds(holds func() bool) bool {
	limit := time.After(patience)
	for tick := time.NewTicker(10 * time.Millisecond); ; {
		if holds() {
			tick.Stop()
			return true
		}
		select {
		case <-tick.C:
		case <-limit:
			return false
		}
	}
}
