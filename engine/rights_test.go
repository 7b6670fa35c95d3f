package engine_test

import (
	"errors"
	"strings"
	"sync/atomic"
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

// What is refused for good is asked for once: each time would stand in the
// server's ACL LOG.
func TestAFloorThatMayNotBeWrittenIsAskedForOnce(t *testing.T) {
	other := subscription()
	other.Label, other.Consumer, other.Group.Label, other.Group.Name = "t", "t", "other", "other"
	b := &bench{t: t, clock: newClock(), sub: subscription(), others: []*spec.Group{other.Group}}
	b.broker, b.log = memory.New(b.clock, memory.Options{}), &journal{clock: b.clock}
	var refused, saved atomic.Int32
	b.broker.SetFault(func(c memory.Call) memory.Effect {
		switch {
		case c.Op != "save floor of":
		case c.Group == "g":
			refused.Add(1)
			return memory.Effect{Err: broker.ErrNoPermission, Skip: true}
		default:
			saved.Add(1)
		}
		return memory.Effect{}
	})
	b.start(ack)
	b.advance(time.Minute)
	_ = b.stop()
	if refused.Load() != 1 || saved.Load() < 10 {
		t.Errorf("in a minute, what is refused was asked for %d times, want once; the other floor was written %d times", refused.Load(), saved.Load())
	}
}
