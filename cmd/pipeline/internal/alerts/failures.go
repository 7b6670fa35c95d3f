package alerts

import (
	"regexp"
	"strconv"
	"strings"

	"pipeline/cmd/pipeline/internal/promql"
)

// The kinds of failures that are limits of the sandbox, and all others.
const (
	ofLimits  = `kind=~"timeout|instructions|memory"`
	ofHandler = `kind!~"timeout|instructions|memory"`
)

var ofLosses = []kind{
	{
		name: "PipelineTrimGap", severity: Critical,
		summary:     "{{ $value }} pending entries of the " + theGroup + " have lost their bodies",
		description: "They were trimmed from the stream before they were handled and can never be: lost data. It is counted up to 1000.",
		exprs: func(b *book) []string {
			return []string{promql.Max(b.of("pipeline_group_trim_gap"), byGroup...) + " > 0"}
		},
	},
	{
		name: "PipelineBodiesMissing", severity: Critical,
		summary:     "entries of " + theSubscription + " were lost",
		description: "Within five minutes about {{ $value | humanize }} entries came to a worker without their bodies, which had been trimmed or deleted. The worker's log has their ids.",
		exprs:       func(b *book) []string { return []string{b.rose("pipeline_bodies_missing_total", bySubscription)} },
	},
	{
		name: "PipelineGroupRecreated", severity: Critical,
		summary:     "the group of " + theSubscription + " was lost",
		description: "It was gone and was created again where it had been, as far as that was written down: entries may have come twice.",
		exprs:       func(b *book) []string { return []string{b.rose("pipeline_groups_recreated_total", bySubscription)} },
	},
	{
		name: "PipelineLeasesLost", severity: Warning,
		summary:     "entries were taken over from live workers of " + theSubscription,
		description: "Within five minutes about {{ $value | humanize }} entries had another owner when this worker renewed or settled them: it was stopped for longer than min_idle, or somebody claims by hand. Their outcomes were not written, and they ran twice.",
		exprs: func(b *book) []string {
			lost := promql.Sum(promql.Rise(b.of("pipeline_leases_lost_total"), Window), bySubscription...)
			stale := promql.Sum(promql.Rise(b.of("pipeline_stale_settlements_total"), Window), bySubscription...)
			return []string{lost + " + " + stale + " > 0"}
		},
	},
}

var ofHandlers = []kind{
	{
		name: "PipelineHandlerBroken", severity: Critical,
		summary:     theHandler + " fails most of its calls",
		description: "{{ $value | humanizePercentage }} of its calls within a minute have failed.",
		exprs: func(b *book) (all []string) {
			handlers, users := b.handlers()
			for _, h := range handlers {
				var labels []string
				for _, s := range users[h] {
					labels = append(labels, regexp.QuoteMeta(s.Label))
				}
				failed := promql.Sum(promql.Rise(b.of("pipeline_handler_failures_total", "handler", h.Label), "1m"), "pipeline", "handler")
				calls := promql.Narrow(b.of("messaging_process_duration_seconds_count"), "subscription=~"+strconv.Quote(strings.Join(labels, "|")))
				enough := " >= " + strconv.Itoa(exhausted(users[h]))
				all = append(all, failed+" / on (pipeline) group_left () "+promql.Sum(promql.Rise(calls, "1m"), "pipeline")+
					" > 0.5 and "+failed+enough)
			}
			return all
		},
	},
	{
		name: "PipelineHandlerFailing", severity: Warning,
		summary:     "calls of " + theHandler + " fail",
		description: "About {{ $value | humanize }} within five minutes, as many as an entry comes to that fails each time.",
		exprs: func(b *book) (all []string) {
			handlers, users := b.handlers()
			for _, h := range handlers {
				failed := promql.Narrow(b.of("pipeline_handler_failures_total", "handler", h.Label), ofHandler)
				all = append(all, promql.Sum(promql.Rise(failed, Window), "pipeline", "handler")+" >= "+strconv.Itoa(exhausted(users[h])))
			}
			return all
		},
	},
	{
		name: "PipelineHandlerLimit", severity: Warning,
		summary:     theHandler + " runs into a limit: {{ $labels.kind }}",
		description: "About {{ $value | humanize }} calls within five minutes were ended because they took too long, too many instructions or too much memory.",
		exprs: func(b *book) []string {
			failed := promql.Narrow(b.of("pipeline_handler_failures_total"), ofLimits)
			return []string{promql.Sum(promql.Rise(failed, Window), "pipeline", "handler", "kind") + " > 0"}
		},
	},
	{
		name: "PipelinePoisonEntries", severity: Warning,
		summary:     "entries of " + theSubscription + " became dead letters: {{ $labels.reason }}",
		description: "About {{ $value | humanize }} within five minutes. They are kept, and not handled until somebody replays them.",
		exprs: func(b *book) []string {
			return []string{b.rose("pipeline_dead_lettered_total", append(bySubscription[:4:4], "reason"))}
		},
	},
	{
		name: "PipelineDeadLettersGrowing", severity: Critical,
		summary:     "{{ $value }} dead letters within five minutes on " + theStream,
		description: "That many at once are seldom the fault of single entries: a handler is broken, or a producer writes what it should not.",
		exprs: func(b *book) []string {
			letters := b.of("pipeline_dead_letters")
			return []string{promql.Max(letters+" - min_over_time("+letters+"["+Window+"])", byStream...) + " >= " + strconv.FormatInt(b.options.Letters, 10)}
		},
	},
}
