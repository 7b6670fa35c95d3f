// Package trial runs an entry once through a subscription, in the sandbox, for a person
// who wants to see what comes of it. Nothing is written anywhere: no broker is known
// here, and what a handler logs goes to who asked.
//
// It may run beside live workers, asked by whoever may see a page. So one entry runs at
// a time, for at most MostTime, and after each one the next has to wait for three times
// as long as that took.
package trial

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/codec"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

const (
	// MostTime is how long a call may take here, however long its handler's timeout is.
	MostTime = 2 * time.Second
	// mostBody is how many bytes of each reply are shown.
	mostBody = 16 << 10
	// rest is how many times as long as an entry took nothing is run after it, at least
	// leastRest: a quarter of one processor, whoever asks.
	rest      = 3
	leastRest = 100 * time.Millisecond
)

// BusyError says that another entry runs, or that the time of the last one is not over.
type BusyError struct{ After time.Duration }

// Error says when to ask again.
func (e *BusyError) Error() string {
	if e.After <= 0 {
		return "another entry is being run; ask again in a moment"
	}
	return "handlers run here for a part of the time only; ask again in " + view.Duration(e.After.Round(10*time.Millisecond))
}

// Runner runs entries. It is safe for concurrent use.
type Runner struct {
	pipeline *spec.Pipeline
	clock    clock.Clock
	view     *view.View

	// turn is held by the one who runs an entry, and guards what is below it.
	turn    sync.Mutex
	resting time.Time
	// code is what was compiled last, by the handler's label.
	code map[string]*compiled
	logs engine.LogKeeper
}

// compiled is a handler with the time that it has here.
type compiled struct {
	handlers *build.Handlers
	handler  *spec.Handler
}

// New returns a runner for a pipeline. Nothing is compiled yet.
func New(p *spec.Pipeline, v *view.View, c clock.Clock) *Runner {
	return &Runner{pipeline: p, view: v, clock: c, code: map[string]*compiled{}}
}

// Result is what came of an entry.
type Result struct {
	*view.Tried
	// Sum tells the code that ran from any other, as build.Handlers.Sum does.
	Sum string
	// Limits are those that held, of one call.
	Limits sandbox.Limits
}

// Runnable says why a subscription cannot run an entry here, "" where it can.
func Runnable(s *spec.Subscription) string {
	if s.Claim != nil && s.Claim.Only {
		return "it takes over pending entries only"
	}
	return ""
}

// Try runs an entry of the subscription's stream once, as a first attempt. The error is
// a *BusyError where it has to wait, or says why the handler cannot be run at all; how
// the entry failed is in the result.
func (r *Runner) Try(ctx context.Context, s *spec.Subscription, id broker.ID, fields []broker.Field) (*Result, error) {
	if why := Runnable(s); why != "" {
		return nil, fmt.Errorf("the subscription %s runs no entry here: %s", s.Label, why)
	}
	began, err := r.enter()
	if err != nil {
		return nil, err
	}
	defer r.leave(began)
	code, err := r.compile(s.Handler)
	if err != nil {
		return nil, err
	}
	sub, group := *s, *s.Group
	sub.Handler, group.Subscriptions = code.handler, []*spec.Subscription{&sub}
	run, err := engine.NewDryRun(engine.Config{
		Pipeline: &spec.Pipeline{Name: r.pipeline.Name, Version: r.pipeline.Version, Groups: []*spec.Group{&group}},
		Handlers: code.handlers.ByLabel(), Clock: r.clock, KeepLogs: &r.logs,
	})
	if err != nil {
		return nil, err
	}
	sum, _ := code.handlers.Sum(s.Handler.Label)
	limits := code.handler.Limits
	result := &Result{
		Sum:    fmt.Sprintf("%x", sum),
		Limits: sandbox.Limits{Timeout: limits.Timeout, Memory: limits.Memory, Instructions: limits.Instructions}.WithDefaults(),
	}
	one := slices.Values([]engine.DryEntry{{Stream: s.Group.Stream, ID: id, Fields: fields}})
	err = run.Run(ctx, one, func(o *engine.DryOutcome) error {
		result.Tried = r.view.Tried(r.pipeline, s, o.Body, o.Outcome, mostBody)
		return nil
	})
	if err == nil && result.Tried == nil {
		err = errors.New("the entry came to no outcome")
	}
	return result, err
}

// enter takes the turn.
func (r *Runner) enter() (began time.Time, err error) {
	if !r.turn.TryLock() {
		return began, &BusyError{}
	}
	began = r.clock.Now()
	if left := r.resting.Sub(began); left > 0 {
		r.turn.Unlock()
		return began, &BusyError{After: left}
	}
	return began, nil
}

func (r *Runner) leave(began time.Time) {
	now := r.clock.Now()
	r.resting = now.Add(max(leastRest, rest*now.Sub(began)))
	r.turn.Unlock()
}

// compile compiles a handler as its files are now, unless it was that already.
func (r *Runner) compile(h *spec.Handler) (*compiled, error) {
	if c := r.code[h.Label]; c != nil {
		_, _, err := c.handlers.Refresh(c.handler)
		if err == nil {
			return c, nil
		}
		delete(r.code, h.Label) // the old code would stay, and is not what was asked for
		return nil, errors.Join(err, c.handlers.Close())
	}
	here := *h
	here.Limits.Timeout = min(cmp.Or(here.Limits.Timeout, sandbox.DefaultTimeout), MostTime)
	only := &spec.Pipeline{Handlers: []*spec.Handler{&here}, Groups: []*spec.Group{{Subscriptions: []*spec.Subscription{{Handler: &here}}}}}
	handlers, err := build.Compile(only, &r.logs)
	if err != nil {
		return nil, err
	}
	c := &compiled{handlers, &here}
	r.code[h.Label] = c
	return c, nil
}

// Close waits for the entry that runs, and frees what was compiled.
func (r *Runner) Close() error {
	r.turn.Lock()
	defer r.turn.Unlock()
	var errs []error
	for _, c := range r.code {
		errs = append(errs, c.handlers.Close())
	}
	clear(r.code)
	return errors.Join(errs...)
}

// Header is a header of an entry as it stands among the fields.
func Header(name, value string) broker.Field {
	return broker.Field{Name: codec.HeaderPrefix + name, Value: value}
}
