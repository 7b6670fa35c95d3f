package alerts

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/metrics"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
	"pipeline/tests/promtest"
)

// TestPrometheusTakesTheRules has promtool check them, for plain names and for ones
// that would end a string, a template or a file.
func TestPrometheusTakesTheRules(t *testing.T) {
	for name, p := range map[string]*spec.Pipeline{"plain": sample(), "hostile": hostile(), "nothing": {Name: "empty"}} {
		t.Run(name, func(t *testing.T) {
			rules := Of(p, defaults())
			out := promtest.Promtool(t, map[string]string{"rules.yml": YAML(p.Name, rules)}, "check", "rules", "--lint-fatal", "rules.yml")
			if want := strconv.Itoa(len(rules)) + " rules found"; !strings.Contains(out, want) {
				t.Errorf("promtool says\n%s\nwant %s", out, want)
			}
		})
	}
}

// TestEveryAlertHasARule holds where a pipeline has everything.
func TestEveryAlertHasARule(t *testing.T) {
	rules := Of(sample(), defaults())
	for _, name := range Kinds() {
		if !slices.ContainsFunc(rules, func(r Rule) bool { return r.Alert == name }) {
			t.Errorf("%s has no rule", name)
		}
	}
	for _, r := range rules {
		if r.Summary == "" || r.Description == "" || r.Runbook != "docs/operations.md#"+strings.ToLower(r.Alert) || (r.Severity != Critical && r.Severity != Warning) {
			t.Errorf("%+v", r)
		}
	}
}

var metricName = regexp.MustCompile(`\b(?:pipeline|messaging)_[a-z_]+`)

// TestTheRulesAreAboutMetricsThatThereAre compares their names with those that a
// process has.
func TestTheRulesAreAboutMetricsThatThereAre(t *testing.T) {
	known := map[string]bool{}
	for _, f := range metrics.Families() {
		known[f.Name] = true
		if f.Kind == metrics.Histogram {
			known[f.Name+"_count"], known[f.Name+"_sum"], known[f.Name+"_bucket"] = true, true, true
		}
	}
	for _, r := range Of(sample(), defaults()) {
		for _, name := range metricName.FindAllString(r.Expr, -1) {
			if !known[name] {
				t.Errorf("%s asks for %s, which there is not", r.Alert, name)
			}
		}
	}
}

// TestWhatWakesSomebodyComesSoon adds up what stands between the trouble and the
// alert, as the manual says it: a look at the server, a scrape every five seconds,
// the rules' own interval, and For, which ends at a look at the rules.
func TestWhatWakesSomebodyComesSoon(t *testing.T) {
	const scrape, within = 5 * time.Second, 15 * time.Second
	for _, r := range Of(sample(), defaults()) {
		took := scrape + Interval + (r.For + Interval - 1).Truncate(Interval)
		polled := r.Alert != "PipelineWorkersGone" && r.Alert != "PipelineTargetDown"
		if polled {
			took += poll.Every * 11 / 10
		}
		if r.Severity == Critical && took > within && r.Alert != "PipelineGroupUnseen" {
			t.Errorf("%s takes up to %v", r.Alert, took)
		}
	}
}

// TestThresholds follow from the file.
func TestThresholds(t *testing.T) {
	p := sample()
	s := p.Groups[0].Subscriptions[0]
	for _, c := range []struct {
		about, alert string
		change       func()
		want         string
	}{
		// A minute to be read, five calls of 5 s with 30 s to claim each, pauses of 1, 4, 16 and 64 s, each a fifth longer.
		{"the default policy", "PipelinePendingStuck", func() {}, "337"},
		{"nobody claims", "PipelinePendingStuck", func() { s.Claim = nil }, "187"},
		{"one attempt", "PipelinePendingStuck", func() { s.Retry.MaxAttempts = 1 }, "65"},
		{"the sandbox's time", "PipelinePendingStuck", func() { s.Handler.Limits.Timeout = 0 }, "90"},
		{"no policy at all", "PipelinePendingStuck", func() { s.Retry = spec.Retry{} }, "90"},
		{"the longest pause", "PipelinePendingStuck", func() {
			s.Retry = spec.Retry{MaxAttempts: 3, Delay: 10 * time.Second, Multiplier: 100, MaxDelay: 20 * time.Second}
		}, "180"},
		{"an age that ends it", "PipelinePendingStuck", func() { s.Retry.MaxAge = 15 * time.Second }, "105"},
		{"more attempts than time", "PipelinePendingStuck", func() {
			s.Retry = spec.Retry{MaxAttempts: math.MaxInt, Delay: time.Hour, Multiplier: 9, MaxDelay: math.MaxInt64}
		}, "31536060"},
		{"attempts", "PipelineHandlerFailing", func() { s.Retry.MaxAttempts = 7 }, "7"},
		{"each failure is final", "PipelineHandlerFailing", func() { s.OnFailure = spec.PolicyDead }, "1"},
		{"and takes one attempt", "PipelinePendingStuck", func() { s.Retry = spec.DefaultRetry() }, "90"},
		{"attempts, as it says by itself", "PipelineHandlerFailing", func() { s.OnFailure, s.Retry.MaxAttempts = spec.PolicyRetry, 7 }, "7"},
		{"the fewest attempts", "PipelineHandlerFailing", func() {
			g := p.Groups[1]
			g.Subscriptions = []*spec.Subscription{{Label: "again", Group: g, Handler: s.Handler, Retry: spec.Retry{MaxAttempts: 3}}}
		}, "3"},
	} {
		c.change()
		first, _, _ := strings.Cut(exprOf(t, p, c.alert), "\nor\n")
		if got := bound(first); got != c.want {
			t.Errorf("%s: %s is told from %s on, want %s", c.about, c.alert, got, c.want)
		}
	}
}

// TestTheFlagsAreInTheRules changes each option and finds it again.
func TestTheFlagsAreInTheRules(t *testing.T) {
	o := Options{Behind: 1500 * time.Millisecond, Letters: 77, Job: `a"b`, Runbook: "https://runbooks.example/p"}
	text := YAML("p", Of(sample(), o))
	for _, want := range []string{"> 1.5\n", ">= 77\n", `up{job="a\"b"}`, `"https://runbooks.example/p#pipelineredisdown"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

func TestBacklogs(t *testing.T) {
	got := strings.Split(exprOf(t, sample(), "PipelineBacklogNearLimit"), "\nor\n")
	if len(got) != 2 || !strings.Contains(got[0], "pipeline_group_lag") || bound(got[0]) != "800" ||
		!strings.Contains(got[1], "pipeline_stream_length") || bound(got[1]) != "40" {
		t.Errorf("%q", got)
	}
}
