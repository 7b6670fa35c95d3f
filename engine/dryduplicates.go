package engine

import (
	"strings"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/work"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
)

// dryMarks are the keys that a dry-run's entries would have marked.
type dryMarks map[*spec.Subscription]*drySetMarks

// drySetMarks holds the keys of two windows at most, as a server does: those of
// the older half go when the newer one is as old as the window.
type drySetMarks struct {
	newer, older map[string]broker.ID
	begun        time.Duration
}

// judge makes an item a duplicate whose key an earlier entry would have marked,
// and marks the key of one that would. Time is that of the ids. Items come in the
// order of their entries, from one goroutine.
func (m dryMarks) judge(s *spec.Subscription, p *work.Plan, it *batch.Item) {
	marks := p.Marks()
	if marks.Window == 0 || it.Mark == "" {
		return
	}
	set, now := m[s], time.Duration(it.Delivery.ID.Ms)*time.Millisecond
	if set == nil {
		set = &drySetMarks{newer: map[string]broker.ID{}, begun: now}
		m[s] = set
	}
	for _, half := range []map[string]broker.ID{set.newer, set.older} {
		if by, ok := half[it.Mark]; ok && now-time.Duration(by.Ms)*time.Millisecond < marks.Window {
			it.Outcome = batch.Outcome{Attempt: it.Outcome.Attempt}
			it.Duplicate(broker.Mark{By: by})
			return
		}
	}
	switch it.Outcome.Result {
	case observe.ResultAck, observe.ResultReply, observe.ResultDrop:
	default:
		return
	}
	if now-set.begun >= marks.Window {
		set.newer, set.older, set.begun = map[string]broker.ID{}, set.newer, now
	}
	set.newer[strings.Clone(it.Mark)] = it.Delivery.ID
}
