package harness_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/sandbox"
)

func TestTheCheckFindsWhatDoesNotAgree(t *testing.T) {
	h, err := harness.New(harness.Config{Pipeline: single(nil), Handlers: map[string]sandbox.Handler{
		"s": harness.Func(func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
			if d.Body.Get("done") != nil {
				return ack(ctx, d)
			}
			return outcome.Fail(outcome.FailError, "boom")
		}),
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}()
	b := &bench{h, t}
	b.start()
	ids := b.publish("in", `{"done":true}`, `{}`)
	if err := h.Check(); err != nil {
		t.Fatalf("without cause: %v", err)
	}
	// Somebody acknowledges an entry that waits for a retry, behind everyone's back.
	owner := broker.Owner{Stream: "in", Group: "g", Consumer: "nobody"}
	if _, err := b.Server().Settle(t.Context(), &broker.Settlement{Owner: owner, Acks: ids[1:]}); err != nil {
		t.Fatal(err)
	}
	if err := h.Check(); err == nil || !strings.Contains(err.Error(), ids[1].String()+" is not pending and has a record") {
		t.Errorf("a record without a pending entry: %v", err)
	}
	b.advance(10 * time.Second) // the record is swept
	if err := h.Check(); err == nil || !strings.Contains(err.Error(), ids[1].String()+" was delivered, is not pending, and nothing came of it") {
		t.Errorf("an entry that is lost: %v", err)
	}
}
