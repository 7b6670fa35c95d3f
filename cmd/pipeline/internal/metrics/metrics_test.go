package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"

	"pipeline/cmd/pipeline/internal/metrics"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/codec"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// epoch is when every test begins.
var epoch = time.UnixMilli(1_700_000_000_000)

// world is the metrics of a pipeline on a server in memory, with an engine that is
// whatever a test says.
type world struct {
	*metrics.Metrics

	t      *testing.T
	clock  *clock.Virtual
	server *memory.Broker
	poller *poll.Poller
	sub    *spec.Subscription
	snap   engine.Snapshot
	ready  chan struct{}
	told   int
}

func (w *world) Snapshot() engine.Snapshot { return w.snap }
func (w *world) Ready() <-chan struct{}    { return w.ready }

func pipelineOf(subscriptions int) *spec.Pipeline {
	in, out, dead := &spec.Stream{Label: "in", Name: "payments", Retention: &spec.Retention{MaxLength: 9}}, &spec.Stream{Label: "out", Name: "screened"}, &spec.Stream{Label: "dead", Name: "payments.dead"}
	p := &spec.Pipeline{Name: "p", Streams: []*spec.Stream{in, out, dead}}
	h := &spec.Handler{Label: "post", Source: "post.lua"}
	for i := range subscriptions {
		g := &spec.Group{Label: fmt.Sprintf("ledger%d", i), Name: fmt.Sprintf("ledger%d", i), Stream: in, DeadLetter: dead}
		g.Subscriptions = []*spec.Subscription{{Label: fmt.Sprintf("post%d", i), Group: g, Handler: h, Reply: &spec.Route{To: out}}}
		p.Groups = append(p.Groups, g)
	}
	p.Handlers = []*spec.Handler{h}
	return p
}

func newWorld(t *testing.T) *world {
	p := pipelineOf(1)
	c := clock.NewVirtual(epoch)
	w := &world{
		t: t, clock: c, server: memory.New(c, memory.Options{}), sub: p.Groups[0].Subscriptions[0], ready: make(chan struct{}),
	}
	t.Cleanup(func() { _ = w.server.Close() })
	w.Metrics = metrics.New(p, c, metrics.Build{Version: "1.2.3", Revision: "abc"}, w2{w})
	w.poller = poll.New(p, w.server, c, func() float64 { return 0 })
	w.Poll(w.poller)
	return w
}

// w2 counts what is passed on.
type w2 struct{ w *world }

func (n w2) Settled(_ *spec.Subscription, o []observe.Outcome) { n.w.told += len(o) }
func (n w2) Event(observe.Event)                               { n.w.told++ }

// scrape is every series by its name and labels; histograms by _count and _sum.
func scrape(t *testing.T, m prometheus.Collector) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for _, f := range gather(t, m) {
		for _, s := range f.GetMetric() {
			var labels []string
			for _, l := range s.GetLabel() {
				switch l.GetName() {
				case "pipeline", "messaging_system", "stream", "group", "subscription", "messaging_destination_name", "messaging_consumer_group_name":
					if f.GetName() != "messaging_client_sent_messages_total" && f.GetName() != "pipeline_stream_length" || l.GetName() == "pipeline" || l.GetName() == "messaging_system" {
						continue
					}
				}
				labels = append(labels, l.GetValue())
			}
			name := strings.Join(append([]string{f.GetName()}, labels...), " ")
			if h := s.GetHistogram(); h != nil {
				all[name+" count"], all[name+" sum"] = float64(h.GetSampleCount()), h.GetSampleSum()
				continue
			}
			all[name] = s.GetCounter().GetValue() + s.GetGauge().GetValue()
		}
	}
	return all
}

func gather(t *testing.T, m prometheus.Collector) []*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(m); err != nil {
		t.Fatal(err)
	}
	found, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// play makes every metric something else than zero, and returns what each has to be.
func (w *world) play() map[string]float64 {
	t, ctx := w.t, w.t.Context()
	t.Helper()
	w.clock.Advance(10 * time.Second)
	now := w.clock.Now()
	id := broker.ID{Ms: uint64(epoch.UnixMilli())}
	ran := func(o observe.Outcome) observe.Outcome {
		o.ID, o.Began, o.Elapsed, o.Bytes = id, now.Add(-2*time.Second), 500*time.Millisecond, 100
		o.Usage.Bytes = 4096
		return o
	}
	w.Settled(w.sub, []observe.Outcome{
		ran(observe.Outcome{Result: observe.ResultAck}),
		ran(observe.Outcome{Result: observe.ResultAck, Deliveries: 2}),
		ran(observe.Outcome{Result: observe.ResultReply, Replies: []observe.Reply{{Stream: "screened"}, {Stream: "screened"}}}),
		ran(observe.Outcome{Result: observe.ResultRetry}),
		ran(observe.Outcome{Result: observe.ResultDrop}),
		ran(observe.Outcome{Result: observe.ResultDead, Dead: true, Reason: "whatever the handler says", Letter: codec.ReasonRejected}),
		ran(observe.Outcome{Result: observe.ResultFailed, Kind: outcome.FailTimeout, HasAfter: true}),
		ran(observe.Outcome{Result: observe.ResultFailed, Kind: outcome.FailError, Dead: true, Letter: codec.ReasonFailed}),
		{ID: id, Result: observe.ResultInvalid, Dead: true, Letter: codec.ReasonTooLarge},
		{ID: id, Result: observe.ResultForeignRetry},
		{ID: id, Result: observe.ResultDuplicate},
		{ID: id, Result: observe.ResultStale},
	})
	for name, n := range map[observe.EventName]int{observe.EventLeaseLost: 3, observe.EventBodyMissing: 4, observe.EventGroupRestored: 0} {
		w.Event(observe.Event{Name: name, Subscription: w.sub.Label, Count: n})
	}
	w.Event(observe.Event{Name: observe.EventServerBack})
	w.Event(observe.Event{Name: observe.EventSettleRefused, Subscription: w.sub.Label, Count: 7})
	w.Event(observe.Event{Name: observe.EventTrimRefused, Stream: "payments"})
	w.Event(observe.Event{Name: observe.EventTrimRefused, Stream: "a stranger's"})
	w.snap = engine.Snapshot{Subscriptions: []engine.SubscriptionSnapshot{{
		Label: w.sub.Label, Workers: 8, Busy: 1, Queued: 6, Deepest: 5, Held: 7, Err: broker.ErrNoPermission,
		Deliveries: engine.Deliveries{Received: 20, Claimed: 9},
	}}}
	w.Watch(w)
	w.instances()
	w.calls()
	w.streams()
	w.poller.Once(ctx)
	return map[string]float64{
		"messaging_client_consumed_messages_total": 20, "messaging_client_sent_messages_total screened": 2, "messaging_client_sent_messages_total payments.dead": 3,
		"messaging_process_duration_seconds count": 8, "messaging_process_duration_seconds sum": 4,
		"messaging_client_operation_duration_seconds settle count": 1, "messaging_client_operation_duration_seconds settle sum": 0.25,
		"pipeline_entries_settled_total ack": 2, "pipeline_entries_settled_total reply": 1, "pipeline_entries_settled_total retry": 1, "pipeline_entries_settled_total drop": 1,
		"pipeline_entries_settled_total dead": 1, "pipeline_entries_settled_total failed": 2, "pipeline_entries_settled_total invalid": 1,
		"pipeline_entries_settled_total foreign_retry": 1, "pipeline_entries_settled_total duplicate": 1,
		"pipeline_entries_claimed_total": 9, "pipeline_stale_settlements_total": 1, "pipeline_leases_lost_total": 3, "pipeline_duplicates_suppressed_total": 1,
		"pipeline_dead_lettered_total rejected": 1, "pipeline_dead_lettered_total failed": 1, "pipeline_dead_lettered_total too_large": 1,
		"pipeline_handler_failures_total post timeout": 1, "pipeline_handler_failures_total post error": 1,
		"pipeline_bodies_missing_total": 4, "pipeline_groups_recreated_total": 1,
		// Seven were first deliveries that ran, each 8 s after its id; eight are done with, 10 s after.
		"pipeline_queue_time_seconds count": 7, "pipeline_queue_time_seconds sum": 56,
		"pipeline_end_to_end_seconds count": 8, "pipeline_end_to_end_seconds sum": 80,
		"pipeline_delivery_attempts count": 8, "pipeline_delivery_attempts sum": 10,
		"pipeline_payload_bytes count": 8, "pipeline_payload_bytes sum": 800,
		"pipeline_workers": 8, "pipeline_in_flight": 7, "pipeline_lane_depth_max": 5,
		"pipeline_sandbox_instances lua post idle": 1, "pipeline_sandbox_instances lua post busy": 1, "pipeline_sandbox_memory_bytes_max post": 4096,
		"pipeline_last_progress_timestamp_seconds": float64(now.UnixMilli()) / 1000,
		"pipeline_subscription_failed":             1, "pipeline_settlements_refused": 1, "pipeline_stream_trim_refused": 1,
		"pipeline_redis_reconnects_total": 1, "pipeline_spans_dropped_total": 3, "pipeline_state starting": 1,
		"pipeline_stream_length payments": 3, "pipeline_stream_length payments.dead": 1,
		"pipeline_group_lag": 1, "pipeline_group_pending": 3, "pipeline_group_oldest_pending_age_seconds": 5, "pipeline_group_oldest_undelivered_age_seconds": 2,
		"pipeline_group_consumers": 1, "pipeline_group_trim_gap": 1,
		"pipeline_dead_letters": 1, "pipeline_dead_letters_oldest_age_seconds": 2,
		"pipeline_redis_up": 1,
	}
}

// instances makes three and ends one.
func (w *world) instances() {
	w.t.Helper()
	h := w.Handlers(map[string]sandbox.Handler{"post": handler{}})["post"]
	for i := range 3 {
		instance, err := h.NewInstance(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		if i == 0 {
			instance.Close()
		}
	}
	if _, err := w.Handler("post", handler{broken: true}).NewInstance(w.t.Context()); err == nil {
		w.t.Error("an instance that could not be made was counted")
	}
}

type handler struct {
	sandbox.Handler

	broken bool
}

func (h handler) NewInstance(context.Context) (sandbox.Instance, error) {
	if h.broken {
		return nil, errors.New("broken")
	}
	return instance{}, nil
}

type instance struct{ sandbox.Instance }

func (instance) Close() {}

// calls has the server take a quarter of a second for a settlement.
func (w *world) calls() {
	w.t.Helper()
	w.server.SetFault(func(c memory.Call) memory.Effect {
		if c.Op == "settle" {
			w.clock.Jump(w.clock.Now().Add(250 * time.Millisecond))
		}
		return memory.Effect{}
	})
	defer w.server.SetFault(nil)
	if _, err := w.server.CreateGroup(w.t.Context(), "payments", "ledger0", "0"); err != nil {
		w.t.Fatal(err)
	}
	_, err := w.Broker(w.server).Settle(w.t.Context(), &broker.Settlement{Owner: broker.Owner{Stream: "payments", Group: "ledger0", Consumer: "c"}, Acks: []broker.ID{{Ms: 1}}})
	if err != nil {
		w.t.Fatal(err)
	}
}

// streams has three entries pending, of which one was trimmed, one not yet read, and
// a dead letter.
func (w *world) streams() {
	w.t.Helper()
	add := func(stream string) broker.ID {
		ids, err := w.server.Add(w.t.Context(), []broker.Add{{Stream: stream, Fields: []broker.Field{{Name: "a", Value: "b"}}}})
		if err != nil {
			w.t.Fatal(err)
		}
		return ids[0]
	}
	first := add("payments")
	add("payments")
	add("payments")
	o := broker.Owner{Stream: "payments", Group: "ledger0", Consumer: "c"}
	if _, err := w.server.Read(w.t.Context(), broker.ReadRequest{Owner: o, Count: 3}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.server.Trim(w.t.Context(), broker.TrimRequest{Stream: "payments", MinID: first.Next()}); err != nil {
		w.t.Fatal(err)
	}
	w.clock.Advance(3 * time.Second)
	add("payments")
	add("payments.dead")
	w.clock.Advance(2 * time.Second)
}

// TestEveryMetricTellsTheTruth moves every metric and compares all series that are
// not zero with what was done.
func TestEveryMetricTellsTheTruth(t *testing.T) {
	w := newWorld(t)
	w.Spans(func() int64 { return 3 })
	want := w.play()
	got := scrape(t, w)
	for name, v := range want {
		if diff := got[name] - v; diff > 1e-9 || diff < -1e-9 {
			t.Errorf("%s is %v, want %v", name, got[name], v)
		}
	}
	moved := map[string]bool{}
	for name, v := range got {
		family, _, _ := strings.Cut(name, " ")
		if v == 0 {
			continue
		}
		moved[family] = true
		if _, known := want[name]; !known && family != "pipeline_build_info" {
			t.Errorf("%s is %v, which nothing of what was done explains", name, v)
		}
	}
	for _, f := range metrics.Families() {
		if !moved[f.Name] && f.Name != "pipeline_worker_seconds_total" { // see the test of its own
			t.Errorf("%s was not moved", f.Name)
		}
	}
	if w.told != 12+7 {
		t.Errorf("the next observer was told of %d", w.told)
	}
}

func TestTheMetricsAreWellFormed(t *testing.T) {
	w := newWorld(t)
	w.play()
	found, err := promlint.NewWithMetricFamilies(gather(t, w)).Lint()
	if err != nil || len(found) > 0 {
		t.Errorf("%v %v", found, err)
	}
}

// TestNoLabelGrows feeds words of strangers into everything that becomes a label.
func TestNoLabelGrows(t *testing.T) {
	w := newWorld(t)
	w.play()
	before := len(scrape(t, w))
	for i := range 1000 {
		word := fmt.Sprintf("word-%d", i)
		w.Settled(w.sub, []observe.Outcome{{
			Result: observe.Result(word), Reason: word, Error: word, Kind: outcome.FailureKind(word), Dead: true, Letter: word, Key: word,
			Replies: []observe.Reply{{Stream: word}},
		}})
		w.Event(observe.Event{Name: observe.EventName(word), Subscription: word})
	}
	if after := len(scrape(t, w)); after != before {
		t.Errorf("%d series became %d", before, after)
	}
}

func TestWhatWorkersDoWithTheirTime(t *testing.T) {
	for _, c := range []struct {
		name string
		now  engine.SubscriptionSnapshot
		want map[string]float64
	}{
		{"nothing to do", engine.SubscriptionSnapshot{Workers: 4}, map[string]float64{"idle": 4}},
		{"half of them run", engine.SubscriptionSnapshot{Workers: 4, Busy: 2, Queued: 2}, map[string]float64{"busy": 2, "idle": 2}},
		{"others have a queue", engine.SubscriptionSnapshot{Workers: 4, Busy: 1, Queued: 9}, map[string]float64{"busy": 1, "blocked_by_key": 3}},
		{"replies wait for room", engine.SubscriptionSnapshot{Workers: 4, Busy: 1, Queued: 9, Withheld: 2}, map[string]float64{"busy": 1, "backpressured": 3}},
		{"too many keys are held", engine.SubscriptionSnapshot{Workers: 4, HoldFull: true}, map[string]float64{"backpressured": 4}},
		{"no consumer", engine.SubscriptionSnapshot{}, map[string]float64{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.now.Label = w.sub.Label
			w.snap.Subscriptions = []engine.SubscriptionSnapshot{c.now}
			w.Watch(w)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan struct{})
			go func() { defer close(ended); w.Run(ctx) }()
			for range 10 {
				for sleeps := false; !sleeps; _, sleeps = w.clock.Next() {
				}
				due, _ := w.clock.Next()
				w.clock.AdvanceToNext(due)
			}
			for sleeps := false; !sleeps; _, sleeps = w.clock.Next() {
			}
			if beat := w.LastBeat(); !beat.Equal(w.clock.Now()) {
				t.Errorf("the last beat was at %v", beat)
			}
			cancel()
			<-ended
			got := scrape(t, w)
			for _, state := range []string{"busy", "idle", "blocked_by_key", "backpressured"} {
				if v := got["pipeline_worker_seconds_total "+state]; v < c.want[state]-1e-6 || v > c.want[state]+1e-6 {
					t.Errorf("%s: %v worker seconds in a second, want %v", state, v, c.want[state])
				}
			}
		})
	}
}

// TestWhatIsNotKnownIsLeftOut: a number that is not known must not look like 0.
func TestWhatIsNotKnownIsLeftOut(t *testing.T) {
	w := newWorld(t)
	names := func() []string {
		var all []string
		for name := range maps.Keys(scrape(t, w)) {
			family, _, _ := strings.Cut(name, " ")
			all = append(all, family)
		}
		return all
	}
	has := func(name string, want bool) {
		t.Helper()
		if slices.Contains(names(), name) != want {
			t.Errorf("%s is there: %v, want %v", name, !want, want)
		}
	}
	has("pipeline_redis_up", false)
	has("pipeline_workers", false) // monitor has none
	w.play()
	if _, err := w.server.Remove(t.Context(), "payments", []broker.ID{w.poller.Latest().Stream("payments").Last}); err != nil {
		t.Fatal(err)
	}
	w.poller.Once(t.Context())
	has("pipeline_group_lag", false)
	has("pipeline_group_oldest_undelivered_age_seconds", true)
	has("pipeline_last_progress_timestamp_seconds", true)
	w.server.SetFault(func(memory.Call) memory.Effect { return memory.Effect{Err: broker.ErrUnavailable, Skip: true} })
	w.clock.Advance(time.Second)
	w.poller.Once(t.Context())
	has("pipeline_group_pending", true)
	if up := scrape(t, w)["pipeline_redis_up"]; up != 0 {
		t.Errorf("redis is up: %v", up)
	}
	w.clock.Advance(15 * time.Second)
	has("pipeline_group_pending", false)
	has("pipeline_stream_length", false)
	has("pipeline_redis_up", true)
}

func TestStates(t *testing.T) {
	w := newWorld(t)
	state := func(want string) {
		t.Helper()
		for name, v := range scrape(t, w) {
			if s, ok := strings.CutPrefix(name, "pipeline_state "); ok && (v == 1) != (s == want) {
				t.Errorf("%s is %v, want %s", name, v, want)
			}
		}
	}
	state("starting")
	w.Watch(w)
	state("starting")
	close(w.ready)
	state("running")
	w.SetState(metrics.Draining)
	state("draining")
	w.SetState(metrics.Monitoring)
	state("monitoring")
}

// TestCountingAllocatesNothing and its time below are what an entry pays.
func TestCountingAllocatesNothing(t *testing.T) {
	w := newWorld(t)
	batch := entries(100)
	if n := testing.AllocsPerRun(100, func() { w.Settled(w.sub, batch) }); n != 0 {
		t.Errorf("%v allocations for 100 entries", n)
	}
}

func entries(n int) []observe.Outcome {
	batch := make([]observe.Outcome, n)
	for i := range batch {
		batch[i] = observe.Outcome{
			ID: broker.ID{Ms: uint64(epoch.UnixMilli())}, Result: observe.ResultAck, Began: epoch.Add(time.Second), Elapsed: 50 * time.Microsecond, Bytes: 300,
		}
	}
	return batch
}

// BenchmarkSettled is the cost of an entry, of 100 in a settlement.
func BenchmarkSettled(b *testing.B) {
	p := pipelineOf(1)
	m := metrics.New(p, clock.NewVirtual(epoch.Add(2*time.Second)), metrics.Build{}, observe.None{})
	batch := entries(100)
	b.ReportAllocs()
	for b.Loop() {
		m.Settled(p.Groups[0].Subscriptions[0], batch)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(100*b.N), "ns/entry")
}

// TestARefusalEnds tells a server that takes outcomes again, and a session that holds
// none, from one that refuses them.
func TestARefusalEnds(t *testing.T) {
	w := newWorld(t)
	w.play()
	for _, end := range []observe.EventName{observe.EventSettleAccepted, observe.EventReading, observe.EventFailed} {
		w.Event(observe.Event{Name: observe.EventSettleRefused, Subscription: w.sub.Label})
		if scrape(t, w)["pipeline_settlements_refused"] != 1 {
			t.Errorf("before %s nothing is refused", end)
		}
		w.Event(observe.Event{Name: end, Subscription: w.sub.Label})
		if scrape(t, w)["pipeline_settlements_refused"] != 0 {
			t.Errorf("after %s it is refused", end)
		}
	}
}

// TestNoAgeOfDeadLettersThatNeverWere has no dead letter, then one, then one that is
// gone: only the last two have an age to tell.
func TestNoAgeOfDeadLettersThatNeverWere(t *testing.T) {
	w := newWorld(t)
	const age = "pipeline_dead_letters_oldest_age_seconds"
	look := func() (float64, bool) {
		w.poller.Once(t.Context())
		v, known := scrape(t, w)[age]
		return v, known
	}
	if v, known := look(); known {
		t.Errorf("a stream that is not there has an age of %v", v)
	}
	ids, err := w.server.Add(t.Context(), []broker.Add{{Stream: "payments.dead", Fields: []broker.Field{{Name: "a"}}}})
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Second)
	if v, known := look(); !known || v != 1 {
		t.Errorf("%v, %v", v, known)
	}
	if _, err := w.server.Remove(t.Context(), "payments.dead", ids); err != nil {
		t.Fatal(err)
	}
	if v, known := look(); !known || v != 0 {
		t.Errorf("without one: %v, %v", v, known)
	}
}
