package engine

import (
	"slices"
	"strings"

	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// Evicts says what a full server with a maxmemory-policy removes that a pipeline
// needs, in words that follow "removes"; "" for nothing.
func Evicts(p *spec.Pipeline, policy string) string {
	switch {
	case strings.HasPrefix(policy, "allkeys-"):
		return "streams with all their groups"
	case !strings.HasPrefix(policy, "volatile-"):
		return ""
	case slices.ContainsFunc(p.Subscriptions(), func(s *spec.Subscription) bool { return s.Idempotency != nil }):
		return "the leases of consumer names and the keys of settled entries, whose copies then run"
	}
	return "the leases of consumer names"
}

// tellEviction tells, once a run, of a server that removes what the pipeline needs
// when it is full.
func (e *Engine) tellEviction() {
	policy := e.features.Eviction
	what := Evicts(e.cfg.Pipeline, policy)
	if what == "" {
		return
	}
	ev := observe.Event{
		Name: observe.EventEviction, Level: sandbox.Warn,
		Message: "maxmemory-policy is " + policy + ": a full server removes " + what + "; set maxmemory-policy noeviction",
	}
	if e.features.MaxMemory == 0 {
		ev.Level = sandbox.Info
		ev.Message += " (maxmemory is unbounded, so it does not come to that now)"
	}
	e.event(ev)
}
