package alerts

import (
	"encoding/json"
	"strings"

	"pipeline/cmd/pipeline/internal/promql"
)

// YAML is a file of rules as Prometheus reads it. Every text in it stands as it is,
// or is quoted: no name can end it.
func YAML(pipeline string, rules []Rule) string {
	var b strings.Builder
	b.WriteString("# Alerting rules that `pipeline export alerts` made from a pipeline file. Scrape its processes every 5 s.\n")
	b.WriteString("groups:\n  - name: " + quoted("pipeline "+pipeline) + "\n    interval: " + promql.Seconds(Interval) + "s\n    rules:\n")
	for i := range rules {
		rules[i].yaml(&b)
	}
	return b.String()
}

func (r *Rule) yaml(b *strings.Builder) {
	const in = "        "
	b.WriteString("      - alert: " + r.Alert + "\n" + in + "expr: |-\n" + in + "  " + strings.ReplaceAll(r.Expr, "\n", "\n"+in+"  ") + "\n")
	if r.For > 0 {
		b.WriteString(in + "for: " + promql.Seconds(r.For) + "s\n")
	}
	if r.KeepFiring > 0 {
		b.WriteString(in + "keep_firing_for: " + promql.Seconds(r.KeepFiring) + "s\n")
	}
	b.WriteString(in + "labels:\n" + in + "  severity: " + string(r.Severity) + "\n" + in + "annotations:\n")
	for _, a := range [][2]string{{"summary", r.Summary}, {"description", r.Description}, {"runbook_url", r.Runbook}} {
		b.WriteString(in + "  " + a[0] + ": " + quoted(a[1]) + "\n")
	}
}

// quoted is a text as a JSON string, which is one of YAML, too.
func quoted(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a string can be encoded, and a builder takes all
	return strings.TrimSuffix(b.String(), "\n")
}
