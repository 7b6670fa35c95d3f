package engine_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// forbid makes an operation end as for a login that lacks a right.
func forbid(b *memory.Broker, operation string) {
	b.SetFault(func(c memory.Call) memory.Effect {
		if strings.HasPrefix(c.Op, operation) {
			return memory.Effect{Err: broker.ErrNoPermission, Skip: true}
		}
		return memory.Effect{}
	})
}

// namesApply fails the test unless the run ended for want of a right and says
// what creates the group.
func namesApply(t *testing.T, err error) {
	t.Helper()
	if _, ok := errors.AsType[*engine.FailedError](err); !ok || !errors.Is(err, broker.ErrNoPermission) {
		t.Fatalf("the run ended with %v", err)
	}
	if !strings.Contains(err.Error(), "pipeline apply") {
		t.Errorf("%q does not say what creates the group", err)
	}
}

func TestAnAbsentGroupThatTheLoginMayNotCreateEndsTheRunWithTheRemedy(t *testing.T) {
	s := subscription()
	br := memory.New(newClock(), memory.Options{})
	forbid(br, "create group")
	e, err := engine.New(engine.Config{
		Pipeline: &spec.Pipeline{Groups: []*spec.Group{s.Group}}, Broker: br, Host: "h",
		Handlers: map[string]sandbox.Handler{"h": function(ack)},
	})
	if err != nil {
		t.Fatal(err)
	}
	namesApply(t, e.Run(t.Context()))
}

func TestALostGroupThatTheLoginMayNotRestoreEndsTheRunWithTheRemedy(t *testing.T) {
	b := newBench(t, memory.Options{}, ack, nil)
	b.publish(`{}`)
	forbid(b.broker, "restore group")
	b.broker.DestroyGroup("in", "g")
	for b.engine.Snapshot().Subscriptions[0].Err == nil {
		b.clock.AdvanceToNext(b.clock.Now().Add(time.Minute))
	}
	b.ran.Wait()
	namesApply(t, b.err)
}
