package alerts

import (
	"strings"
	"testing"
	"time"

	"pipeline/engine/spec"
)

// sample is a pipeline in which every alert has a rule.
func sample() *spec.Pipeline {
	in := &spec.Stream{Label: "in", Name: "payments", Retention: &spec.Retention{MaxLength: 100}, MaxBacklog: 1000}
	out := &spec.Stream{Label: "out", Name: "screened", MaxBacklog: 50}
	dead := &spec.Stream{Label: "dead", Name: "payments.dead"}
	h := &spec.Handler{Label: "post", Source: "post.lua", Limits: spec.Limits{Timeout: 5 * time.Second}}
	g := &spec.Group{Label: "ledger", Name: "ledger", Stream: in, DeadLetter: dead}
	retry := spec.DefaultRetry()
	g.Subscriptions = []*spec.Subscription{{
		Label: "post", Group: g, Handler: h, Retry: retry, Claim: &spec.Claim{MinIdle: 30 * time.Second}, Reply: &spec.Route{To: out},
	}}
	return &spec.Pipeline{
		Name: "p", Streams: []*spec.Stream{in, out, dead}, Handlers: []*spec.Handler{h},
		Groups: []*spec.Group{g, {Label: "later", Name: "later", Stream: in, DeadLetter: dead}},
	}
}

func defaults() Options {
	return Options{Behind: DefaultBehind, Letters: DefaultLetters, Job: DefaultJob, Runbook: DefaultRunbook}
}

// hostile is a pipeline whose names mean something to every language on the way.
func hostile() *spec.Pipeline {
	p := sample()
	const name = "a\"}\\ {{ $value }} ' : # \n- |é日 %s .* \u202e"
	p.Name, p.Groups[0].Name, p.Groups[0].Subscriptions[0].Label, p.Handlers[0].Label = name, name, name, name
	for _, s := range p.Streams {
		s.Name += name
	}
	return p
}

// exprOf is the expression of an alert.
func exprOf(t *testing.T, p *spec.Pipeline, name string) string {
	t.Helper()
	for _, r := range Of(p, defaults()) {
		if r.Alert == name {
			return r.Expr
		}
	}
	t.Fatalf("%s has no rule", name)
	return ""
}

// bound is the number at the end of an expression.
func bound(expr string) string { return expr[strings.LastIndexByte(expr, ' ')+1:] }
