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
	// Machines is on how many machines workers start in turn.
	Machines int
}

func drawShape(t *rapid.T) shape {
	return shape{
		Hold: rapid.Bool().Draw(t, "hold"), Split: rapid.Bool().Draw(t, "split"), Workers: rapid.IntRange(1, 3).Draw(t, "workers"),
		Batch: rapid.SampledFrom([]int{1, 3, 100}).Draw(t, "batch"), Attempts: rapid.IntRange(3, 6).Draw(t, "attempts"),
		NewWorkers: rapid.IntRange(1, 4).Draw(t, "new workers"), NewBatch: rapid.SampledFrom([]int{1, 2, 50}).Draw(t, "new batch"),
		NewMinIdle: rapid.SampledFrom([]time.Duration{minIdle, minIdle / 2, 2 * minIdle}).Draw(t, "new min_idle"),
		Machines:   rapid.IntRange(1, 3).Draw(t, "machines"),
	}
}

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
	p := &spec.Pipeline{Name: "sim", Version: "1", DrainTimeout: 20 * time.Second, Streams: []*spec.Stream{in, out, dead}}
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
	if next {
		sub.Workers.Count, sub.Batch = s.NewWorkers, s.NewBatch
		if claim != nil {
			claim.MinIdle = s.NewMinIdle
		}
	}
	g.Subscriptions = append(g.Subscriptions, sub)
}
