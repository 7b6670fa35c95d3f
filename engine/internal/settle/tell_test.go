package settle_test

import (
	"testing"

	"pipeline/engine/internal/batch"
)

// A settlement of many is told of in several calls: each entry once, in their order.
func TestEveryOutcomeOfALargeSettlementIsToldOnce(t *testing.T) {
	verbs := make([]batch.Verb, 1000)
	for i := range verbs {
		verbs[i] = batch.Ack
	}
	b := newBench(t, verbs...)
	b.run()
	if len(b.settled) != len(verbs) {
		t.Fatalf("told of %d outcomes, want %d", len(b.settled), len(verbs))
	}
	for i := range b.settled {
		if b.settled[i].ID != id(i+1) {
			t.Fatalf("outcome %d is that of %s", i, b.settled[i].ID)
		}
	}
}
