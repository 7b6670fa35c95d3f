package testrun

import (
	"context"
	"slices"
	"testing"

	"pipeline/engine"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/lang/testspec"
	"pipeline/sandbox"
)

// calledOnce makes a call of a handler.
func calledOnce(t *testing.T, h *handler) outcome.Outcome {
	t.Helper()
	in, err := h.NewInstance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	said, _ := in.Call(t.Context(), &sandbox.Delivery{})
	return said
}

// fails is code that fails in one way.
func fails(kind outcome.FailureKind) harness.Func {
	return func(context.Context, *sandbox.Delivery) outcome.Outcome { return outcome.Fail(kind, "as it is") }
}

// A call that reaches the real time limit says more about the machine than
// about the handler: the test hears of it. Other failures are the handler's.
func TestRealTimeLimitIsTold(t *testing.T) {
	t.Parallel()
	var told []string
	for _, kind := range []outcome.FailureKind{outcome.FailError, outcome.FailTimeout, outcome.FailInstructions} {
		calledOnce(t, &handler{
			label: string(kind), code: fails(kind), logs: &logs{}, keep: &engine.LogKeeper{}, life: t.Context(),
			slow: func(label string) { told = append(told, label) },
		})
	}
	if !slices.Equal(told, []string{"timeout"}) {
		t.Errorf("told of %v", told)
	}
}

// Of a test that was given up every call fails: one that is called off would be
// made again at once.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	life, end := context.WithCancel(t.Context())
	end()
	said := calledOnce(t, &handler{code: fails(outcome.FailCanceled), logs: &logs{}, keep: &engine.LogKeeper{}, life: life})
	if said.Failure == nil || said.Failure.Kind != outcome.FailError {
		t.Errorf("it said %+v", said)
	}
}

// Mocks say what the file says, each its number of calls, then the code does.
func TestMocks(t *testing.T) {
	t.Parallel()
	h := &handler{code: fails(outcome.FailCrash), logs: &logs{}, keep: &engine.LogKeeper{}, life: t.Context()}
	for _, m := range []testspec.Mock{
		{Outcome: testspec.SaysAck, Times: 2},
		{Outcome: testspec.SaysRetry, Times: 1, After: 5, HasAfter: true, Reason: "later"},
		{Outcome: testspec.SaysDead, Times: 1, Reason: "never"},
		{Outcome: testspec.SaysDrop, Times: 1},
		{Outcome: testspec.SaysFailed, Times: 1, Error: "oh"},
		{Outcome: testspec.SaysReply, Times: 1, Reply: &testspec.MockReply{
			Body: value.NewBool(true), To: "r", Key: "k", HasKey: true, Headers: []testspec.Field{{Name: "n", Value: "v"}},
		}},
		{Outcome: "nonsense", Times: 1},
	} {
		h.mocked(&m)
	}
	var kinds []string
	for range 9 {
		said := calledOnce(t, h)
		text := said.Kind.String() + said.Reason
		if said.Failure != nil {
			text += ": " + said.Failure.Message
		}
		for _, r := range said.Replies {
			text += ": " + r.To + r.Key + r.Headers[0].Name
		}
		kinds = append(kinds, text)
	}
	want := []string{
		"ack", "ack", "retrylater", "deadnever", "drop", "failed: oh", "reply: rkn", `failed: a mock says "nonsense", which is no outcome`,
		"failed: as it is",
	}
	if !slices.Equal(kinds, want) {
		t.Errorf("got  %q\nwant %q", kinds, want)
	}
}
