package metrics

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Kind is what a metric does: only rise, rise and fall, or spread over buckets.
type Kind string

// The kinds.
const (
	Counter   Kind = "counter"
	Gauge     Kind = "gauge"
	Histogram Kind = "histogram"
)

// Family is one metric: its name, what it says, and by which labels its series
// differ. Every label but pipeline has values from a closed set: names that stand
// in the pipeline file, and words of this program. No id, key, consumer or text of
// an error is ever one.
type Family struct {
	Name   string
	Kind   Kind
	Help   string
	Labels []string

	desc *prometheus.Desc
}

// families are all metrics in the order in which they are declared.
var families []*Family

func family(name string, kind Kind, help string, labels ...string) *Family {
	f := &Family{Name: name, Kind: kind, Help: help, Labels: labels, desc: prometheus.NewDesc(name, help, labels, nil)}
	families = append(families, f)
	return f
}

// Families are all metrics that a process can have, in the order of the manual.
func Families() []Family {
	all := make([]Family, len(families))
	for i, f := range families {
		all[i] = *f
	}
	return all
}

// The labels of the metrics of a subscription, a group and a stream.
var (
	ofSubscription = []string{"pipeline", "stream", "group", "subscription"}
	ofGroup        = ofSubscription[:3:3]
	ofStream       = ofSubscription[:2:2]
	ofMessaging    = []string{"messaging_system", "messaging_destination_name", "messaging_consumer_group_name", "pipeline", "subscription"}
)

func with(labels []string, more ...string) []string {
	return append(slices.Clip(labels), more...)
}

var (
	consumed = family("messaging_client_consumed_messages_total", Counter,
		"Entries that the server delivered, each as often as it did.", ofMessaging...)
	sent = family("messaging_client_sent_messages_total", Counter,
		"Messages written to a stream: replies and dead letters.", "messaging_system", "messaging_destination_name", "pipeline")
	process = family("messaging_process_duration_seconds", Histogram,
		"How long a call of the handler took.", ofMessaging...)
	operations = family("messaging_client_operation_duration_seconds", Histogram,
		"How long the server took to answer an operation. Reads are not among them: they wait for entries.",
		"messaging_system", "messaging_operation_name", "pipeline")

	settled = family("pipeline_entries_settled_total", Counter,
		"Outcomes that were written, by what became of the delivery.", with(ofSubscription, "outcome")...)
	claimed = family("pipeline_entries_claimed_total", Counter,
		"Entries taken over that had been delivered before.", ofSubscription...)
	stale = family("pipeline_stale_settlements_total", Counter,
		"Outcomes that were not written, because the entry belonged to somebody else by then.", ofSubscription...)
	leasesLost = family("pipeline_leases_lost_total", Counter,
		"Entries that were taken over from this process while it held them.", ofSubscription...)
	duplicates = family("pipeline_duplicates_suppressed_total", Counter,
		"Entries acknowledged without effect, because one with the same idempotency key was settled before.", ofSubscription...)
	deadLettered = family("pipeline_dead_lettered_total", Counter,
		"Dead letters written, by reason.", with(ofSubscription, "reason")...)
	failures = family("pipeline_handler_failures_total", Counter,
		"Calls of a handler that failed, by kind of failure.", "pipeline", "handler", "kind")
	bodiesMissing = family("pipeline_bodies_missing_total", Counter,
		"Entries that were deleted or trimmed before they were handled: lost data.", ofSubscription...)
	recreated = family("pipeline_groups_recreated_total", Counter,
		"Times that the group was gone and was created again.", ofSubscription...)
	queueTime = family("pipeline_queue_time_seconds", Histogram,
		"From an entry's id to the first call of its handler.", ofSubscription...)
	endToEnd = family("pipeline_end_to_end_seconds", Histogram,
		"From an entry's id to the moment when its last outcome was written.", ofSubscription...)
	attempts = family("pipeline_delivery_attempts", Histogram,
		"Deliveries that an entry took until its last outcome.", ofSubscription...)
	payload = family("pipeline_payload_bytes", Histogram,
		"Size of the bodies that were given to the handler.", ofSubscription...)
	workers = family("pipeline_workers", Gauge,
		"Workers of the subscription in this process.", ofSubscription...)
	inFlight = family("pipeline_in_flight", Gauge,
		"Entries held by this process: queued, running, or finished and not yet settled.", ofSubscription...)
	workerSeconds = family("pipeline_worker_seconds_total", Counter,
		"What workers did with their time, sampled: busy, idle (nothing to do), blocked_by_key (entries wait, for other workers), "+
			"backpressured (reading has stopped: replies wait for room, or the held keys have reached hold_limit).",
		with(ofSubscription, "state")...)
	laneDepth = family("pipeline_lane_depth_max", Gauge,
		"The most entries that one worker has before it.", ofSubscription...)
	instances = family("pipeline_sandbox_instances", Gauge,
		"Instances of the handler, running a call or idle.", "pipeline", "handler", "engine", "state")
	memory = family("pipeline_sandbox_memory_bytes_max", Gauge,
		"The most memory that one call of the handler was charged for.", "pipeline", "handler")
	lastProgress = family("pipeline_last_progress_timestamp_seconds", Gauge,
		"When an outcome was written last; absent before the first.", ofSubscription...)
	failed = family("pipeline_subscription_failed", Gauge,
		"1 if the subscription has stopped for good: a right is missing, or a key holds something else.", ofSubscription...)
	refused = family("pipeline_settlements_refused", Gauge,
		"1 while the server refuses outcomes, which are held and settled again: it is full, most likely.", ofSubscription...)
	trimRefused = family("pipeline_stream_trim_refused", Gauge,
		"1 if this process was refused the trimming of the stream to its retention.", ofStream...)
	reconnects = family("pipeline_redis_reconnects_total", Counter,
		"Times that the server was lost and came back.", "pipeline")
	spansDropped = family("pipeline_spans_dropped_total", Counter,
		"Spans that were made and not exported: the collector was away, or too slow. Absent where no traces are exported.", "pipeline")
	state = family("pipeline_state", Gauge,
		"1 for the state of the process: starting, running, draining or monitoring.", "pipeline", "state")

	streamLength = family("pipeline_stream_length", Gauge,
		"Entries in the stream.", ofStream...)
	groupLag = family("pipeline_group_lag", Gauge,
		"Entries that the group was not given yet; absent where the server does not know.", ofGroup...)
	groupPending = family("pipeline_group_pending", Gauge,
		"Entries delivered and not acknowledged.", ofGroup...)
	oldestPending = family("pipeline_group_oldest_pending_age_seconds", Gauge,
		"Age of the oldest entry that is pending, since it was added; 0 without one.", ofGroup...)
	oldestUndelivered = family("pipeline_group_oldest_undelivered_age_seconds", Gauge,
		"Age of the oldest entry that the group was not given yet; 0 without one. Known where the lag is not.", ofGroup...)
	groupConsumers = family("pipeline_group_consumers", Gauge,
		"Consumers of the group on the server, alive or not.", ofGroup...)
	trimGap = family("pipeline_group_trim_gap", Gauge,
		"Pending entries whose bodies were trimmed, counted up to 1000.", ofGroup...)
	deadLetters = family("pipeline_dead_letters", Gauge,
		"Entries in a dead-letter stream.", ofStream...)
	deadLettersAge = family("pipeline_dead_letters_oldest_age_seconds", Gauge,
		"Age of the oldest dead letter; 0 without one, absent where there never was any.", ofStream...)
	redisUp = family("pipeline_redis_up", Gauge,
		"1 if the server answered when it was asked last.", "pipeline")
	buildInfo = family("pipeline_build_info", Gauge,
		"Always 1; the labels say which program this is.", "version", "revision", "go_version")
)

// child is one series of a family. Its labels are made once.
type child struct {
	family *Family
	labels []*dto.LabelPair
}

func (f *Family) child(values ...string) child {
	return child{f, prometheus.MakeLabelPairs(f.desc, values)}
}

// sample is a series with its value. It implements prometheus.Metric.
type sample struct {
	child

	value  float64
	spread *spread
}

func (c child) send(ch chan<- prometheus.Metric, value float64) {
	ch <- &sample{child: c, value: value}
}

// Desc implements prometheus.Metric.
func (s *sample) Desc() *prometheus.Desc { return s.family.desc }

// Write implements prometheus.Metric.
func (s *sample) Write(out *dto.Metric) error {
	out.Label = s.labels
	switch {
	case s.spread != nil:
		out.Histogram = s.spread.write()
	case s.family.Kind == Counter:
		out.Counter = &dto.Counter{Value: new(s.value)}
	default:
		out.Gauge = &dto.Gauge{Value: new(s.value)}
	}
	return nil
}
