package metrics

import (
	"path"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pipeline/engine"
	"pipeline/engine/codec"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
)

// The closed sets of label values.
var (
	results = []observe.Result{
		observe.ResultAck, observe.ResultRetry, observe.ResultReply, observe.ResultDead, observe.ResultDrop, observe.ResultFailed,
		observe.ResultInvalid, observe.ResultForeignRetry, observe.ResultDuplicate,
	}
	reasons = []string{
		codec.ReasonFailed, codec.ReasonInvalid, codec.ReasonTooLarge, codec.ReasonRejected, codec.ReasonExpired, codec.ReasonBodyMissing,
	}
	kinds = []outcome.FailureKind{
		outcome.FailError, outcome.FailResult, outcome.FailTimeout, outcome.FailInstructions, outcome.FailMemory, outcome.FailCrash,
		outcome.FailNoRoute,
	}
	acts = []string{"busy", "idle", "blocked_by_key", "backpressured"}
)

// indexOf is where a word stands in a short list of words; -1 for nowhere. It is
// quicker than a map where the words are a handful.
func indexOf[T ~string](list []T, word T) int {
	for i := range list {
		if list[i] == word {
			return i
		}
	}
	return -1
}

// subscription is what is counted of one. It is locked once for each settlement,
// however many entries that has.
type subscription struct {
	spec *spec.Subscription

	mu       sync.Mutex
	results  []int64
	reasons  []int64
	kinds    []int64
	stale    int64
	events   [3]int64
	refused  bool
	process  spread
	queue    spread
	end      spread
	attempts spread
	payload  spread
	memory   int64
	last     time.Time
	acts     [4]time.Duration
	sent     map[string]int64
	children subscriptionChildren
}

// The events that are counted, by their place in subscription.events.
var counted = []observe.EventName{observe.EventLeaseLost, observe.EventBodyMissing, observe.EventGroupRestored}

// subscriptionChildren are the series of a subscription.
type subscriptionChildren struct {
	results, reasons, acts                 []child
	consumed, claimed, stale, duplicates   child
	events                                 []child
	process, queue, end, attempts, payload child
	workers, inFlight, depth, last         child
	failed, refused                        child
}

func newSubscription(pipeline string, s *spec.Subscription) *subscription {
	sub := &subscription{
		spec: s, sent: map[string]int64{},
		results: make([]int64, len(results)), reasons: make([]int64, len(reasons)), kinds: make([]int64, len(kinds)),
		process: newSpread(callScale), queue: newSpread(waitScale), end: newSpread(waitScale),
		attempts: newSpread(attemptScale), payload: newSpread(byteScale),
	}
	base := []string{pipeline, s.Group.Stream.Name, s.Group.Name, s.Label}
	messaging := []string{"redis", s.Group.Stream.Name, s.Group.Name, pipeline, s.Label}
	c := &sub.children
	for _, r := range results {
		c.results = append(c.results, settled.child(with(base, string(r))...))
	}
	for _, r := range reasons {
		c.reasons = append(c.reasons, deadLettered.child(with(base, r)...))
	}
	for _, a := range acts {
		c.acts = append(c.acts, workerSeconds.child(with(base, a)...))
	}
	for _, f := range []*Family{leasesLost, bodiesMissing, recreated} {
		c.events = append(c.events, f.child(base...))
	}
	c.consumed, c.process = consumed.child(messaging...), process.child(messaging...)
	for f, at := range map[*Family]*child{
		claimed: &c.claimed, stale: &c.stale, duplicates: &c.duplicates, queueTime: &c.queue, endToEnd: &c.end, attempts: &c.attempts,
		payload: &c.payload, workers: &c.workers, inFlight: &c.inFlight, laneDepth: &c.depth, lastProgress: &c.last,
		failed: &c.failed, refused: &c.refused,
	} {
		*at = f.child(base...)
	}
	return sub
}

// engineOf is what runs a handler.
func engineOf(h *spec.Handler) string {
	if path.Ext(h.Source) == ".wasm" {
		return "wasm"
	}
	return "lua"
}

// settled counts outcomes; now is when they had been written.
func (s *subscription) settled(outcomes []observe.Outcome, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = now
	for i := range outcomes {
		s.outcome(&outcomes[i], now)
	}
}

func (s *subscription) outcome(o *observe.Outcome, now time.Time) {
	if o.Result == observe.ResultStale {
		s.stale++
		return
	}
	if at := indexOf(results, o.Result); at >= 0 {
		s.results[at]++
	}
	added := time.UnixMilli(int64(o.ID.Ms))
	if !o.Began.IsZero() {
		s.process.add(int64(o.Elapsed))
		s.payload.add(int64(o.Bytes))
		s.memory = max(s.memory, o.Usage.Bytes)
		if o.Deliveries == 0 {
			s.queue.add(max(0, int64(o.Began.Sub(added))))
		}
	}
	for i := range o.Replies {
		s.sent[o.Replies[i].Stream]++
	}
	if o.Dead {
		s.sent[s.spec.Group.DeadLetter.Name]++
		if at := indexOf(reasons, o.Letter); at >= 0 {
			s.reasons[at]++
		}
	}
	if o.Kind != "" {
		if at := indexOf(kinds, o.Kind); at >= 0 {
			s.kinds[at]++
		}
	}
	if final(o) {
		s.end.add(max(0, int64(now.Sub(added))))
		s.attempts.add(o.Deliveries + 1)
	}
}

// final reports whether the group has done with the entry.
func final(o *observe.Outcome) bool {
	switch o.Result {
	case observe.ResultRetry, observe.ResultForeignRetry:
		return false
	case observe.ResultFailed, observe.ResultInvalid:
		return o.Dead || !o.HasAfter
	}
	return true
}

func (s *subscription) event(e *observe.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.Name {
	case observe.EventSettleRefused:
		s.refused = true
	case observe.EventSettleAccepted, observe.EventReading, observe.EventFailed:
		// One that reads anew, or has failed, holds nothing that is refused any more.
		s.refused = false
	default:
		if at := indexOf(counted, e.Name); at >= 0 {
			s.events[at] += int64(max(1, e.Count))
		}
	}
}

// spent notes what the workers did for a while.
func (s *subscription) spent(now *engine.SubscriptionSnapshot, d time.Duration) {
	busy := min(now.Busy, now.Workers)
	rest := time.Duration(now.Workers-busy) * d
	at := 1 // idle
	switch {
	case now.HoldFull || now.Withheld > 0:
		at = 3
	case now.Queued > now.Busy:
		at = 2
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acts[0] += time.Duration(busy) * d
	s.acts[at] += rest
}

// collect sends everything that is the subscription's own.
func (s *subscription) collect(ch chan<- prometheus.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.children
	for i := range results {
		c.results[i].send(ch, float64(s.results[i]))
	}
	for i := range reasons {
		c.reasons[i].send(ch, float64(s.reasons[i]))
	}
	for i := range acts {
		c.acts[i].send(ch, s.acts[i].Seconds())
	}
	for i := range counted {
		c.events[i].send(ch, float64(s.events[i]))
	}
	c.stale.send(ch, float64(s.stale))
	c.refused.send(ch, boolean(s.refused))
	c.duplicates.send(ch, float64(s.results[indexOf(results, observe.ResultDuplicate)]))
	s.process.send(ch, c.process)
	s.queue.send(ch, c.queue)
	s.end.send(ch, c.end)
	s.attempts.send(ch, c.attempts)
	s.payload.send(ch, c.payload)
	if !s.last.IsZero() {
		c.last.send(ch, float64(s.last.UnixMilli())/1000)
	}
}

// live sends what a snapshot of the engine says.
func (s *subscription) live(ch chan<- prometheus.Metric, now *engine.SubscriptionSnapshot) {
	c := &s.children
	c.failed.send(ch, boolean(now.Err != nil))
	c.workers.send(ch, float64(now.Workers))
	c.inFlight.send(ch, float64(now.Held))
	c.depth.send(ch, float64(now.Deepest))
	c.consumed.send(ch, float64(now.Deliveries.Received))
	c.claimed.send(ch, float64(now.Deliveries.Claimed))
}
