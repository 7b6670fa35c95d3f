package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/observe"
	"pipeline/sandbox"
)

// tellApart tells, once a run, of streams that what comes of an entry goes to and
// that lie in other slots of a cluster: there publishing and acknowledging are
// two steps.
func (s *subscription) tellApart() {
	if !s.engine.features.Clustered {
		return
	}
	from := s.spec.Group.Stream.Name
	var apart []string
	add := func(to string) {
		if broker.Slot(to) != broker.Slot(from) && !slices.Contains(apart, to) {
			apart = append(apart, to)
		}
	}
	if r := s.spec.Reply; r != nil {
		add(r.To.Name)
	}
	for _, r := range s.spec.Routes {
		add(r.To.Name)
	}
	add(s.spec.Group.DeadLetter.Name)
	if len(apart) == 0 {
		return
	}
	ev := observe.Event{Name: observe.EventSettleApart, Level: sandbox.Warn}
	what := fmt.Sprintf("%s and %s lie in different slots of the cluster, so that publishing and acknowledging are two steps", from, strings.Join(apart, ", "))
	ev.Message = what + ", and this server cannot recognise what it has added before (XADD … IDMP, Redis 8.6): " +
		"after a crash between them a message is published again. Give the names one {tag}"
	if s.engine.features.Features.IdempotentAdd {
		ev.Level = sandbox.Info
		ev.Message = what + "; the server recognises for " + repeatWords(s.spec.Retry.MaxAge) + " what was published before, and adds it once"
	}
	s.event(ev)
}

// repeatWords is for how long messages are recognised: see broker.Settlement.
func repeatWords(maxAge time.Duration) string {
	const day = 24 * time.Hour
	if maxAge <= 0 || maxAge >= day {
		return "24h"
	}
	return max(maxAge, time.Second).String()
}
