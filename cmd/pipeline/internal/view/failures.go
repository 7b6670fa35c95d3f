package view

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/codec"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
)

// Failures logs what goes wrong with entries: it is the observer of run. Of one event in one subscription it
// writes at most burst lines in a period, and then says with the next line how many it left out, so that a
// broken handler does not fill a disk. Where no such line comes within a period, or before Close, a line of
// its own says it: a burst that has passed would else be seen as ten.
//
// What streams declare sensitive is masked, as scrubber says. Where the values are not known, so is all that a
// handler has said.
type Failures struct {
	log   *slog.Logger
	clock clock.Clock
	scrub *scrubber

	mu   sync.Mutex
	told map[failureKey]*told
}

// The lines of one event that are written in a period.
const (
	failureBurst  = 10
	failurePeriod = 10 * time.Second
)

// The events of single entries. Their names are stable.
const (
	eventFailed       observe.EventName = "entry.failed"
	eventInvalid      observe.EventName = "entry.invalid"
	eventDeadLettered                   = observe.EventDeadLettered
	// eventLeftOut counts lines that were not written; "of" is their event.
	eventLeftOut observe.EventName = "log.left_out"
)

type failureKey struct {
	sub   *spec.Subscription
	event observe.EventName
}

// told is what was written of an event in its present period.
type told struct {
	since         time.Time
	lines, unsaid int
	// later says what is unsaid where nothing else does; nil while it is not armed.
	later clock.Timer
}

var _ observe.Observer = (*Failures)(nil)

// NewFailures returns an observer of a pipeline that writes to log.
func NewFailures(log *slog.Logger, c clock.Clock, p *spec.Pipeline) *Failures {
	return &Failures{log: log, clock: c, scrub: newScrubber(p), told: map[failureKey]*told{}}
}

// Event does nothing: the engine logs its events itself.
func (f *Failures) Event(observe.Event) {}

// Settled logs the failed, the invalid and the dead among the outcomes.
func (f *Failures) Settled(sub *spec.Subscription, outcomes []observe.Outcome) {
	for i := range outcomes {
		o := &outcomes[i]
		switch {
		case o.Dead || o.Result == observe.ResultDead:
			f.write(sub, o, eventDeadLettered, "dead letter, now in "+sub.Group.DeadLetter.Name)
		case o.Result == observe.ResultFailed:
			f.write(sub, o, eventFailed, "failed, again in "+Duration(o.After))
		case o.Result == observe.ResultInvalid:
			f.write(sub, o, eventInvalid, "invalid, the handler did not run")
		}
	}
}

func (f *Failures) write(sub *spec.Subscription, o *observe.Outcome, event observe.EventName, message string) {
	unsaid, ok := f.allow(failureKey{sub, event})
	if !ok {
		return
	}
	attrs := []slog.Attr{
		slog.String("event", string(event)), slog.String("subscription", sub.Label), slog.String("id", o.ID.String()),
	}
	if o.Attempt > 0 {
		attrs = append(attrs, slog.Int("attempt", o.Attempt), slog.Int("max_attempts", sub.Retry.MaxAttempts))
	}
	hide := f.hide(sub, o)
	for _, a := range []slog.Attr{slog.String("reason", hide.text(o.Reason)), slog.String("error", hide.text(o.Error))} {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	if unsaid > 0 {
		attrs = append(attrs, slog.Int("left_out_before", unsaid))
	}
	f.log.LogAttrs(context.Background(), slog.LevelWarn, message, attrs...)
}

// hide are the values that may not be shown of an entry. The problem of one that could not be decoded is told without
// its values; anything else that is said of it may have them.
func (f *Failures) hide(sub *spec.Subscription, o *observe.Outcome) secrets {
	if o.Body == nil && len(f.scrub.fields[sub.Group.Stream.Name]) > 0 && o.Result != observe.ResultInvalid && o.Letter != codec.ReasonInvalid {
		return unknown
	}
	return f.scrub.of(sub.Group.Stream.Name, o.Body, o)
}

// allow reports whether a line may be written now, and how many were left out before it.
func (f *Failures) allow(k failureKey) (unsaid int, ok bool) {
	now := f.clock.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.told[k]
	if t == nil {
		t = &told{since: now}
		f.told[k] = t
	}
	if now.Sub(t.since) >= failurePeriod {
		t.since, t.lines = now, 0
	}
	if t.lines == failureBurst {
		t.unsaid++
		if t.later == nil {
			t.later = f.clock.AfterFunc(t.since.Add(2*failurePeriod).Sub(now), func() { f.sayLeftOut(k) })
		}
		return 0, false
	}
	t.lines++
	unsaid, t.unsaid = t.unsaid, 0
	return unsaid, true
}

// sayLeftOut writes how many lines of an event were left out, unless a line has said so meanwhile.
func (f *Failures) sayLeftOut(k failureKey) {
	f.mu.Lock()
	t := f.told[k]
	unsaid := t.unsaid
	t.unsaid, t.later = 0, nil
	f.mu.Unlock()
	if unsaid == 0 {
		return
	}
	f.log.LogAttrs(context.Background(), slog.LevelWarn, "more of the same were not logged", slog.String("event", string(eventLeftOut)),
		slog.String("subscription", k.sub.Label), slog.String("of", string(k.event)), slog.Int("left_out", unsaid))
}

// Close writes what was left out and not said. Nothing may be settled after it.
func (f *Failures) Close() {
	var keys []failureKey
	f.mu.Lock()
	for k, t := range f.told {
		if t.later != nil {
			t.later.Stop()
			keys = append(keys, k)
		}
	}
	f.mu.Unlock()
	slices.SortFunc(keys, func(a, b failureKey) int {
		return cmp.Or(strings.Compare(a.sub.Label, b.sub.Label), strings.Compare(string(a.event), string(b.event)))
	})
	for _, k := range keys {
		f.sayLeftOut(k)
	}
}
