// Package alerts makes the alerting rules of a pipeline from its file: what has to
// be told of its streams, groups, subscriptions and handlers, with thresholds that
// follow from what the file declares.
package alerts

import (
	"strings"
	"time"

	"pipeline/engine/spec"
)

// Severity says who is told, and when.
type Severity string

// The severities.
const (
	// Critical wakes somebody: entries are lost, or are not handled.
	Critical Severity = "critical"
	// Warning is for the working day: some entries fail, or it will get worse.
	Warning Severity = "warning"
)

// Window is the time over which what happens now and then is counted. An alert about
// it ends that long after the last one.
const Window = "5m"

// Interval is how often the rules are looked at. Together with a scrape every five
// seconds, the poller's five and a half, and the six that For comes to, everything
// that wakes somebody is told within 15 seconds, except what has a time of its own
// (DefaultBehind) and a server that hangs, which is given poll.Patience.
const Interval = 2 * time.Second

// away is how long a process may be gone, and what only it says with it: a restart
// is no reason to wake somebody.
const away = 5 * time.Second

// The defaults of Options.
const (
	DefaultBehind  = time.Minute
	DefaultLetters = 10
	DefaultJob     = "pipeline"
	DefaultRunbook = "docs/operations.md"
)

// Options are what the file does not say.
type Options struct {
	// Behind is how long an entry may wait for a worker, at least a second.
	Behind time.Duration
	// Letters is how many dead letters within five minutes are too many, at least one.
	Letters int64
	// Job is the value of the label job of the pipeline's processes in Prometheus.
	Job string
	// Runbook is the address of the page that says what to do, without the anchor,
	// which is the alert's name in small letters.
	Runbook string
}

// Rule is one alerting rule.
type Rule struct {
	// Alert is its name: one of Kinds. No two rules have the same.
	Alert string
	// Expr has a line for each thing that the alert is about, and an "or" between
	// any two.
	Expr string
	// For is how long Expr has to hold before somebody is told, KeepFiring how long
	// the alert goes on after it does not hold any more.
	For, KeepFiring time.Duration
	Severity        Severity
	// Summary and Description are templates of Prometheus.
	Summary, Description string
	// Runbook is where it says what to do.
	Runbook string
}

// Of are the rules of a pipeline, in the order of Kinds; none of a kind about what
// the pipeline does not have.
func Of(p *spec.Pipeline, o Options) []Rule {
	b := &book{pipeline: p, options: o}
	var all []Rule
	for _, k := range kinds {
		if exprs := k.exprs(b); len(exprs) > 0 {
			all = append(all, Rule{
				Alert: k.name, Expr: strings.Join(exprs, "\nor\n"), For: k.wait, KeepFiring: k.keep, Severity: k.severity,
				Summary: k.summary, Description: k.description, Runbook: o.Runbook + "#" + Anchor(k.name),
			})
		}
	}
	return all
}

// Kinds are the names of all alerts that a pipeline can have.
func Kinds() []string {
	names := make([]string, len(kinds))
	for i := range kinds {
		names[i] = kinds[i].name
	}
	return names
}

// Anchor is the part of a page that has the name as its heading.
func Anchor(name string) string { return strings.ToLower(name) }

// kind is an alert: its words, and what it asks for in a pipeline. The alternatives
// have different labels.
type kind struct {
	name                 string
	severity             Severity
	wait, keep           time.Duration
	summary, description string
	exprs                func(*book) []string
}

// book is what rules are made from.
type book struct {
	pipeline *spec.Pipeline
	options  Options
}

// groups are the groups that somebody is to work on.
func (b *book) groups() (all []*spec.Group) {
	for _, g := range b.pipeline.Groups {
		if len(g.Subscriptions) > 0 {
			all = append(all, g)
		}
	}
	return all
}

// handlers are those that some subscription calls, in the order of the file, with
// the subscriptions.
func (b *book) handlers() (handlers []*spec.Handler, users map[*spec.Handler][]*spec.Subscription) {
	users = map[*spec.Handler][]*spec.Subscription{}
	for _, s := range b.pipeline.Subscriptions() {
		if users[s.Handler] == nil {
			handlers = append(handlers, s.Handler)
		}
		users[s.Handler] = append(users[s.Handler], s)
	}
	return handlers, users
}
