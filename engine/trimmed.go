package engine

import "pipeline/engine/spec"

// Trimmed has the subscriptions of a group look at once for pending entries whose
// bodies were trimmed, which they do by themselves every 30 to 90 seconds. It is for
// somebody who has seen that there are some, as a poller does: each call costs the
// server a look at the head of the pending list. It does not wait, and does nothing
// where nobody claims in the group or the server cannot drop such entries. It is safe
// for concurrent use.
func (e *Engine) Trimmed(g *spec.Group) {
	for _, s := range e.subs {
		if n := s.session.Load(); n != nil && s.spec.Group == g {
			n.sweeper.Hint()
		}
	}
}
