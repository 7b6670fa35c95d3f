package sim

import (
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/spec"
)

// shape is what differs from pipeline to pipeline.
type shape struct {
	// Split: the ledger reads new entries with one subscription and takes over
	// pending ones with another, as before Redis 8.4.
	Split bool
	// Workers, Batch and Attempts are those of every subscription; New* those of
	// the version that is rolled out.
	Workers, Batch, Attempts int
	NewWorkers, NewBatch     int
	NewMinIdle               time.Duration
	// Hold: the later entries of a key wait while one of it is retried.
	Hold bool
	// Window is how long keys are remembered, 0 where they are not.
	Window time.Duration
	// Monotonic: workers' clocks have a monotonic reading. Those without are only set
	// forward.
	Monotonic bool
	// Machines is on how many machines workers start in turn.
	Machines int
	// Backlog is the max_backlog of the stream of replies, 0 where it has none.
	Backlog int
}

func drawShape(t *rapid.T) shape {
	return shape{
		Hold: rapid.Bool().Draw(t, "hold"), Split: rapid.Bool().Draw(t, "split"), Workers: between(t, 1, 3, "workers"),
		Batch: one(t, []int{1, 3, 100}, "batch"), Attempts: between(t, 3, 6, "attempts"),
		NewWorkers: between(t, 1, 4, "new workers"), NewBatch: one(t, []int{1, 2, 50}, "new batch"),
		NewMinIdle: one(t, []time.Duration{minIdle, minIdle / 2, 2 * minIdle}, "new min_idle"),
		Machines:   between(t, 1, 3, "machines"),
		Window:     one(t, []time.Duration{0, 0, 5 * time.Second, minIdle + time.Second, 2 * time.Minute}, "window"),
		Monotonic:  rapid.Bool().Draw(t, "monotonic"),
		Backlog:    one(t, backlogs, "backlog"),
	}
}

// drainTimeout is that of the pipeline.
const drainTimeout = 20 * time.Second

// The groups, and the streams beside "in".
const (
	ledger = "ledger"
	fraud  = "fraud"
)

// pipeline is the first version, or the one that is rolled out.
func (s *shape) pipeline(next bool) *spec.Pipeline {
	stream := func(label string) *spec.Stream {
		return &spec.Stream{Label: label, Name: label, Codec: spec.CodecJSON, Body: spec.DefaultBody, MaxEntrySize: maxEntrySize}
	}
	in, out, dead := stream("in"), stream("out"), stream("dead")
	out.MaxBacklog = int64(s.Backlog)
	p := &spec.Pipeline{Name: "sim", Version: "1", DrainTimeout: drainTimeout, Streams: []*spec.Stream{in, out, dead}}
	if next {
		p.Version = "2"
	}
	for _, label := range []string{ledger, fraud} {
		g := &spec.Group{Label: label, Name: label, Start: "0", Stream: in, DeadLetter: dead}
		p.Groups = append(p.Groups, g)
		if s.Split && label == ledger {
			s.subscribe(g, "new", out, nil, next)
			s.subscribe(g, "recover", out, &spec.Claim{MinIdle: minIdle, Using: spec.UsingAuto, Only: true}, next)
			continue
		}
		s.subscribe(g, label, out, &spec.Claim{MinIdle: minIdle, Using: spec.UsingAuto}, next)
	}
	return p
}

func (s *shape) subscribe(g *spec.Group, label string, out *spec.Stream, claim *spec.Claim, next bool) {
	sub := &spec.Subscription{
		Label: label, Group: g, Handler: &spec.Handler{Label: label}, Consumer: label,
		Retry: spec.Retry{MaxAttempts: s.Attempts, Delay: time.Second, Multiplier: 2, MaxDelay: 15 * time.Second},
		Batch: s.Batch, Block: time.Second, Claim: claim, Workers: spec.Workers{Count: s.Workers, Hold: s.Hold, HoldLimit: 100}, Reply: &spec.Route{To: out},
		OnInvalid: spec.PolicyDead, OnFailure: spec.PolicyRetry,
	}
	if s.Window > 0 {
		sub.Idempotency = &spec.Idempotency{Key: &spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: "k"}}}, Window: s.Window}
	}
	if next {
		sub.Workers.Count, sub.Batch = s.NewWorkers, s.NewBatch
		if claim != nil {
			claim.MinIdle = s.NewMinIdle
		}
	}
	g.Subscriptions = append(g.Subscriptions, sub)
}
