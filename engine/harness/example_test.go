package harness_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// payments is a pipeline with two groups that read the same stream: ledger posts
// every payment, fraud replies to every payment.
func payments() *spec.Pipeline {
	stream := func(label string) *spec.Stream {
		return &spec.Stream{Label: label, Name: label, Codec: spec.CodecJSON, Body: spec.DefaultBody}
	}
	in, screened, dead := stream("payments"), stream("screened"), stream("dead")
	post, screen := &spec.Handler{Label: "post"}, &spec.Handler{Label: "screen"}
	subscription := func(label string, h *spec.Handler) *spec.Subscription {
		return &spec.Subscription{
			Label: label, Consumer: label, Handler: h, Retry: spec.DefaultRetry(), Batch: 100, Block: time.Second,
			Claim:     &spec.Claim{MinIdle: 30 * time.Second, Using: spec.UsingAuto},
			Workers:   spec.Workers{Count: 8, Key: &spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: "account"}}}},
			OnInvalid: spec.PolicyDead, OnFailure: spec.PolicyRetry,
		}
	}
	ledger := &spec.Group{Label: "ledger", Name: "ledger", Stream: in, Start: "0", DeadLetter: dead}
	fraud := &spec.Group{Label: "fraud", Name: "fraud", Stream: in, Start: "0", DeadLetter: dead}
	ledger.Subscriptions = []*spec.Subscription{subscription("post_payment", post)}
	fraud.Subscriptions = []*spec.Subscription{subscription("screen_payment", screen)}
	fraud.Subscriptions[0].Reply = &spec.Route{To: screened}
	for _, g := range []*spec.Group{ledger, fraud} {
		g.Subscriptions[0].Group = g
	}
	return &spec.Pipeline{
		Name: "payments", Version: "1", DrainTimeout: 20 * time.Second, Groups: []*spec.Group{ledger, fraud},
		Streams: []*spec.Stream{in, screened, dead}, Handlers: []*spec.Handler{post, screen},
	}
}

// handlers are those of payments, in Go.
func handlers() map[string]sandbox.Handler {
	return map[string]sandbox.Handler{
		// A payment of a migrating account has to wait; others are posted.
		"post": harness.Func(func(_ context.Context, d *sandbox.Delivery) outcome.Outcome {
			if d.Body.Get("account").Text() == "migrating" {
				return outcome.Outcome{Kind: outcome.Retry}
			}
			return outcome.Outcome{Kind: outcome.Ack}
		}),
		// More than a million cents is suspicious.
		"screen": harness.Func(func(_ context.Context, d *sandbox.Delivery) outcome.Outcome {
			amount := d.Body.Get("cents")
			if amount == nil {
				return outcome.Fail(outcome.FailError, "cents are missing")
			}
			cents, _ := strconv.Atoi(amount.Text())
			suspicious := value.NewBool(cents > 1_000_000).Named("suspicious")
			return outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: value.NewObject([]value.Value{suspicious})}}}
		}),
	}
}

// payment is an entry for the stream payments.
func payment(account string, cents int) broker.Add {
	body := fmt.Sprintf(`{"account":%q,"cents":%d}`, account, cents)
	return broker.Add{Stream: "payments", Fields: []broker.Field{{Name: spec.DefaultBody, Value: body}}}
}

// must ends an example that does not work.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Entries are published, a worker is started, and everything runs that happens
// without time passing.
func Example() {
	ctx := context.Background()
	h := must(harness.New(harness.Config{Pipeline: payments(), Handlers: handlers()}))
	defer h.Close()
	must(h.Start(ctx))

	must(h.Publish(payment("acct-7", 12_500), payment("acct-8", 2_000_000)))
	if err := h.Settle(ctx); err != nil {
		panic(err)
	}

	for _, c := range h.Calls("post_payment") {
		fmt.Println(c.ID, c.Outcome)
	}
	for _, e := range h.Entries("screened") {
		fmt.Println(e.Body.Get("suspicious").Bool())
	}
	// Output:
	// 1767225600000-0 ack
	// 1767225600000-1 ack
	// false
	// true
}

// A retry leaves the entry where it is, and min_idle later it comes again under
// its own id.
func ExampleHarness_Advance() {
	ctx := context.Background()
	h := must(harness.New(harness.Config{Pipeline: payments(), Handlers: handlers()}))
	defer h.Close()
	must(h.Start(ctx))

	must(h.Publish(payment("migrating", 1)))
	for range 3 {
		if err := h.Advance(ctx, 30*time.Second); err != nil {
			panic(err)
		}
	}

	for _, c := range h.Calls("post_payment") {
		fmt.Println(c.Time.Sub(harness.DefaultStart), c.ID, c.Outcome, "deliveries before:", c.Deliveries)
	}
	fmt.Println("entries in the stream:", len(h.Entries("payments")))
	// Output:
	// 0s 1767225600000-0 retry deliveries before: 0
	// 30s 1767225600000-0 retry deliveries before: 1
	// 1m0s 1767225600000-0 retry deliveries before: 2
	// 1m30s 1767225600000-0 retry deliveries before: 3
	// entries in the stream: 1
}

// A worker dies after it posted a payment and before that was acknowledged. The
// entry stays pending under its name until another worker claims it.
func ExampleHarness_Arm() {
	ctx := context.Background()
	h := must(harness.New(harness.Config{Pipeline: payments(), Handlers: handlers()}))
	defer h.Close()
	must(h.Start(ctx))

	if err := h.Arm(harness.Fault{Kind: harness.Crash, Subscription: "post_payment", At: harness.BeforeAck}); err != nil {
		panic(err)
	}
	must(h.Publish(payment("acct-7", 12_500)))
	if err := h.Settle(ctx); err != nil {
		panic(err)
	}
	for _, p := range h.Pending("ledger") {
		fmt.Println("pending under", p.Consumer, "deliveries", p.Deliveries)
	}

	must(h.Revive(ctx))
	if err := h.Advance(ctx, 30*time.Second); err != nil {
		panic(err)
	}
	for _, c := range h.Calls("post_payment") {
		fmt.Println(c.Consumer, "said", c.Said, "and came to", c.Outcome)
	}
	fmt.Println("pending:", len(h.Pending("ledger")))
	// Output:
	// pending under post_payment-worker1-0.1 deliveries 1
	// post_payment-worker1-0.1 said ack and came to crashed
	// post_payment-worker2-0.3 said ack and came to ack
	// pending: 0
}

// A group that starts at the beginning sees what was published before the
// service started.
func ExampleHarness_Publish() {
	ctx := context.Background()
	p := payments()
	p.Groups[0].Start = "$" // ledger wants only what is new
	h := must(harness.New(harness.Config{Pipeline: p, Handlers: handlers()}))
	defer h.Close()

	must(h.Publish(payment("acct-7", 1), payment("acct-8", 2)))
	must(h.Start(ctx))

	fmt.Println("posted:", len(h.Calls("post_payment")), "screened:", len(h.Calls("screen_payment")))
	// Output:
	// posted: 0 screened: 2
}

// Claiming reads need Redis 8.4; a pipeline that insists on them does not start
// on an older server.
func ExampleHarness_Start() {
	p := payments()
	p.Groups[0].Subscriptions[0].Claim.Using = spec.UsingRead
	h := must(harness.New(harness.Config{Pipeline: p, Handlers: handlers(), Version: "8.2.0"}))
	defer h.Close()

	_, err := h.Start(context.Background())
	if unsuitable, ok := errors.AsType[*engine.UnsuitableError](err); ok {
		fmt.Println(unsuitable.Code, "of", unsuitable.Subscription)
	}
	// Output:
	// claiming_read_unsupported of post_payment
}

// A payment without cents fails at every attempt, and becomes a dead letter.
func ExampleHarness_Entries() {
	ctx := context.Background()
	p := payments()
	p.Groups[1].Subscriptions[0].Retry = spec.Retry{MaxAttempts: 3, Delay: time.Second, Multiplier: 4}
	h := must(harness.New(harness.Config{Pipeline: p, Handlers: handlers()}))
	defer h.Close()
	must(h.Start(ctx))

	must(h.Publish(broker.Add{Stream: "payments", Fields: []broker.Field{{Name: spec.DefaultBody, Value: `{"account":"acct-7"}`}}}))
	if err := h.Advance(ctx, time.Minute); err != nil {
		panic(err)
	}

	for _, c := range h.Calls("screen_payment") {
		fmt.Println(c.Time.Sub(harness.DefaultStart), c.Outcome, c.Error, c.Dead)
	}
	for _, e := range h.Entries("dead") {
		fmt.Println(e.Letter.Reason, "after", e.Letter.Attempts, "attempts:", e.Letter.Error, "of", e.Body.Get("account").Text())
	}
	// Output:
	// 0s failed cents are missing false
	// 1s failed cents are missing false
	// 5s failed cents are missing true
	// failed after 3 attempts: cents are missing of acct-7
}

// While the workers cannot reach the server, producers go on; nothing is lost.
func ExampleHarness_Restore() {
	ctx := context.Background()
	h := must(harness.New(harness.Config{Pipeline: payments(), Handlers: handlers()}))
	defer h.Close()
	must(h.Start(ctx))

	if err := h.Arm(harness.Fault{Kind: harness.ServerDown}); err != nil {
		panic(err)
	}
	must(h.Publish(payment("acct-7", 1)))
	if err := h.Advance(ctx, time.Minute); err != nil {
		panic(err)
	}
	fmt.Println("while it is down:", len(h.Calls("post_payment")))
	h.Restore()
	if err := h.Advance(ctx, 30*time.Second); err != nil {
		panic(err)
	}
	fmt.Println("then:", len(h.Calls("post_payment")))
	// Output:
	// while it is down: 0
	// then: 1
}
