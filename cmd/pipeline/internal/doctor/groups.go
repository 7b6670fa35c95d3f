package doctor

import (
	"context"
	"fmt"
	"time"

	"pipeline/cmd/pipeline/internal/consumers"
	"pipeline/cmd/pipeline/internal/findings"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker/redis"
	"pipeline/engine/poll"
	"pipeline/lang/diag"
)

// recent is how long ago the last dead letter was written of a stream that grows.
const recent = 10 * time.Minute

// growing tells of dead-letter streams that were added to lately.
func (e *examination) growing() (some bool) {
	for i := range e.snapshot.Streams {
		s := &e.snapshot.Streams[i]
		if !s.Known || !s.DeadLetters || s.Length == 0 {
			continue
		}
		ago := e.snapshot.Server.Sub(time.UnixMilli(int64(min(s.Last.Ms, 1<<62))))
		if ago >= recent {
			continue
		}
		some = true
		e.add(Finding{
			Code: CodeGrowing, Severity: diag.Warning, Command: e.options.Command("dlq stats", s.Spec.Name),
			Found: fmt.Sprintf("%s holds %s, the last of them %s old", s.Spec.Name, view.Count(s.Length, "dead letter", "dead letters"), view.Duration(max(0, ago))),
			Do:    "See by which error they fail, mend that, and put them back with `pipeline dlq replay`.",
		})
	}
	return some
}

// groups looks at what a poll does not: the positions that are written down, and who
// is behind the consumers.
func (e *examination) groups(ctx context.Context) {
	if !e.snapshot.Up() {
		return
	}
	for i := range e.snapshot.Streams {
		for j := range e.snapshot.Streams[i].Groups {
			if g := &e.snapshot.Streams[i].Groups[j]; g.Known && len(g.Spec.Subscriptions) > 0 {
				e.floor(ctx, g)
				e.consumers(ctx, g)
			}
		}
	}
}

func (e *examination) floor(ctx context.Context, g *poll.Group) {
	_, found, err := e.server.Floor(ctx, g.Spec.Stream.Name, g.Spec.Name)
	if err != nil || found {
		return // a right that is missing is told with the others
	}
	e.add(Finding{
		Code: CodeFloor, Severity: diag.Warning, Command: e.command(CodeFloor, nil),
		Found: fmt.Sprintf("no position is written down for the group %s on %s", g.Spec.Name, g.Spec.Stream.Name),
		Do:    "A worker writes it down within seconds: start one.",
	})
}

func (e *examination) consumers(ctx context.Context, g *poll.Group) {
	list, _, err := consumers.Look(ctx, e.server, g.Spec)
	if err != nil {
		return // told with the rights
	}
	holding, held, empty := int64(0), int64(0), int64(0)
	for i := range list {
		switch c := &list[i]; {
		case c.Lease == redis.LeaseUnknown || !c.Stale(e.options.StaleAfter):
		case c.Pending > 0:
			holding++
			held += c.Pending
		default:
			empty++
		}
	}
	name := g.Spec.Name + " on " + g.Spec.Stream.Name
	if holding > 0 {
		e.add(Finding{
			Code: findings.CodeStale, Severity: diag.Warning, Command: e.options.Command("consumers list", "--group", g.Spec.Label, "--stale"),
			Found: fmt.Sprintf("nobody is behind %s of the group %s any more, which hold %s",
				view.Count(holding, "consumer", "consumers"), name, view.Count(held, "entry", "entries")),
			Do: "Start a worker whose subscription claims: it takes them over after min_idle.",
		})
	}
	if empty > 0 {
		e.add(Finding{
			Code: CodeAbandoned, Severity: diag.Notice, Command: e.options.Command("consumers prune", "--group", g.Spec.Label),
			Found: fmt.Sprintf("nobody is behind %s of the group %s any more, which hold nothing", view.Count(empty, "consumer", "consumers"), name),
			Do:    "Remove them.",
		})
	}
}
