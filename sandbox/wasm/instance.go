package wasm

import (
	"context"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/outcome"
	"pipeline/sandbox"
	"pipeline/sandbox/capability"
	"pipeline/sandbox/wasm/internal/abi"
)

// instance runs a handler for one worker.
type instance struct {
	h     *handler
	meter meter
	// guest is nil when the next call has to instantiate the module anew.
	guest  *guest
	closed bool
	// host is what the module's calls of the host come with.
	host     hostContext
	logs     capability.Session
	envelope abi.Envelope
	decoder  abi.Decoder
	results  slab
	buf      []byte

	// What follows lives for one call.
	d      *sandbox.Delivery
	random random
	out    lines
	err    lines
	// said is the beginning of what was written to standard error.
	said []byte
	// starved: memory.grow was refused.
	starved bool
}

func newInstance(h *handler) *instance {
	in := &instance{h: h, meter: meter{clock: clock.Real()}}
	in.host.in = in
	if g, ok := h.grants[capability.Log.Kind]; ok {
		in.logs = capability.Log.Open(g, h.spec.Host)
	}
	return in
}

// Call implements sandbox.Instance.
func (in *instance) Call(ctx context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	if in.closed {
		return outcome.Fail(outcome.FailCrash, "the handler's instance is closed"), sandbox.Usage{}
	}
	if ctx.Err() != nil {
		return outcome.Fail(outcome.FailCanceled, textCanceled), sandbox.Usage{}
	}
	if in.guest == nil {
		g, err := in.instantiate(ctx)
		if err != nil {
			return in.loadFailure(err, d), in.usage(nil)
		}
		in.guest = g
	}
	g := in.guest
	out, sound := in.run(ctx, g, d)
	use := in.usage(g)
	if !sound {
		in.guest = nil
		g.close()
	}
	return out, use
}

func (in *instance) usage(g *guest) sandbox.Usage {
	u := sandbox.Usage{Instructions: in.meter.used}
	if g != nil {
		u.Bytes = int64(g.memory.Size())
	}
	return u
}

// run calls the handler's function. It reports whether the guest can be used
// again.
func (in *instance) run(ctx context.Context, g *guest, d *sandbox.Delivery) (out outcome.Outcome, sound bool) {
	in.begin(ctx, d, in.h.limits.Instructions, in.h.limits.Timeout)
	g.fuel.Set(uint64(in.meter.given))
	defer func() {
		in.flush()
		in.meter.end(int64(g.fuel.Get()))
		// The engine is not ours: a panic of it must not pass.
		if v := recover(); v != nil {
			out, sound = in.failed(outcome.FailCrash, textBroken), false
		}
	}()
	word, err := in.enter(g, d)
	if err != nil {
		return in.failure(err), false
	}
	return in.result(g, word)
}

// begin starts a call of the module with those limits; d is nil while it is
// loaded.
func (in *instance) begin(ctx context.Context, d *sandbox.Delivery, fuel int64, timeout time.Duration) {
	in.meter.maxFuel, in.meter.timeout = fuel, timeout
	in.meter.begin(ctx)
	in.d = d
	in.random.seeded = false
	in.said, in.starved = in.said[:0], false
	if in.logs != nil {
		in.logs.Begin(d)
	}
}

// enter gives the module its input and calls it.
func (in *instance) enter(g *guest, d *sandbox.Delivery) (uint64, error) {
	if in.h.spec.RawInput && d.Raw != "" {
		if err := in.room(g, len(d.Raw)); err != nil {
			return 0, err
		}
		if !g.memory.WriteString(g.place, d.Raw) {
			return 0, g.badBuffer(len(d.Raw))
		}
		return g.call(&in.host, len(d.Raw))
	}
	encode := in.envelope.Append
	if in.h.spec.RawInput {
		encode = abi.AppendRaw
	}
	text, err := encode(in.buf[:0], d)
	if err != nil {
		return 0, &resultError{"the body cannot be given to the module: " + err.Error()}
	}
	in.buf = text
	if err := in.room(g, len(text)); err != nil {
		return 0, err
	}
	if !g.memory.Write(g.place, text) {
		return 0, g.badBuffer(len(text))
	}
	return g.call(&in.host, len(text))
}

// room sees to it that the guest has a buffer for an input of that length. The
// fuel for asking is not counted: it depends on the entries before, and what
// an entry uses must not.
func (in *instance) room(g *guest, length int) error {
	if g.fits(length) {
		return nil
	}
	if err := g.room(&in.host, length); err != nil {
		return err
	}
	g.fuel.Set(uint64(in.meter.restart()))
	return nil
}

// Close implements sandbox.Instance.
func (in *instance) Close() {
	if in.closed {
		return
	}
	in.closed = true
	if in.guest != nil {
		in.guest.close()
		in.guest = nil
	}
}
