package bench

import (
	"context"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// native is the screen handler of the worked example as a Go function, or one
// that only acknowledges.
type native struct{ replies bool }

// NewInstance implements sandbox.Handler.
func (n native) NewInstance(context.Context) (sandbox.Instance, error) {
	return &nativeInstance{replies: n.replies, messages: make([]outcome.Message, 1), members: make([]value.Value, 2)}, nil
}

// Hash implements sandbox.Handler.
func (native) Hash() string { return "native" }

// Close implements sandbox.Handler.
func (native) Close() error { return nil }

// nativeInstance keeps the room for one reply, which is valid until the next
// call, as the interface has it.
type nativeInstance struct {
	replies  bool
	messages []outcome.Message
	members  []value.Value
}

// large is the amount above which a payment is suspicious.
const large = "1000000"

// Call implements sandbox.Instance.
func (n *nativeInstance) Call(_ context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	if !n.replies {
		return outcome.Outcome{Kind: outcome.Ack}, sandbox.Usage{}
	}
	id, amount := member(d.Body, "id"), member(d.Body, "amount_cents")
	if id == nil || amount == nil {
		return outcome.Fail(outcome.FailError, "the payment lacks its id or its amount"), sandbox.Usage{}
	}
	n.members[0] = value.NewNumber(id.Text()).Named("payment_id")
	n.members[1] = value.NewBool(value.CompareNumbers(amount.Text(), large) > 0).Named("suspicious")
	n.messages[0] = outcome.Message{Body: value.NewObject(n.members)}
	return outcome.Outcome{Kind: outcome.Reply, Replies: n.messages}, sandbox.Usage{}
}

// Close implements sandbox.Instance.
func (*nativeInstance) Close() {}

func member(v *value.Value, name string) *value.Value {
	for i := range v.Items() {
		if kid := &v.Items()[i]; kid.Name() == name {
			return kid
		}
	}
	return nil
}

// gated holds every call back while its gate is shut: for measuring what holding
// entries costs.
type gated struct {
	sandbox.Handler
	gate *gate
}

// NewInstance implements sandbox.Handler.
func (g gated) NewInstance(ctx context.Context) (sandbox.Instance, error) {
	i, err := g.Handler.NewInstance(ctx)
	return gatedInstance{i, g.gate}, err
}

type gatedInstance struct {
	sandbox.Instance
	gate *gate
}

// Call implements sandbox.Instance.
func (g gatedInstance) Call(ctx context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	g.gate.pass(ctx)
	if ctx.Err() != nil {
		return outcome.Fail(outcome.FailCanceled, "called off"), sandbox.Usage{}
	}
	return g.Instance.Call(ctx, d)
}
