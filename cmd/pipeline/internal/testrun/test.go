package testrun

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/engine"
	"pipeline/engine/clock"
	"pipeline/engine/harness"
	"pipeline/engine/spec"
	"pipeline/lang/testspec"
	"pipeline/sandbox"
)

// run is one test while it runs.
type run struct {
	bench   *bench
	test    *testspec.Test
	result  *Result
	harness *harness.Harness
	publish *publisher
	// start is the time of the clock from which the test's times count.
	start time.Time
	// armed are the faults that were armed, in order.
	armed []armed
	// down: the server is away until the next step begins.
	down bool
	// started: the service runs, so that there is something to trace.
	started bool
}

type armed struct {
	fault harness.Fault
	spec  *testspec.Fault
}

// patience is how long a pipeline may take to come to rest: a script may use
// up its limit before.
const patience = RealLimit + time.Minute

// run runs a test whose pipeline could be loaded.
func (b *bench) run(ctx context.Context, t *testspec.Test, r *Result) {
	keep := &engine.LogKeeper{}
	handlers, err := b.handlers(ctx, t, r, keep)
	if err != nil {
		r.fail(err.Error())
		return
	}
	publish, err := newPublisher(t.Pipeline)
	if err != nil {
		r.fail(err.Error())
		return
	}
	cfg := harness.Config{Pipeline: t.Pipeline, Handlers: handlers, KeepLogs: keep, Patience: patience}
	if err := b.server(ctx, t, &cfg); err != nil {
		r.fail(err.Error())
		return
	}
	h, err := harness.New(cfg)
	if err != nil {
		r.fail(err.Error())
		return
	}
	run := &run{bench: b, test: t, result: r, harness: h, publish: publish, start: cfg.Start}
	defer func() {
		if err := h.Close(); err != nil {
			r.fail("the service cannot be ended: " + err.Error())
		}
	}()
	err = run.all(ctx)
	if err != nil {
		r.fail(err.Error())
	}
	if givenUp(ctx, err) {
		if err == nil {
			r.fail("interrupted")
		}
		return
	}
	run.unstruck()
	if r.Status == Pass && run.started {
		if err := run.drain(ctx); err != nil {
			r.fail("the service cannot be stopped: " + err.Error())
			if givenUp(ctx, err) {
				return
			}
		}
	}
	if r.Status != Pass && run.started {
		r.Trace = run.trace()
	}
}

// givenUp reports whether something may still run: then nothing of the harness
// can be read.
func givenUp(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, clock.ErrBusy)
}

// handlers are the handlers of a test by label.
func (b *bench) handlers(
	ctx context.Context, t *testspec.Test, r *Result, keep *engine.LogKeeper,
) (map[string]sandbox.Handler, error) {
	slow := func(label string) {
		r.fail(fmt.Sprintf("handler %s ran for %v in one call and was stopped; what comes of that depends on the machine; lower its limits.instructions", label, RealLimit))
	}
	handlers := map[string]sandbox.Handler{}
	for _, s := range build.Used(t.Pipeline) {
		code, err := b.code.Handler(s)
		if err != nil {
			return nil, err
		}
		h := &handler{label: s.Label, code: code, logs: b.logs, keep: keep, slow: slow, life: ctx}
		for i := range t.Mocks {
			if m := &t.Mocks[i]; m.Handler == s.Label {
				h.mocked(m)
			}
		}
		handlers[s.Label] = h
	}
	return handlers, nil
}

// all starts the service and goes through the steps.
func (r *run) all(ctx context.Context) error {
	adds, err := r.publish.adds(r.test.Existing)
	if err != nil {
		return err
	}
	if _, err := r.harness.Publish(adds...); err != nil {
		return err
	}
	_, err = r.harness.Start(ctx)
	if r.test.Expect != nil {
		return r.refused(err)
	}
	if err = lives(err); err != nil {
		return fmt.Errorf("the service does not start: %w", err)
	}
	r.started = true
	for i, s := range r.test.Steps {
		if err := r.step(ctx, s); err != nil {
			r.result.Step, r.result.NotRun = s, r.test.Steps[i+1:]
			return err
		}
		if r.result.Status != Pass {
			r.result.Step, r.result.NotRun = s, r.test.Steps[i+1:]
			return nil
		}
	}
	return nil
}

// lives is an error of the start of a worker, unless all that happened is that
// its subscriptions stopped, as some are declared to: a test can look at that.
func lives(err error) error {
	if _, ok := errors.AsType[*engine.FailedError](err); ok {
		return nil
	}
	return err
}

// refused compares how the service started with how it is expected to refuse.
func (r *run) refused(err error) error {
	code, message := "", ""
	if err != nil {
		unsuitable, ok := errors.AsType[*engine.UnsuitableError](err)
		if !ok {
			return err
		}
		code, message = unsuitable.Code, err.Error()
	}
	if r.result.Problems = r.test.Expect.Unmet(code, message); len(r.result.Problems) > 0 {
		r.result.Status = Fail
	}
	return nil
}

// step runs one step and checks its asserts, all of them.
func (r *run) step(ctx context.Context, s *testspec.Step) error {
	if r.down {
		r.harness.Restore()
		r.down = false
	}
	if _, err := r.harness.Revive(ctx); lives(err) != nil {
		return fmt.Errorf("start a worker in place of one that crashed: %w", err)
	}
	for i := range s.Faults {
		if err := r.arm(&s.Faults[i]); err != nil {
			return err
		}
	}
	adds, err := r.publish.adds(s.Publishes)
	if err != nil {
		return err
	}
	if _, err := r.harness.Publish(adds...); err != nil {
		return err
	}
	if err := r.harness.Advance(ctx, s.Advance); err != nil {
		return err
	}
	seen := r.state()
	for _, a := range s.Asserts {
		r.result.Checked++
		if result := a.Check(seen); !result.Passed {
			r.result.Asserts = append(r.result.Asserts, Assert{s, result})
			r.result.Status = Fail
		}
	}
	return nil
}

func (r *run) arm(f *testspec.Fault) error {
	fault := harness.Fault{
		Kind: harness.FaultKind(f.Kind), Subscription: f.Subscription, At: harness.Point(f.At), Nth: f.Nth, For: f.For,
	}
	if fault.Kind == harness.LostReply && fault.At == "" {
		fault.At = harness.AtSettle
	}
	if fault.Kind == harness.ServerDown {
		r.down = f.For == 0
	} else {
		r.armed = append(r.armed, armed{fault, f})
	}
	return r.harness.Arm(fault)
}

// unstruck makes a test an error whose faults never struck: what it is about
// has not happened. A handler that is slow every time never stops to be.
func (r *run) unstruck() {
	for _, left := range slices.Backward(r.harness.Armed()) {
		if left.Kind == harness.Slow && left.Nth == 0 {
			continue
		}
		i := lastIndex(r.armed, func(a armed) bool { return a.fault == left })
		if i < 0 {
			continue
		}
		f := r.armed[i].spec
		r.armed = slices.Delete(r.armed, i, i+1)
		problem := fmt.Sprintf("%s: the fault %q never struck", place(f.Pos), f.Kind)
		if f.Subscription != "" {
			problem += ": nothing came to " + f.At + " of " + f.Subscription
		}
		r.result.Problems = append(r.result.Problems, problem)
		if r.result.Status == Pass {
			r.result.Status = Error
		}
	}
}

func lastIndex[T any](s []T, f func(T) bool) int {
	for i, v := range slices.Backward(s) {
		if f(v) {
			return i
		}
	}
	return -1
}

func place(p spec.Pos) string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// drain stops the service as a signal does. What it leaves in flight is no
// mistake: a test may end while a handler is slow.
func (r *run) drain(ctx context.Context) error {
	r.harness.Disarm()
	var errs []error
	for _, w := range r.harness.Workers() {
		err := w.Stop(ctx)
		if _, left := errors.AsType[*engine.LeftError](err); !left {
			errs = append(errs, lives(err))
		}
	}
	return errors.Join(errs...)
}
