package work

import (
	"context"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/codec"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/retry"
	"pipeline/engine/internal/tally"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// Code gives the handler's current code and a number that changes with it.
type Code func() (sandbox.Handler, uint64)

// Runner runs entries for one worker. It is not safe for concurrent use.
type Runner struct {
	plan *Plan
	// consumer is the name that dead letters give; empty in a dry-run.
	consumer string
	code     Code
	clock    clock.Clock
	// server is the clock by which entries have their ids.
	server  func() time.Time
	logs    func(*sandbox.Delivery) []sandbox.LogLine
	minIdle time.Duration
	random  func() float64
	// parks reports whether longer waits than a block are parked, too; nil for no.
	parks func() bool
	// begin is asked before a redelivered entry runs; nil in a dry-run.
	begin func(context.Context, *batch.Item) bool
	// tally counts the runs; nil in a dry-run.
	tally *tally.Tally
	// tracer makes the spans; nil makes none.
	tracer observe.Tracer

	instance sandbox.Instance
	version  uint64
	delivery sandbox.Delivery
	env      codec.Env
	keyEnv   codec.Env
	id       []byte
	json     []byte
	slab     slab

	// What a reply is built in, and where what is kept of it comes from.
	adds      []broker.Add
	replies   []observe.Reply
	headers   []outcome.Header
	addsOf    chunks[broker.Add]
	repliesOf chunks[observe.Reply]
	fieldsOf  chunks[broker.Field]
}

// NewRunner returns a runner for a consumer. random, in [0, 1), spreads retries; logs takes what a delivery logged; nil keeps
// nothing. The instance is made when the first entry comes.
func NewRunner(
	p *Plan, consumer string, code Code, c clock.Clock, random func() float64, logs func(*sandbox.Delivery) []sandbox.LogLine,
) *Runner {
	return &Runner{plan: p, consumer: consumer, code: code, clock: c, server: c.Now, random: random, logs: logs, minIdle: groupMinIdle(p.sub.Group)}
}

// OnBegin has f asked whether a redelivered entry may run, just before it does. f
// may wait.
func (r *Runner) OnBegin(f func(context.Context, *batch.Item) bool) { r.begin = f }

// OnServerTime has the age of entries told by the server's clock, which now tells,
// in place of this machine's. Call it before anything runs.
func (r *Runner) OnServerTime(now func() time.Time) { r.server = now }

// age is for how long an entry has been in its stream.
func (r *Runner) age(it *batch.Item) time.Duration {
	return r.server().Sub(time.UnixMilli(int64(it.Delivery.ID.Ms)))
}

// OnTally has the runs counted. Call it before anything runs.
func (r *Runner) OnTally(t *tally.Tally) { r.tally = t }

// Close frees the instance.
func (r *Runner) Close() {
	if r.instance != nil {
		r.instance.Close()
		r.instance = nil
	}
}

// Run decides what becomes of an item: its Action and Outcome are set. It
// reports false when ctx called the handler off; nothing is decided then. An
// item that only has to wait for its time has no result in its Outcome.
func (r *Runner) Run(ctx context.Context, it *batch.Item) bool {
	out := &it.Outcome
	*out = batch.Outcome{Attempt: it.Used + 1}
	if r.tracer != nil {
		r.trace(it)
	}
	switch {
	case it.Foreign:
		out.Result = observe.ResultForeignRetry
		it.Action = batch.Action{Verb: batch.Ack}
		return true
	case it.Invalid != nil:
		// It does not run, but where it is retried this is an attempt.
		if r.plan.sub.OnInvalid == spec.PolicyRetry && !r.begins(ctx, it) {
			return false
		}
		r.invalid(it)
		return true
	case it.Unasked:
		it.Action = batch.Action{Verb: batch.Release}
		return true
	case it.Marked != nil:
		r.duplicate(it)
		return true
	case it.Exhausted:
		out.Attempt = it.Used
		last := ""
		if it.Past != nil {
			last = it.Past.Error
		}
		out.Result, out.Explain().Error = observe.ResultFailed, last
		r.bury(it, codec.ReasonFailed, last)
		return true
	}
	if wait := r.tooEarly(it); wait > 0 {
		it.Action = r.wait(it, wait)
		it.Action.Wait.Uncount = true
		return true
	}
	if !r.begins(ctx, it) {
		return false
	}
	said, ok := r.call(ctx, it)
	if !ok {
		return false
	}
	r.decide(it, &said)
	return true
}

// begins reports whether an attempt may begin.
func (r *Runner) begins(ctx context.Context, it *batch.Item) bool {
	return !it.Redelivered() || r.begin == nil || r.begin(ctx, it)
}

// call runs the handler; false means that it was called off.
func (r *Runner) call(ctx context.Context, it *batch.Item) (outcome.Outcome, bool) {
	if err := r.refresh(ctx); err != nil {
		if ctx.Err() != nil {
			return outcome.Outcome{}, false
		}
		return outcome.Fail(outcome.FailError, err.Error()), true
	}
	began := r.clock.Now()
	r.fill(it, began)
	r.tally.Count(tally.Started, 1)
	said, usage := r.instance.Call(ctx, &r.delivery)
	it.Outcome.Elapsed, it.Outcome.Usage = clock.Since(r.clock, began), usage
	it.Outcome.Began = began
	if r.logs != nil {
		it.Outcome.Explain().Logs = r.logs(&r.delivery)
	}
	called := said.Kind == outcome.Failed && said.Failure.Kind == outcome.FailCanceled
	if called {
		r.tally.Count(tally.CalledOff, 1)
	}
	return said, !called
}

// refresh makes an instance of the current code where there is none.
func (r *Runner) refresh(ctx context.Context) error {
	h, version := r.code()
	if r.instance != nil && version == r.version {
		return nil
	}
	r.Close()
	instance, err := h.NewInstance(ctx)
	if err != nil {
		return err
	}
	r.instance, r.version = instance, version
	return nil
}

// fill shows the item to the handler, at a time. The clock is read once for both:
// that costs more than all else here.
func (r *Runner) fill(it *batch.Item, now time.Time) {
	s := r.plan.sub
	r.id = it.Delivery.ID.Append(r.id[:0])
	r.delivery = sandbox.Delivery{
		ID: r.slab.text(r.id), Stream: s.Group.Stream.Name, Group: s.Group.Name, Subscription: s.Label,
		Key: it.Key, Headers: it.Body.Headers, Fields: it.Delivery.Fields,
		Deliveries: it.Delivery.Deliveries, Attempt: it.Used + 1, MaxAttempts: s.Retry.MaxAttempts,
		Idle: it.Delivery.Idle, Now: now,
		Kind: bodyKind(s.Group.Stream.Codec), Body: &it.Body.Value, Raw: it.Body.Raw,
		Replies: len(r.plan.targets) > 0,
	}
}

func bodyKind(c spec.Codec) sandbox.BodyKind {
	switch c {
	case spec.CodecText:
		return sandbox.BodyText
	case spec.CodecBytes:
		return sandbox.BodyBytes
	}
	return sandbox.BodyValue
}

// decide turns what the handler said into what is written.
func (r *Runner) decide(it *batch.Item, said *outcome.Outcome) {
	out := &it.Outcome
	if said.Reason != "" {
		out.Explain().Reason = said.Reason
	}
	switch said.Kind {
	case outcome.Ack:
		out.Result = observe.ResultAck
		r.acknowledge(it, true)
	case outcome.Drop:
		out.Result = observe.ResultDrop
		r.acknowledge(it, true)
	case outcome.Dead:
		out.Result = observe.ResultDead
		r.bury(it, codec.ReasonRejected, said.Reason)
	case outcome.Retry:
		r.askedRetry(it, said)
	case outcome.Reply:
		r.reply(it, said)
	case outcome.Failed:
		r.fail(it, said.Failure)
	default:
		r.fail(it, &outcome.Failure{Kind: outcome.FailResult, Message: "the handler came to no outcome"})
	}
}

// leastWait keeps a handler that asks for no wait from spinning.
const leastWait = 100 * time.Millisecond

// askedRetry lets the entry wait because the handler asked for it. Without a
// time it waits in place until it has been idle for min_idle, or, where nobody
// claims, a copy takes its place; one whose key is held waits as long as after
// a failed attempt instead.
func (r *Runner) askedRetry(it *batch.Item, said *outcome.Outcome) {
	it.Outcome.Result = observe.ResultRetry
	out := it.Outcome.Explain()
	claim := r.plan.sub.Claim
	var wait time.Duration
	switch {
	case said.HasAfter:
		wait = max(said.After, leastWait)
		out.After, out.HasAfter = wait, true
	case claim == nil && r.keeps(it):
		// A copy would come behind the later entries of the key.
		wait = max(retry.Delay(&r.plan.sub.Retry, int(it.Delivery.Deliveries)+1, r.random()), leastWait)
		out.After, out.HasAfter = wait, true
	case claim == nil:
		r.copyBack(it)
		return
	default:
		wait = claim.MinIdle
	}
	it.Action = r.wait(it, wait)
	it.Action.Wait.Asked = true
	it.Action.Wait.Error = said.Reason
}

// ParkSlack is how much later than its due time a parked entry may be claimed.
// The consumer that parked it takes it when it is due, alone; only if that one
// is gone does a claim bring it.
const ParkSlack = 500 * time.Millisecond

// OnPark has parks asked whether a wait that is longer than a block is parked,
// too. Call it before anything runs.
func (r *Runner) OnPark(parks func() bool) { r.parks = parks }

// wait puts an item back for d. Where somebody claims, only short waits are
// parked, unless parks says otherwise: a claim brings the others, and nothing of
// them stays in memory.
func (r *Runner) wait(it *batch.Item, d time.Duration) batch.Action {
	s := r.plan.sub
	a := batch.Action{Verb: batch.Wait, Wait: &broker.Wait{ID: it.Delivery.ID, Timed: true, After: d, MinIdle: r.minIdle}}
	if r.keeps(it) {
		a.Keep, a.Wait.MinIdle = true, 0
		return a
	}
	short := d <= s.Block || r.parks != nil && r.parks()
	if s.Claim == nil || short && d+ParkSlack <= r.minIdle {
		a.Park = true
		a.Wait.MinIdle = max(0, r.minIdle-ParkSlack)
	}
	return a
}

// keeps reports whether this consumer keeps the entry while it waits, so that
// the later ones of its key can be held behind it.
func (r *Runner) keeps(it *batch.Item) bool { return r.plan.sub.Workers.Hold && it.Key != "" }

// fail handles a failed attempt: the entry waits by the policy, or is buried
// when that was the last one.
func (r *Runner) fail(it *batch.Item, f *outcome.Failure) {
	it.Outcome.Result = observe.ResultFailed
	s, out := r.plan.sub, it.Outcome.Explain()
	out.Kind, out.Error = f.Kind, f.Message
	attempt := it.Used + 1
	switch {
	case s.OnFailure == spec.PolicyStop:
		it.Action = batch.Action{Verb: batch.Stop}
	case s.OnFailure == spec.PolicyDead, attempt >= s.Retry.MaxAttempts:
		r.bury(it, codec.ReasonFailed, f.Message)
	case s.Retry.MaxAge > 0 && r.age(it) >= s.Retry.MaxAge:
		r.bury(it, codec.ReasonExpired, f.Message)
	default:
		out.After, out.HasAfter = retry.Delay(&s.Retry, attempt, r.random()), true
		it.Action = r.wait(it, out.After)
		it.Action.Wait.Error = f.Message
	}
}

// invalid handles an entry that cannot be run.
func (r *Runner) invalid(it *batch.Item) {
	it.Outcome.Result = observe.ResultInvalid
	s, out := r.plan.sub, it.Outcome.Explain()
	out.Error = it.Invalid.Error()
	reason := codec.InvalidReason(it.Invalid)
	switch s.OnInvalid {
	case spec.PolicyDrop:
		r.acknowledge(it, false)
	case spec.PolicyStop:
		it.Action = batch.Action{Verb: batch.Stop}
	case spec.PolicyRetry:
		if it.Used+1 < s.Retry.MaxAttempts {
			out.After, out.HasAfter = retry.Delay(&s.Retry, it.Used+1, r.random()), true
			it.Action = r.wait(it, out.After)
			it.Action.Wait.Error = out.Error
			return
		}
		r.bury(it, reason, out.Error)
	default:
		r.bury(it, reason, out.Error)
	}
}
