package plan

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// collector gathers a plan. Its methods return an error only when it is no use
// to go on: the server is gone.
type collector struct {
	pipeline *spec.Pipeline
	server   Server
	clock    clock.Clock
	plan     *Plan
	// looks: the login is no worker's, so that nobody asks what it may do.
	looks bool
}

// Collect looks at the server. Whatever goes wrong is among the plan's problems.
func Collect(ctx context.Context, p *spec.Pipeline, s Server, c clock.Clock) *Plan {
	return (&collector{pipeline: p, server: s, clock: c, plan: &Plan{}}).run(ctx)
}

// Look is Collect with a login that is not the one of workers: what that may do is
// not asked, and its Rights are not known.
func Look(ctx context.Context, p *spec.Pipeline, s Server, c clock.Clock) *Plan {
	return (&collector{pipeline: p, server: s, clock: c, plan: &Plan{}, looks: true}).run(ctx)
}

func (k *collector) run(ctx context.Context) *Plan {
	if err := k.collect(ctx); err != nil {
		k.unreachable(err)
	}
	k.plan.Complete = k.plan.Complete && k.plan.Reached
	slices.SortStableFunc(k.plan.Problems, func(a, b Problem) int { return cmp.Compare(a.Severity, b.Severity) })
	return k.plan
}

func (k *collector) collect(ctx context.Context) error {
	var err error
	if k.plan.Server, err = k.server.Probe(ctx); err != nil {
		return k.undeclaredCluster(ctx, err)
	}
	k.plan.Reached = true
	if k.plan.Settings, err = k.server.Settings(ctx); err != nil {
		return err
	}
	k.settings()
	k.subscriptions()
	k.declareStreams()
	k.slots()
	for _, s := range k.plan.Streams {
		if err := k.look(ctx, s); err != nil {
			return err
		}
	}
	for _, g := range k.pipeline.Groups {
		if err := k.group(ctx, g); err != nil {
			return err
		}
	}
	for _, s := range k.plan.Streams {
		if err := k.foreign(ctx, s); err != nil {
			return err
		}
	}
	if !k.looks {
		if err := k.rights(ctx); err != nil {
			return err
		}
	}
	k.plan.Complete = true
	return nil
}

// undeclaredCluster tells of a server whose refusal comes from being one of a
// cluster, and returns nil then.
func (k *collector) undeclaredCluster(ctx context.Context, err error) error {
	e, ok := errors.AsType[*broker.Error](err)
	if ok && !k.pipeline.Broker.Cluster && (strings.HasPrefix(e.Detail, "MOVED") || strings.HasPrefix(e.Detail, "CLUSTERDOWN")) {
		if s, asked := k.server.Settings(ctx); asked == nil && s.Cluster {
			k.plan.Settings = s
			k.settings()
			return nil
		}
	}
	return err
}

// subscriptions asks for each whether the server suits it, as run does.
func (k *collector) subscriptions() {
	for _, s := range k.pipeline.Subscriptions() {
		out := &Subscription{Spec: s, Claims: claiming(s, k.plan.Server.Features)}
		if err := engine.Suits(s, k.plan.Server); err != nil {
			out.Refused = true
			d := atPos(s.Pos, diag.Error, "server_unsuitable", err.Error(), "")
			if e, ok := errors.AsType[*engine.UnsuitableError](err); ok {
				d.Code = diag.Code(e.Code)
			}
			k.add(d, true)
		}
		k.plan.Subscriptions = append(k.plan.Subscriptions, out)
	}
}

func claiming(s *spec.Subscription, f broker.Features) Claiming {
	switch {
	case s.Claim == nil:
		return ClaimsNever
	case s.Claim.Only:
		return ClaimsOnly
	case s.Claim.Using == spec.UsingRead, s.Claim.Using == spec.UsingAuto && f.ClaimingRead:
		return ClaimsRead
	}
	return ClaimsAuto
}

// look finds out what the key of a stream holds.
func (k *collector) look(ctx context.Context, s *Stream) error {
	kind, err := k.server.KeyType(ctx, s.Spec.Name)
	switch {
	case errors.Is(err, broker.ErrNoPermission):
		// What XINFO says is enough, but for the name of another type.
		kind = "stream"
	case err != nil:
		return err
	case kind == "none":
		s.State = Absent
		return nil
	}
	if kind != "stream" {
		k.wrongType(s, kind)
		return nil
	}
	s.State = Exists
	if s.Info, err = k.server.StreamInfo(ctx, s.Spec.Name); err == nil {
		s.infos, err = k.server.GroupInfos(ctx, s.Spec.Name)
	}
	switch {
	case errors.Is(err, broker.ErrNoPermission):
		s.State = Unknown
		return nil
	case errors.Is(err, broker.ErrWrongType):
		k.wrongType(s, "")
		return nil
	case err != nil:
		return err
	}
	if s.Info == (broker.StreamInfo{}) {
		s.State = Absent // TYPE could not tell
	}
	s.Trim = k.trim(s)
	return nil
}

// trim is what retention would remove now.
func (k *collector) trim(s *Stream) Trim {
	r := s.Spec.Retention
	if r == nil || s.State != Exists {
		return Trim{}
	}
	t := Trim{Protected: r.ProtectUnacknowledged}
	if r.MaxLength > 0 {
		t.Over = max(0, s.Info.Length-r.MaxLength)
	}
	if s.Info.Length > 0 {
		t.Age = k.age(s.Info.FirstID)
		t.Expired = r.MaxAge > 0 && t.Age > r.MaxAge
	}
	for _, g := range s.infos {
		long := t.Over > 0 && g.LagKnown && g.Lag > r.MaxLength
		if old := t.Over > 0 || t.Expired; !t.Protected && (long || old && g.LastDelivered.Less(s.Info.FirstID)) {
			t.Unread = append(t.Unread, g.Name)
		}
	}
	return t
}

// age is how old an entry is by its id, 0 for one from the future.
func (k *collector) age(id broker.ID) time.Duration {
	ms := k.clock.Now().UnixMilli() - int64(min(id.Ms, 1<<62))
	return time.Duration(min(max(0, ms), int64(1<<62/time.Millisecond))) * time.Millisecond
}

// declareStreams lists the streams with what is done with each.
func (k *collector) declareStreams() {
	for _, s := range k.pipeline.Streams {
		st := k.stream(s)
		if r := s.Retention; r != nil && r.ProtectUnacknowledged {
			st.uses[redis.TrimProtected] = true
		} else if r != nil {
			st.uses[redis.Trim] = true
		}
	}
	for _, g := range k.pipeline.Groups {
		source := k.stream(g.Stream)
		if len(g.Subscriptions) == 0 {
			continue
		}
		source.use(redis.Consume, "read by "+g.Label)
		source.Creates = cmp.Or(source.Creates, "created with the group "+g.Label)
		for _, s := range g.Subscriptions {
			k.destinations(s)
		}
		k.stream(g.DeadLetter).use(redis.Publish, "dead letters of "+g.Label)
	}
	for _, s := range k.plan.Streams {
		if s.Creates == "" && s.uses[redis.Publish] {
			s.Creates = "created by its first entry"
		}
	}
}

func (k *collector) destinations(s *spec.Subscription) {
	if s.Claim == nil {
		k.stream(s.Group.Stream).use(redis.Publish, "") // copies for a retry
	}
	for _, r := range routes(s) {
		k.stream(r.To).use(redis.Publish, "replies of "+s.Label)
		if r.To.MaxBacklog > 0 {
			k.stream(r.To).use(redis.Measure, "")
		}
	}
}

// routes are where values of a subscription may go.
func routes(s *spec.Subscription) []*spec.Route {
	if s.Reply != nil {
		return []*spec.Route{s.Reply}
	}
	return s.Routes
}

func (s *Stream) use(u redis.Use, words string) {
	s.uses[u] = true
	if words != "" && !slices.Contains(s.Uses, words) {
		s.Uses = append(s.Uses, words)
	}
}

// stream is the one for a key, whoever declares it.
func (k *collector) stream(s *spec.Stream) *Stream {
	for _, known := range k.plan.Streams {
		if known.Spec.Name == s.Name {
			return known
		}
	}
	st := &Stream{Spec: s, State: Unknown, uses: map[redis.Use]bool{}}
	k.plan.Streams = append(k.plan.Streams, st)
	return st
}
