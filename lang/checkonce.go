package lang

import (
	"fmt"
	"reflect"

	"pipeline/lang/diag"
)

// checkWindow warns of a window that ends while entries may still be tried: a copy
// is then settled and forgotten before the first one's next attempt.
func (l *loader) checkWindow(s *builtSub) {
	i := s.node.one("idempotency")
	if i == nil || !i.val("window").ok || s.spec.Idempotency == nil {
		return
	}
	window := i.val("window")
	needed, why, at := l.tries(s)
	if needed <= window.dur {
		return
	}
	l.add(diag.Warning, diag.WindowTooShort, window.rng, fmt.Sprintf("a key is forgotten after %s, and %q may try an entry for %s", text(window.dur), s.node.label, text(needed)),
		"While an entry waits for another attempt, a copy of it may be settled and forgotten again; the entry is then done a second time. Make window longer than that.").
		Relate(at, why)
}

// checkOnce compares what the subscriptions of a group remember: each of them may
// get any entry of the group, or take it over.
func (l *loader) checkOnce(g *builtGroup, subs []*builtSub) {
	var first *builtSub
	for _, s := range subs {
		if s.spec.Idempotency != nil {
			first = s
			break
		}
	}
	if first == nil {
		return
	}
	one := first.node.one("idempotency")
	for _, s := range subs {
		other := s.node.one("idempotency")
		switch {
		case s == first:
		case s.spec.Idempotency == nil:
			l.add(diag.Warning, diag.DifferentIdempotency, l.header(s.node), fmt.Sprintf("%q does not deduplicate what %q does", s.node.label, first.node.label),
				"Both get entries of one group. Those that come here are run though their key was settled, and settle none. Add the same idempotency block.").
				Relate(l.header(one), "the idempotency block is here")
		case !one.val("key").ok || !other.val("key").ok || !one.val("window").ok || !other.val("window").ok:
		case !reflect.DeepEqual(s.spec.Idempotency.Key, first.spec.Idempotency.Key):
			l.add(diag.Warning, diag.DifferentIdempotency, other.val("key").rng, fmt.Sprintf("the key differs within group %q", g.node.label),
				"Both subscriptions get entries of one group, and neither knows the keys of the other: copies that come to the other one are run. Use one key.").
				Relate(one.val("key").rng, "the other key is here")
		case other.val("window").dur != one.val("window").dur:
			l.fail(diag.DifferentIdempotency, other.val("window").rng, fmt.Sprintf("window differs within group %q: %s and %s", g.node.label, text(one.val("window").dur), text(other.val("window").dur)),
				"They share what is remembered, and the shorter one would decide when it is forgotten. Use one value.").
				Relate(one.val("window").rng, "window is "+text(one.val("window").dur)+" here")
		}
	}
}
