package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pipeline/engine/backlog"
	"pipeline/engine/broker"
	"pipeline/engine/internal/health"
	"pipeline/engine/internal/lease"
	"pipeline/engine/internal/tally"
	"pipeline/engine/internal/work"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// subscription runs one subscription, one session after another. A session is
// the life of one consumer name; a name that was lost to another process ends
// it and the next one begins.
type subscription struct {
	engine *Engine
	spec   *spec.Subscription
	plan   *work.Plan
	// minIdle is the smallest of the group, 0 where nobody claims.
	minIdle time.Duration
	// claimable is how long what is handed back is to look idle: longer than any
	// min_idle of the group by so much that a process of an earlier version of the
	// file, which may have a larger one, claims it as well. 0 where nobody claims.
	claimable time.Duration
	// gates are the gauges of the streams to which it may have to wait to reply.
	gates  map[string]*backlog.Gauge
	counts counts
	// tally is of all its sessions.
	tally   tally.Tally
	left    atomic.Int64
	session atomic.Pointer[session]

	mu    sync.Mutex
	err   error
	begun bool
}

func newSubscription(e *Engine, s *spec.Subscription) (*subscription, error) {
	plan, err := work.Compile(s, e.cfg.Pipeline.Version)
	if err != nil {
		return nil, fmt.Errorf("engine: subscription %s: %w", s.Label, err)
	}
	least, most := groupMinIdle(s.Group)
	return &subscription{engine: e, spec: s, plan: plan, minIdle: least, claimable: 2 * most, gates: e.gates(s)}, nil
}

// groupMinIdle is the smallest and the largest min_idle with which anyone claims in
// the group; 0 where nobody does.
func groupMinIdle(g *spec.Group) (least, most time.Duration) {
	for _, s := range g.Subscriptions {
		if s.Claim == nil {
			continue
		}
		if least == 0 || s.Claim.MinIdle < least {
			least = s.Claim.MinIdle
		}
		most = max(most, s.Claim.MinIdle)
	}
	return least, most
}

// Suits refuses a server that cannot do what a subscription asks for: the error
// is an *UnsuitableError, and Run would return it.
func Suits(s *spec.Subscription, server broker.Server) error {
	c := s.Claim
	switch {
	case c == nil:
		return nil
	case c.Using == spec.UsingRead && !server.Features.ClaimingRead:
		return &UnsuitableError{
			Code: CodeClaimingRead, Subscription: s.Label,
			Message: fmt.Sprintf("subscription %s claims with its reads (using = \"read\"), which needs Redis %s; this server is %s %s. "+
				"Use using = \"auto\" to claim with XAUTOCLAIM on this server, or a newer server",
				s.Label, broker.ClaimingReadSince, server.Software, server.Version),
		}
	case !server.Features.ClaimingRead && !server.Features.AutoClaim:
		return &UnsuitableError{
			Code: "autoclaim_unsupported", Subscription: s.Label,
			Message: fmt.Sprintf("subscription %s claims pending entries, which needs XAUTOCLAIM (Redis 6.2.0); this server is %s %s",
				s.Label, server.Software, server.Version),
		}
	}
	return nil
}

// run runs sessions until ctx is done or the subscription fails.
func (s *subscription) run(ctx context.Context) {
	defer s.begin()
	s.tellApart()
	part := s.engine.server.Part()
	defer part.Leave()
	for ctx.Err() == nil && s.failure() == nil {
		session, err := s.open(ctx)
		if err != nil {
			if !s.wait(ctx, err, part) {
				return
			}
			continue
		}
		part.OK()
		session.run(ctx)
		s.session.Store(nil)
	}
}

// wait waits out an error of opening a session; false ends the subscription.
func (s *subscription) wait(ctx context.Context, err error, part *health.Part) bool {
	if errors.Is(err, broker.ErrNoGroup) {
		err = s.restore(ctx)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return false
	case broker.Transient(err):
		part.Failed(err)
	default:
		s.fail(err)
		return false
	}
	return part.Wait(ctx) == nil
}

// fail ends the subscription for good. Its entries stay where they are.
func (s *subscription) fail(err error) {
	s.mu.Lock()
	first := s.err == nil
	if first {
		s.err = err
	}
	s.mu.Unlock()
	if first {
		s.event(observe.Event{
			Name: observe.EventFailed, Level: sandbox.Error, Err: err,
			Message: "the subscription stopped: " + failureWords(err),
		})
		s.begin()
	}
	if session := s.session.Load(); session != nil {
		session.stop()
	}
}

// failureWords says what to do about an error that does not pass.
func failureWords(err error) string {
	switch {
	case errors.Is(err, broker.ErrWrongType):
		return "rename the key that is in the way, or the stream"
	case errors.Is(err, broker.ErrNoPermission):
		return "grant the user the command and key that the error names"
	}
	return "its entries stay pending"
}

func (s *subscription) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// begin tells the engine, once, that this subscription reads or has failed.
func (s *subscription) begin() {
	s.mu.Lock()
	first := !s.begun
	s.begun = true
	s.mu.Unlock()
	if first {
		s.engine.began()
	}
}

// restore creates the lost group again, at the floor that was written down.
func (s *subscription) restore(ctx context.Context) error {
	s.engine.server.GroupLost()
	g := s.spec.Group
	at, restored, err := s.engine.cfg.Broker.RestoreGroup(ctx, g.Stream.Name, g.Name)
	if err != nil || !restored {
		return absentGroup(err)
	}
	s.event(observe.Event{
		Name: observe.EventGroupRestored, Level: sandbox.Error,
		Message: "the group was gone and was created again at " + at.String() + "; entries after it are delivered again",
	})
	return nil
}

// absentGroup adds to an error of creating a group what those do whose workers
// may not create any.
func absentGroup(err error) error {
	if errors.Is(err, broker.ErrNoPermission) {
		return fmt.Errorf("%w; `pipeline apply` creates it, with a login that may", err)
	}
	return err
}

// event tells of something about this subscription.
func (s *subscription) event(ev observe.Event) {
	ev.Subscription, ev.Stream, ev.Group = s.spec.Label, s.spec.Group.Stream.Name, s.spec.Group.Name
	s.engine.event(ev)
}

// slotRequest names the lease that gives a session its consumer name.
func (s *subscription) slotRequest(token string) broker.SlotRequest {
	g := s.spec.Group
	return broker.SlotRequest{
		Stream: g.Stream.Name, Group: g.Name, Base: s.spec.Consumer + "-" + s.engine.cfg.Host,
		Token: token, TTL: lease.TTL(s.spec.Block), MinIdle: s.minIdle,
	}
}
