package findings

import (
	"fmt"

	"pipeline/engine/broker"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// Looked is how many pending entries of a group Retries wants to be shown: the
// oldest ones. The server counts that many however many there are.
const Looked = 100

// Retries tells of entries of a group that were delivered more than once and are
// still pending: their handler fails, or whoever had them stopped. oldest are its
// oldest pending entries, at most Looked.
func Retries(g *spec.Group, oldest []broker.Pending) []diag.Diagnostic {
	again, most := 0, broker.Pending{}
	for _, p := range oldest {
		if p.Deliveries > 1 {
			again++
		}
		if p.Deliveries > most.Deliveries {
			most = p
		}
	}
	if again == 0 {
		return nil
	}
	var what string
	switch {
	case len(oldest) >= Looked:
		what = fmt.Sprintf("%d of the oldest %d pending entries of the group %s on %s were delivered before", again, Looked, g.Name, g.Stream.Name)
	case again == 1:
		what = fmt.Sprintf("1 entry of the group %s on %s was delivered before and is still pending", g.Name, g.Stream.Name)
	default:
		what = fmt.Sprintf("%d entries of the group %s on %s were delivered before and are still pending", again, g.Name, g.Stream.Name)
	}
	return []diag.Diagnostic{{
		Severity: diag.Warning, Code: CodeRetried, Summary: fmt.Sprintf("%s, %s %d times", what, most.ID, most.Deliveries),
		Detail: fmt.Sprintf("Their handler fails, or the worker that had them stopped: `pipeline pending list` says which, and with what error; "+
			"`pipeline pending show … %s` shows all of one.", most.ID),
	}}
}
