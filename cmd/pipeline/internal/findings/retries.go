package findings

import (
	"fmt"

	"pipeline/engine/broker"
	"pipeline/engine/poll"
	"pipeline/lang/diag"
)

// retries tells of entries of a group that were delivered more than once and are
// still pending: their handler fails, or whoever had them stopped.
func (f *finder) retries(name string, g *poll.Group) {
	oldest, again, most := g.Oldest, 0, broker.Pending{}
	for _, p := range oldest {
		if p.Deliveries > 1 {
			again++
		}
		if p.Deliveries > most.Deliveries {
			most = p
		}
	}
	if again == 0 {
		return
	}
	var what string
	switch {
	case len(oldest) >= broker.MaxOldest:
		what = fmt.Sprintf("%d of the oldest %d pending entries of the group %s were delivered before", again, broker.MaxOldest, name)
	case again == 1:
		what = fmt.Sprintf("1 entry of the group %s was delivered before and is still pending", name)
	default:
		what = fmt.Sprintf("%d entries of the group %s were delivered before and are still pending", again, name)
	}
	f.add(diag.Warning, CodeRetried, ofGroup(g.Spec), fmt.Sprintf("Their handler fails, or the worker that had them stopped: `pipeline pending list` says which, and with what error; "+
		"`pipeline pending show … %s` shows all of one.", most.ID), "%s, %s %d times", what, most.ID, most.Deliveries)
}
