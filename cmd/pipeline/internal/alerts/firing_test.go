package alerts

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pipeline/tests/promtest"
)

// Times are in seconds. There is a scrape every five; trouble begins after a time in
// which all is well, long enough that every counter has a past; within is how soon it
// has to be told.
const (
	scrape = 5
	before = 62 // scrapes, more than the rules look back
	begins = before * scrape
	within = 15
)

// The labels of the sample's series.
const (
	inProcess = `pipeline="p",instance="a:1",job="pipeline"`
	inStream  = inProcess + `,stream="payments"`
	inGroup   = inStream + `,group="ledger"`
	inSub     = inGroup + `,subscription="post"`
	inHandler = inProcess + `,handler="post"`
	inCalls   = `messaging_process_duration_seconds_count{` + inProcess + `,subscription="post"}`
	inLetters = inProcess + `,stream="payments.dead"`
)

// steady are the series of a pipeline that is well, with a value that does not
// change.
var steady = map[string]float64{
	`up{instance="a:1",job="pipeline"}`:                                  1,
	`pipeline_redis_up{` + inProcess + `}`:                               1,
	`pipeline_workers{` + inSub + `}`:                                    8,
	`pipeline_subscription_failed{` + inSub + `}`:                        0,
	`pipeline_settlements_refused{` + inSub + `}`:                        0,
	`pipeline_stream_trim_refused{` + inStream + `}`:                     0,
	`pipeline_group_pending{` + inGroup + `}`:                            20,
	`pipeline_group_lag{` + inGroup + `}`:                                10,
	`pipeline_group_oldest_pending_age_seconds{` + inGroup + `}`:         300, // retries wait for minutes
	`pipeline_group_oldest_undelivered_age_seconds{` + inGroup + `}`:     1,
	`pipeline_group_trim_gap{` + inGroup + `}`:                           0,
	`pipeline_stream_length{` + inProcess + `,stream="screened"}`:        39,
	`pipeline_dead_letters{` + inLetters + `}`:                           500,
	`pipeline_dead_lettered_total{` + inSub + `,reason="failed"}`:        7,
	`pipeline_bodies_missing_total{` + inSub + `}`:                       1,
	`pipeline_groups_recreated_total{` + inSub + `}`:                     1,
	`pipeline_leases_lost_total{` + inSub + `}`:                          3,
	`pipeline_stale_settlements_total{` + inSub + `}`:                    3,
	`pipeline_handler_failures_total{` + inHandler + `,kind="error"}`:    9,
	`pipeline_handler_failures_total{` + inHandler + `,kind="memory"}`:   2,
	`pipeline_worker_seconds_total{` + inSub + `,state="idle"}`:          100,
	`pipeline_worker_seconds_total{` + inSub + `,state="backpressured"}`: 100,
	`pipeline_last_progress_timestamp_seconds{` + inSub + `}`:            0, // replaced: it moves
	inCalls: 0, // replaced: it moves
}

// always are the values of a series that moves while all is well.
var always = map[string]string{
	inCalls: fmt.Sprintf("0+5x%d", 2*before),
	`pipeline_last_progress_timestamp_seconds{` + inSub + `}`: fmt.Sprintf("0+5x%d", 2*before),
}

// firing are the cases: what series do instead once the trouble begins, or, after "=",
// from the beginning, and all alerts that fire soon after.
var firing = []struct {
	name    string
	trouble map[string]string
	alerts  []string
}{
	{"all is well", nil, nil},
	{"a process is gone", map[string]string{
		`up{instance="a:1",job="pipeline"}`: "0x60", `pipeline_workers{` + inSub + `}`: "stale",
	}, []string{"PipelineTargetDown", "PipelineWorkersGone"}},
	{"no target at all", map[string]string{`up{instance="a:1",job="pipeline"}`: "stale"}, []string{"PipelineTargetDown"}},
	{"a restart", map[string]string{
		`up{instance="a:1",job="pipeline"}`: "0 1x60", `pipeline_workers{` + inSub + `}`: "stale 8x60",
	}, nil},
	{"it failed for good", map[string]string{`pipeline_subscription_failed{` + inSub + `}`: "1x60"}, []string{"PipelineSubscriptionFailed"}},
	{"the server is away", map[string]string{
		`pipeline_redis_up{` + inProcess + `}`: "0x60", `pipeline_group_pending{` + inGroup + `}`: "stale",
	}, []string{"PipelineRedisDown"}},
	{"the server is full", map[string]string{`pipeline_settlements_refused{` + inSub + `}`: "1x60"}, []string{"PipelineSettlementsRefused"}},
	{"it may not trim", map[string]string{`pipeline_stream_trim_refused{` + inStream + `}`: "1x60"}, []string{"PipelineTrimRefused"}},
	{"the group is gone", map[string]string{
		`pipeline_group_pending{` + inGroup + `}`: "stale", `pipeline_group_lag{` + inGroup + `}`: "stale",
	}, []string{"PipelineGroupUnseen"}},
	{"the group is not seen for a moment", map[string]string{`pipeline_group_pending{` + inGroup + `}`: "stale 20x60"}, nil},
	{"the group is behind", map[string]string{`pipeline_group_oldest_undelivered_age_seconds{` + inGroup + `}`: "61x60"}, []string{"PipelineGroupBehind"}},
	{"the group is as far behind as it may be", map[string]string{`pipeline_group_oldest_undelivered_age_seconds{` + inGroup + `}`: "60x60"}, nil},
	{"nothing is settled, and entries wait", map[string]string{
		`pipeline_last_progress_timestamp_seconds{` + inSub + `}`:        "240x60",
		`pipeline_group_oldest_undelivered_age_seconds{` + inGroup + `}`: "61x60",
	}, []string{"PipelineGroupBehind", "PipelineNoProgress"}},
	{"nothing is settled, because there is nothing", map[string]string{`pipeline_last_progress_timestamp_seconds{` + inSub + `}`: "240x60"}, nil},
	{"outcomes come slowly, and entries wait", map[string]string{
		`pipeline_last_progress_timestamp_seconds{` + inSub + `}`:        "290x60",
		`pipeline_group_oldest_undelivered_age_seconds{` + inGroup + `}`: "61x60",
	}, []string{"PipelineGroupBehind"}},
	{"nothing was settled, and entries wait as long as they may", map[string]string{
		`pipeline_last_progress_timestamp_seconds{` + inSub + `}`:        "240x60",
		`pipeline_group_oldest_undelivered_age_seconds{` + inGroup + `}`: "60x60",
	}, nil},
	{"an entry is stuck", map[string]string{`pipeline_group_oldest_pending_age_seconds{` + inGroup + `}`: "338x60"}, []string{"PipelinePendingStuck"}},
	{"the backlog is near its limit", map[string]string{`pipeline_group_lag{` + inGroup + `}`: "780x60"}, []string{"PipelineBacklogNearLimit"}},
	{"the backlog is not yet near its limit", map[string]string{`pipeline_group_lag{` + inGroup + `}`: "779x60"}, nil},
	{"so is a stream that nobody reads", map[string]string{`pipeline_stream_length{` + inProcess + `,stream="screened"}`: "40x60"}, []string{"PipelineBacklogNearLimit"}},
	{"workers may not read", map[string]string{`pipeline_worker_seconds_total{` + inSub + `,state="backpressured"}`: "108+8x60"}, []string{"PipelineBackpressured"}},
	{"workers may not read for a third of the time", map[string]string{
		`pipeline_worker_seconds_total{` + inSub + `,state="backpressured"}`: "102+2x60",
		`pipeline_worker_seconds_total{` + inSub + `,state="idle"}`:          "104+4x60",
	}, nil},
	{"a body is gone", map[string]string{`pipeline_group_trim_gap{` + inGroup + `}`: "1x60"}, []string{"PipelineTrimGap"}},
	{"bodies were missed", map[string]string{`pipeline_bodies_missing_total{` + inSub + `}`: "2x60"}, []string{"PipelineBodiesMissing"}},
	{"the group was lost", map[string]string{`pipeline_groups_recreated_total{` + inSub + `}`: "2x60"}, []string{"PipelineGroupRecreated"}},
	{"a lease was lost", map[string]string{`pipeline_leases_lost_total{` + inSub + `}`: "4x60"}, []string{"PipelineLeasesLost"}},
	{"a settlement was stale", map[string]string{`pipeline_stale_settlements_total{` + inSub + `}`: "4x60"}, []string{"PipelineLeasesLost"}},
	{"some calls fail", map[string]string{
		`pipeline_handler_failures_total{` + inHandler + `,kind="error"}`: "9x1 14x60",
	}, []string{"PipelineHandlerFailing"}},
	{"one call fails", map[string]string{`pipeline_handler_failures_total{` + inHandler + `,kind="error"}`: "9x1 10x60"}, nil},
	{"most calls fail", map[string]string{
		`pipeline_handler_failures_total{` + inHandler + `,kind="error"}`: "59+50x60", inCalls: "360+55x60",
	}, []string{"PipelineHandlerBroken", "PipelineHandlerFailing"}},
	{"all of five calls fail", map[string]string{
		`pipeline_handler_failures_total{` + inHandler + `,kind="error"}`: "14x60", inCalls: "=0x61 5x60",
	}, []string{"PipelineHandlerBroken", "PipelineHandlerFailing"}},
	{"all of four calls fail", map[string]string{
		`pipeline_handler_failures_total{` + inHandler + `,kind="error"}`: "13x60", inCalls: "=0x61 4x60",
	}, nil},
	{"a limit is reached", map[string]string{`pipeline_handler_failures_total{` + inHandler + `,kind="memory"}`: "3x60"}, []string{"PipelineHandlerLimit"}},
	{"an entry is given up", map[string]string{`pipeline_dead_lettered_total{` + inSub + `,reason="failed"}`: "8x60"}, []string{"PipelinePoisonEntries"}},
	{"many are", map[string]string{
		`pipeline_dead_letters{` + inLetters + `}`:                    "505x1 510x60",
		`pipeline_dead_lettered_total{` + inSub + `,reason="failed"}`: "12x1 17x60",
	}, []string{"PipelineDeadLettersGrowing", "PipelinePoisonEntries"}},
	{"dead letters are dropped, and nine come", map[string]string{`pipeline_dead_letters{` + inLetters + `}`: "0x1 9x60"}, nil},
	// What a process has counted before it was first scraped counts, too.
	{"a new process has lost entries at once", map[string]string{
		strings.Replace(`pipeline_bodies_missing_total{`+inSub+`}`, "a:1", "b:2", 1): "3x60",
	}, []string{"PipelineBodiesMissing"}},
	{"a new process has lost nothing", map[string]string{
		strings.Replace(`pipeline_bodies_missing_total{`+inSub+`}`, "a:1", "b:2", 1): "0x60",
	}, nil},
}

// TestTheAlertsFire plays time series to the rules: each trouble is told within 15
// seconds, by the alert that it should be and no other, and nothing was told before.
func TestTheAlertsFire(t *testing.T) {
	p := sample()
	test, covered := played("rules.yml", Kinds()...)
	// The rules are looked at with each scrape and no oftener, which is less than they ask for, and quicker to play.
	rules := seldom(YAML(p.Name, Of(p, defaults())))
	promtest.Promtool(t, map[string]string{"rules.yml": rules, "test.yml": test}, "test", "rules", "test.yml")
	for _, name := range Kinds() {
		if !covered[name] {
			t.Errorf("no case has %s fire", name)
		}
	}
}

// seldom has rules looked at every five seconds.
func seldom(rules string) string { return strings.Replace(rules, "interval: 2s", "interval: 5s", 1) }

// played is a test of promtool that plays all cases to the rules in a file, which has
// these alerts and no others, and the alerts that some case has fire.
func played(rules string, alerts ...string) (test string, covered map[string]bool) {
	var b strings.Builder
	b.WriteString("rule_files: [" + rules + "]\nevaluation_interval: 5s\ntests:\n")
	covered = map[string]bool{}
	for _, c := range firing {
		b.WriteString("  - interval: 5s\n    name: " + quoted(c.name) + "\n    input_series:\n")
		for _, series := range slices.Sorted(maps.Keys(merged(c.trouble))) {
			fmt.Fprintf(&b, "      - series: %s\n        values: %s\n", quoted(series), quoted(merged(c.trouble)[series]))
		}
		b.WriteString("    promql_expr_test:\n")
		want := slices.DeleteFunc(slices.Clone(c.alerts), func(name string) bool { return !slices.Contains(alerts, name) })
		expect(&b, begins-1, firingNow, nil)
		expect(&b, begins+within, firingNow, want)
		expect(&b, begins+within, firedSince, want) // also not for a moment
		for _, name := range c.alerts {
			covered[name] = true
		}
	}
	return b.String(), covered
}

// merged are the values of all series of a case.
func merged(trouble map[string]string) map[string]string {
	all := map[string]string{}
	for series, v := range steady {
		all[series] = fmt.Sprintf("%vx%d", v, 2*before)
		if moves, ok := always[series]; ok {
			all[series] = moves
		}
	}
	for series, values := range trouble {
		if whole, is := strings.CutPrefix(values, "="); is {
			all[series] = whole
			continue
		}
		well := fmt.Sprintf("_x%d ", before)
		if v, known := steady[series]; known {
			well = fmt.Sprintf("%vx%d ", v, before-1)
		}
		if _, moves := always[series]; moves {
			well = fmt.Sprintf("0+5x%d ", before-1)
		}
		all[series] = well + values
	}
	return all
}

// What is asked of the alerts: those that fire, and those that fired at any time since
// the trouble began.
var (
	firingNow  = `max by (alertname) (ALERTS{alertstate="firing"} > bool 0)`
	firedSince = fmt.Sprintf(`max by (alertname) (count_over_time(ALERTS{alertstate="firing"}[%ds]) > bool 0)`, within)
)

// expect has a question answered at a second with just these alerts.
func expect(b *strings.Builder, at int, question string, alerts []string) {
	fmt.Fprintf(b, "      - expr: %s\n        eval_time: %ds\n        exp_samples:", question, at)
	if len(alerts) == 0 {
		b.WriteString(" []\n")
		return
	}
	b.WriteByte('\n')
	for _, name := range alerts {
		labels, _ := json.Marshal(fmt.Sprintf("{alertname=%q}", name)) // a string can be encoded
		fmt.Fprintf(b, "          - labels: %s\n            value: 1\n", labels)
	}
}
