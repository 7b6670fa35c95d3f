package testrun

import (
	"regexp"
	"slices"

	"pipeline/engine/spec"
)

// subject is which subscriptions a failure is about; empty is all.
type subject []*spec.Subscription

func (s subject) has(sub *spec.Subscription) bool { return len(s) == 0 || slices.Contains(s, sub) }

func (s subject) named(p *spec.Pipeline, label string) bool {
	return len(s) == 0 || slices.ContainsFunc(p.Subscriptions(), func(sub *spec.Subscription) bool {
		return sub.Label == label && slices.Contains(s, sub)
	})
}

// named finds the state that a condition looks at.
var named = regexp.MustCompile(`\b(subscription|group|stream)\.([\p{L}_][\p{L}\p{N}_-]*)`)

// about are the subscriptions that the failed asserts look at: by name, by
// their group, or as those that write to a stream or read it. Where there is
// none, or no failed assert, it is all.
func (r *run) about() subject {
	var s subject
	for _, a := range r.result.Asserts {
		found := named.FindAllStringSubmatch(a.Condition, -1)
		if len(found) == 0 {
			return nil
		}
		for _, m := range found {
			s = append(s, touching(r.test.Pipeline, m[1], m[2])...)
		}
	}
	return s
}

// touching are the subscriptions that have to do with a block.
func touching(p *spec.Pipeline, root, label string) subject {
	var s subject
	for _, sub := range p.Subscriptions() {
		g := sub.Group
		var yes bool
		switch root {
		case "subscription":
			yes = sub.Label == label
		case "group":
			yes = g.Label == label
		case "stream":
			yes = writes(sub, label) || g.Stream.Label == label || g.DeadLetter != nil && g.DeadLetter.Label == label
		}
		if yes {
			s = append(s, sub)
		}
	}
	if writers := slices.DeleteFunc(slices.Clone(s), func(sub *spec.Subscription) bool { return !writes(sub, label) }); root == "stream" && len(writers) > 0 {
		return writers
	}
	return s
}

// writes reports whether a subscription publishes to a stream.
func writes(sub *spec.Subscription, stream string) bool {
	to := func(r *spec.Route) bool { return r.To.Label == stream }
	return sub.Reply != nil && to(sub.Reply) || slices.ContainsFunc(sub.Routes, to)
}
