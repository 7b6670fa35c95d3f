package lua

import (
	"context"
	"errors"
	"runtime"

	"pipeline/engine/outcome"
	"pipeline/sandbox"
)

const (
	// recycleCalls renews a state now and then, so that what a script hoards in
	// its locals from call to call does not grow for ever. A state costs some
	// 50 microseconds.
	recycleCalls = 1 << 17
	// recycleBytes renews a state after a call that used so much.
	recycleBytes = 16 << 20
	// loadInstructions bounds the top level of a script, so that one that never
	// ends is found in the time of a validation.
	loadInstructions = 20_000_000
)

// instance runs a handler for one worker.
type instance struct {
	h     *handler
	meter *meter
	// vm is nil when the next call has to load the script anew.
	vm         *vm
	calls      int
	generation uint64
	closed     bool
}

func newInstance(h *handler) *instance {
	m := &meter{maxUsed: h.limits.Instructions, maxBytes: h.limits.Memory, timeout: h.limits.Timeout}
	theWatchdog.add(m)
	return &instance{h: h, meter: m, generation: theWatchdog.generation.Load()}
}

// Call implements sandbox.Instance.
func (in *instance) Call(ctx context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	if in.closed {
		return outcome.Fail(outcome.FailCrash, "the handler's instance is closed"), sandbox.Usage{}
	}
	if ctx.Err() != nil {
		return outcome.Fail(outcome.FailCanceled, errCanceled.Error()), sandbox.Usage{}
	}
	if err := in.ready(ctx); err != nil {
		return loadFailure(err, d), in.usage()
	}
	in.meter.begin(ctx)
	out := in.vm.call(d)
	in.meter.end()
	use := in.usage()
	in.after(use)
	return out, use
}

func (in *instance) usage() sandbox.Usage {
	return sandbox.Usage{Instructions: min(in.meter.used, in.meter.maxUsed), Bytes: in.meter.bytes}
}

// ready sees to it that there is a state.
func (in *instance) ready(ctx context.Context) error {
	if g := theWatchdog.generation.Load(); g != in.generation {
		in.generation = g
		in.giveUp()
	}
	if in.vm != nil {
		return nil
	}
	v, err := in.bound(ctx)
	in.vm, in.calls = v, 0
	return err
}

// after throws the state away when it is broken or holds too much.
func (in *instance) after(use sandbox.Usage) {
	in.calls++
	if in.meter.kind == "" && !in.vm.broken && use.Bytes < recycleBytes && in.calls < recycleCalls {
		return
	}
	in.giveUp()
	if in.meter.kind != "" && in.meter.kind != outcome.FailCanceled && theWatchdog.size.Load() > theWatchdog.limit.Load()/2 {
		// Much of the heap is likely what was just stopped. It must not count
		// against the next call.
		runtime.GC()
	}
}

// giveUp throws the state away.
func (in *instance) giveUp() {
	in.vm.close()
	in.vm = nil
}

// load makes a state and runs the top level of modules and script in it,
// within the limits of a call.
func (in *instance) load(ctx context.Context) (v *vm, err error) {
	in.meter.maxUsed = min(in.h.limits.Instructions, loadInstructions)
	defer func() { in.meter.maxUsed = in.h.limits.Instructions }()
	in.meter.begin(ctx)
	defer in.meter.end()
	v = newVM(in.h, in.meter)
	if err := v.load(); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// bound makes a state whose handler function is found.
func (in *instance) bound(ctx context.Context) (*vm, error) {
	v, err := in.load(ctx)
	if err != nil {
		return nil, err
	}
	if err := v.bind(); err != nil {
		v.close()
		return nil, err
	}
	return v, nil
}

// Close implements sandbox.Instance.
func (in *instance) Close() {
	if !in.closed {
		in.closed = true
		in.giveUp()
		theWatchdog.remove(in.meter)
	}
}

// loadFailure is the outcome of a call whose state could not be loaded again.
func loadFailure(err error, d *sandbox.Delivery) outcome.Outcome {
	kind := outcome.FailError
	if stopped, ok := errors.AsType[*stoppedError](err); ok {
		kind = stopped.kind
	}
	return outcome.Fail(kind, "loading the script again: "+err.Error()+" (entry "+d.ID+")")
}

// stoppedError is a LoadError for a top level that ran into a limit.
type stoppedError struct {
	*sandbox.LoadError
	kind outcome.FailureKind
}

func (e *stoppedError) Unwrap() error { return e.LoadError }
