package alerts

import (
	"slices"
	"strconv"

	"pipeline/cmd/pipeline/internal/promql"
)

// The labels that alerts are told apart by.
var (
	bySubscription = []string{"pipeline", "stream", "group", "subscription"}
	byGroup        = bySubscription[:3:3]
	byStream       = bySubscription[:2:2]
)

// of selects the series of a metric that belong to the pipeline.
func (b *book) of(metric string, pairs ...string) string {
	return metric + promql.Match(append([]string{"pipeline", b.pipeline.Name}, pairs...)...)
}

// rose holds where a counter has risen within Window.
func (b *book) rose(metric string, by []string) string {
	return promql.Sum(promql.Rise(b.of(metric), Window), by...) + " > 0"
}

// The words of labels in summaries.
const (
	theSubscription = "subscription {{ $labels.subscription }} of pipeline {{ $labels.pipeline }}"
	theGroup        = "group {{ $labels.group }} on {{ $labels.stream }} of pipeline {{ $labels.pipeline }}"
	theStream       = "stream {{ $labels.stream }} of pipeline {{ $labels.pipeline }}"
	theHandler      = "handler {{ $labels.handler }} of pipeline {{ $labels.pipeline }}"
)

// kinds are all alerts: first what keeps everything from being seen, then what
// stands still, what is lost, and what fails.
var kinds = slices.Concat(ofProcesses, ofGroups, ofLosses, ofHandlers)

var ofProcesses = []kind{
	{
		name: "PipelineTargetDown", severity: Warning, wait: away,
		summary:     "a process of job {{ $labels.job }} does not answer Prometheus",
		description: "{{ $labels.instance }} could not be scraped, or there is no target of the job at all. What only that process says is not seen.",
		exprs: func(b *book) []string {
			up := "up" + promql.Match("job", b.options.Job)
			return []string{up + " == 0 or absent(" + up + ")"}
		},
	},
	{
		name: "PipelineWorkersGone", severity: Critical, wait: away,
		summary:     "no process works on " + theSubscription,
		description: "No process that Prometheus can scrape has workers of the subscription. Entries wait until one is started.",
		exprs: func(b *book) (all []string) {
			for _, s := range b.pipeline.Subscriptions() {
				all = append(all, "absent("+b.of("pipeline_workers", "subscription", s.Label)+")")
			}
			return all
		},
	},
	{
		name: "PipelineSubscriptionFailed", severity: Critical,
		summary:     theSubscription + " has stopped for good",
		description: "In {{ $value }} of its processes it does nothing until the process is started again: a right is missing, or a key holds something else than a stream.",
		exprs: func(b *book) []string {
			return []string{promql.Count(b.of("pipeline_subscription_failed")+" == 1", bySubscription...)}
		},
	},
	{
		name: "PipelineRedisDown", severity: Critical, keep: 6 * away,
		summary:     "the server of pipeline {{ $labels.pipeline }} does not answer",
		description: "{{ $value }} of the processes of the pipeline did not get an answer when they last asked. Nothing is lost: they wait for it.",
		exprs: func(b *book) []string {
			return []string{promql.Count(b.of("pipeline_redis_up")+" == 0", "pipeline")}
		},
	},
	{
		name: "PipelineSettlementsRefused", severity: Critical,
		summary:     "the server refuses the outcomes of " + theSubscription,
		description: "{{ $value }} of its processes hold outcomes that the server does not take, most likely because it is full. They settle them again until it does.",
		exprs: func(b *book) []string {
			return []string{promql.Count(b.of("pipeline_settlements_refused")+" == 1", bySubscription...)}
		},
	},
	{
		name: "PipelineTrimRefused", severity: Warning,
		summary:     theStream + " may not be trimmed and keeps growing",
		description: "{{ $value }} processes were refused to trim the stream to its retention.",
		exprs: func(b *book) []string {
			return []string{promql.Count(b.of("pipeline_stream_trim_refused")+" == 1", byStream...)}
		},
	},
}

var ofGroups = []kind{
	{
		name: "PipelineGroupUnseen", severity: Critical, wait: away,
		summary:     "the " + theGroup + " is not there, or may not be looked at",
		description: "The server answers, and no process can tell anything of the group: it was never created, was destroyed, or the logins lack the right to look.",
		exprs: func(b *book) (all []string) {
			for _, g := range b.groups() {
				gone := "absent(" + b.of("pipeline_group_pending", "stream", g.Stream.Name, "group", g.Name) + ")"
				all = append(all, gone+" and on () max("+b.of("pipeline_redis_up")+") == 1")
			}
			return all
		},
	},
	{
		name: "PipelineGroupBehind", severity: Critical,
		summary:     "the " + theGroup + " is {{ $value | humanizeDuration }} behind",
		description: "The oldest entry that no worker of the group was given yet is that old: the workers are gone, too few, or held up.",
		exprs: func(b *book) (all []string) {
			for _, g := range b.groups() {
				age := b.of("pipeline_group_oldest_undelivered_age_seconds", "stream", g.Stream.Name, "group", g.Name)
				all = append(all, promql.Max(age, byGroup...)+" > "+promql.Seconds(b.options.Behind))
			}
			return all
		},
	},
	{
		name: "PipelineNoProgress", severity: Critical,
		summary:     theSubscription + " has settled nothing for {{ $value | humanizeDuration }}, and entries wait",
		description: "A process works on the subscription and entries wait to be delivered, but no outcome is written: the handler hangs, or reading has stopped.",
		exprs: func(b *book) []string {
			behind := " > " + promql.Seconds(b.options.Behind)
			waits := promql.Max(b.of("pipeline_group_oldest_undelivered_age_seconds"), byGroup...) + behind
			still := "time() - " + promql.Max(b.of("pipeline_last_progress_timestamp_seconds"), bySubscription...) + behind
			return []string{still + " and on (" + "pipeline, stream, group" + ") (" + waits + ")"}
		},
	},
	{
		name: "PipelinePendingStuck", severity: Warning,
		summary:     "an entry of the " + theGroup + " is pending after {{ $value | humanizeDuration }}",
		description: "All attempts that the file allows, with their pauses and a claim between any two, take less. It is held back behind another, given back again and again, or nobody claims it.",
		exprs: func(b *book) (all []string) {
			for _, g := range b.groups() {
				age := b.of("pipeline_group_oldest_pending_age_seconds", "stream", g.Stream.Name, "group", g.Name)
				all = append(all, promql.Max(age, byGroup...)+" > "+promql.Seconds(longest(g, b.options.Behind)))
			}
			return all
		},
	},
	{
		name: "PipelineBacklogNearLimit", severity: Critical,
		summary:     "the backlog of " + theStream + " is near its limit",
		description: "It has come to {{ $value | humanize }} entries, 80 % of max_backlog or more: who publishes is slowed down, and stops at the limit.",
		exprs: func(b *book) (all []string) {
			for _, s := range b.pipeline.Streams {
				if s.MaxBacklog == 0 {
					continue
				}
				backlog := b.of("pipeline_group_lag", "stream", s.Name) + " + " + b.of("pipeline_group_pending", "stream", s.Name)
				if !b.read(s.Name) {
					backlog = b.of("pipeline_stream_length", "stream", s.Name)
				}
				all = append(all, promql.Max(backlog, byStream...)+" >= "+strconv.FormatInt((s.MaxBacklog*4+4)/5, 10))
			}
			return all
		},
	},
	{
		name: "PipelineBackpressured", severity: Warning,
		summary:     "workers of " + theSubscription + " may not read",
		description: "For {{ $value | humanizePercentage }} of their time reading had stopped: replies wait for room in a stream, or the keys that are held back have reached hold_limit.",
		exprs: func(b *book) []string {
			spent := func(pairs ...string) string {
				return promql.Sum("rate("+b.of("pipeline_worker_seconds_total", pairs...)+"[1m])", bySubscription...)
			}
			return []string{spent("state", "backpressured") + " / " + spent() + " > 0.5"}
		},
	},
}

// read reports whether the pipeline has a group on the stream.
func (b *book) read(stream string) bool {
	for _, g := range b.pipeline.Groups {
		if g.Stream.Name == stream {
			return true
		}
	}
	return false
}
