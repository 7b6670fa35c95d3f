package web

import (
	"fmt"
	"strconv"
	"strings"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/spec"
)

// groupSettings are those of a group and its subscriptions as they hold, with what
// the file leaves out filled in.
func groupSettings(g *spec.Group) []setting {
	all := []setting{
		{"group", "stream", g.Stream.Name}, {"group", "name on the server", g.Name},
		{"group", "start", map[string]string{"$": "new", "0": "beginning"}[g.Start]}, {"group", "dead letters", g.DeadLetter.Name},
	}
	if all[2].Value == "" {
		all[2].Value = g.Start
	}
	for _, s := range g.Subscriptions {
		for _, one := range subscriptionSettings(s) {
			one.Of = s.Label
			all = append(all, one)
		}
	}
	for i := range all {
		all[i].Of, all[i].Value = view.Clean(all[i].Of), view.Clean(all[i].Value)
	}
	return all
}

func subscriptionSettings(s *spec.Subscription) []setting {
	r := &s.Retry
	all := []setting{
		{Name: "handler", Value: s.Handler.Label},
		{Name: "workers", Value: strconv.Itoa(s.Workers.Count)},
		{Name: "order by", Value: "the entry's partition key"},
		{Name: "while retrying", Value: "later entries of the key pass"},
		{Name: "batch", Value: view.Count(int64(s.Batch), "entry", "entries") + " a read, waiting up to " + view.Duration(s.Block)},
		{Name: "claim", Value: "nothing is taken over"},
		{Name: "attempts", Value: strconv.Itoa(r.MaxAttempts)},
		{Name: "retry after", Value: fmt.Sprintf("%s, times %s each time, at most %s, give or take %s %%", view.Duration(r.Delay),
			strconv.FormatFloat(r.Multiplier, 'g', 4, 64), view.Duration(r.MaxDelay), strconv.FormatFloat(r.Jitter*100, 'g', 3, 64))},
		{Name: "on an invalid entry", Value: string(s.OnInvalid)},
		{Name: "after a failed attempt", Value: string(s.OnFailure)},
	}
	if s.Workers.Key != nil {
		all[2].Value = "a key computed from the entry"
	}
	if s.Workers.Hold {
		all[3].Value = fmt.Sprintf("later entries of the key are held back, up to %d", s.Workers.HoldLimit)
	}
	if c := s.Claim; c != nil {
		all[5].Value = "entries idle for " + view.Duration(c.MinIdle) + ", using " + string(c.Using)
		if c.Only {
			all[5].Value += "; new entries are left to others"
		}
	}
	if r.MaxAge > 0 {
		all = append(all, setting{Name: "retried for at most", Value: view.Duration(r.MaxAge)})
	}
	if s.Reply != nil {
		all = append(all, setting{Name: "replies to", Value: s.Reply.To.Name})
	}
	if len(s.Routes) > 0 {
		var to []string
		for _, route := range s.Routes {
			to = append(to, route.Label+" → "+route.To.Name)
		}
		all = append(all, setting{Name: "routes", Value: strings.Join(to, ", ")})
	}
	if s.Trace == spec.TraceProducer {
		all = append(all, setting{Name: "traces", Value: "go on with the producer's"})
	}
	if s.Idempotency != nil {
		all = append(all, setting{Name: "one effect per key", Value: "remembered for " + view.Duration(s.Idempotency.Window)})
	}
	return all
}
