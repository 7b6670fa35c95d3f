package dashboard

import (
	"strings"

	"pipeline/cmd/pipeline/internal/promql"
	"pipeline/engine/spec"
)

// queries are about a pipeline.
type queries struct{ pipeline *spec.Pipeline }

// all selects series of the pipeline, whichever process says them. A name with a
// dollar would be taken for a variable of the dashboard.
func (q queries) all(metric string, pairs ...string) string {
	return metric + strings.ReplaceAll(promql.Match(append([]string{"pipeline", q.pipeline.Name}, pairs...)...), "$", `\x24`)
}

// of selects series of the processes that were chosen.
func (q queries) of(metric string, pairs ...string) string {
	return promql.Narrow(q.all(metric, pairs...), `instance=~"$instance"`)
}

// rate is how fast counters rise, a second, as finely as the page shows it.
func rate(series string) string { return "rate(" + series + "[$__rate_interval])" }

// quantiles are the median and the 99th percentile of a histogram, from its buckets.
func quantiles(name, buckets string) []Target {
	of := func(q string) string { return "histogram_quantile(" + q + ", " + promql.Sum(rate(buckets), "le") + ")" }
	return []Target{line(name+" p50", of("0.5")), line(name+" p99", of("0.99"))}
}

// overview is about the whole pipeline.
func (q queries) overview() []Panel {
	total := func(series string) string { return "sum(" + series + ")" }
	const from = 1 // what should be none
	return []Panel{
		figure("Processes without the server", "How many got no answer when they last asked.", number, from,
			line("", "count("+q.of("pipeline_redis_up")+" == 0) or vector(0)")),
		figure("Failed subscriptions", "In how many processes one has stopped for good.", number, from,
			line("", total(q.of("pipeline_subscription_failed")))),
		figure("Oldest undelivered", "The age of the oldest entry that a group was not given yet.", seconds, 60,
			line("", "max("+q.all("pipeline_group_oldest_undelivered_age_seconds")+")")),
		figure("Pending", "Entries delivered and not acknowledged.", number, 1e9,
			line("", total(promql.Max(q.all("pipeline_group_pending"), "stream", "group")))),
		figure("Dead letters", "In all dead-letter streams.", number, from,
			line("", total(promql.Max(q.all("pipeline_dead_letters"), "stream")))),
		figure("Lost bodies", "Pending entries whose bodies were trimmed: lost data.", number, from,
			line("", total(promql.Max(q.all("pipeline_group_trim_gap"), "stream", "group")))),
		chart("Settled", "Outcomes written, by what became of the delivery.", perSecond,
			line("{{outcome}}", promql.Sum(rate(q.of("pipeline_entries_settled_total")), "outcome"))),
		chart("Written", "Replies and dead letters, by their stream.", perSecond,
			line("{{messaging_destination_name}}", promql.Sum(rate(q.of("messaging_client_sent_messages_total")), "messaging_destination_name"))),
		chart("Age of the oldest undelivered entry", "How far each group is behind.", seconds,
			line("{{group}} on {{stream}}", promql.Max(q.all("pipeline_group_oldest_undelivered_age_seconds"), "stream", "group"))),
		chart("Length of streams", "Entries in each stream.", number, line("{{stream}}", promql.Max(q.all("pipeline_stream_length"), "stream"))),
		chart("Dead letters", "Entries in each dead-letter stream.", number, line("{{stream}}", promql.Max(q.all("pipeline_dead_letters"), "stream"))),
		chart("Age of the oldest dead letter", "How long nobody has looked.", seconds,
			line("{{stream}}", promql.Max(q.all("pipeline_dead_letters_oldest_age_seconds"), "stream"))),
	}
}

// subscription is about one, with its group and its handler.
func (q queries) subscription(s *spec.Subscription) []Panel {
	sub := []string{"subscription", s.Label}
	group := []string{"stream", s.Group.Stream.Name, "group", s.Group.Name}
	handler := []string{"handler", s.Handler.Label}
	one := func(metric string) string { return q.of(metric, sub...) }
	counted := func(legend, metric string) Target { return line(legend, "sum("+rate(one(metric))+")") }
	most := func(legend, metric string) Target { return line(legend, "max("+q.all(metric, group...)+")") }
	return []Panel{
		chart("Rates", "Entries delivered, claimed from others, and settled.", perSecond, counted("delivered", "messaging_client_consumed_messages_total"),
			counted("claimed", "pipeline_entries_claimed_total"), counted("settled", "pipeline_entries_settled_total")),
		chart("Outcomes", "What became of the deliveries.", perSecond,
			line("{{outcome}}", promql.Sum(rate(one("pipeline_entries_settled_total")), "outcome"))),
		chart("Lag and pending", "Not given to the group yet, and given and not acknowledged. Where the server does not know the lag, there is none.", number,
			most("lag", "pipeline_group_lag"), most("pending", "pipeline_group_pending"),
			line("held by processes", "sum("+one("pipeline_in_flight")+")"), most("lost bodies", "pipeline_group_trim_gap")),
		chart("Ages", "Of the oldest entry that waits for delivery, and of the oldest that is pending; and the time since an outcome was written.", seconds,
			most("oldest undelivered", "pipeline_group_oldest_undelivered_age_seconds"), most("oldest pending", "pipeline_group_oldest_pending_age_seconds"),
			line("since the last outcome", "time() - max("+one("pipeline_last_progress_timestamp_seconds")+")")),
		chart("Time of a call", "How long the handler takes.", seconds, quantiles("call", one("messaging_process_duration_seconds_bucket"))...),
		chart("Time in the queue and in all", "From an entry's id to the first call, and to its last outcome.", seconds,
			append(quantiles("queue", one("pipeline_queue_time_seconds_bucket")), quantiles("in all", one("pipeline_end_to_end_seconds_bucket"))...)...),
		chart("Failures", "Calls of the handler "+s.Handler.Label+" that failed, by kind; all subscriptions that have it.", perSecond,
			line("{{kind}}", promql.Sum(rate(q.of("pipeline_handler_failures_total", handler...)), "kind"))),
		chart("Dead letters", "Written, by reason.", perSecond, line("{{reason}}", promql.Sum(rate(one("pipeline_dead_lettered_total")), "reason"))),
		chart("Taken, lost and repeated", "Entries that somebody else took from a live worker, that were gone, or that came twice; and groups that were.", perSecond,
			counted("leases lost", "pipeline_leases_lost_total"), counted("stale settlements", "pipeline_stale_settlements_total"),
			counted("bodies missing", "pipeline_bodies_missing_total"), counted("duplicates", "pipeline_duplicates_suppressed_total"),
			counted("groups recreated", "pipeline_groups_recreated_total")),
		chart("Workers", "How many there are, and what they do.", number, line("{{state}}", promql.Sum(rate(one("pipeline_worker_seconds_total")), "state")),
			line("all", "sum("+one("pipeline_workers")+")"), line("most before one", "max("+one("pipeline_lane_depth_max")+")"),
			line("consumers on the server", "max("+q.all("pipeline_group_consumers", group...)+")")),
		chart("Memory of the sandbox", "The most that one call was charged for.", bytes,
			line("largest call", "max("+q.of("pipeline_sandbox_memory_bytes_max", handler...)+")")),
		chart("Instances of the handler", "Running a call, or idle.", number,
			line("{{state}}", promql.Sum(q.of("pipeline_sandbox_instances", handler...), "state"))),
		chart("Deliveries and size", "How often entries were delivered until their last outcome, and the size of bodies.", number,
			append(quantiles("deliveries", one("pipeline_delivery_attempts_bucket")), quantiles("bytes", one("pipeline_payload_bytes_bucket"))...)...),
	}
}

// server is about what the server answers, and about the processes.
func (q queries) server() []Panel {
	op := "histogram_quantile(0.99, " + promql.Sum(rate(q.of("messaging_client_operation_duration_seconds_bucket")), "le", "messaging_operation_name") + ")"
	return []Panel{
		chart("Time of an operation, p99", "How long the server takes to answer. Reads, which wait for entries, are not among them.", seconds,
			line("{{messaging_operation_name}}", op)),
		chart("Reconnects", "Times that the server was lost and came back.", perSecond,
			line("{{instance}}", promql.Sum(rate(q.of("pipeline_redis_reconnects_total")), "instance"))),
		chart("Spans dropped", "Spans that no collector took. Absent where no traces are exported.", perSecond,
			line("{{instance}}", promql.Sum(rate(q.of("pipeline_spans_dropped_total")), "instance"))),
		chart("Refused", "1 where the server refuses outcomes, or a stream may not be trimmed.", number,
			line("outcomes of {{subscription}}", promql.Max(q.of("pipeline_settlements_refused"), "subscription")),
			line("trimming of {{stream}}", promql.Max(q.of("pipeline_stream_trim_refused"), "stream"))),
		chart("Processes", "By what they are about.", number, line("{{state}}", promql.Sum(q.of("pipeline_state"), "state"))),
		chart("Versions", "Of the program, by process.", number, line("{{version}} {{revision}}",
			promql.Count("pipeline_build_info * on (instance) group_left () "+promql.Max(q.of("pipeline_redis_up")+" >= 0", "instance"), "version", "revision"))),
	}
}
