package drills

import (
	"os"
	"regexp"
	"slices"
	"strings"
)

// runbook is the part of the manual for those who are on call.
const runbook = "../../docs/operations.md"

// amounts are what differs from one trouble to the next: counts, times, addresses.
var amounts = regexp.MustCompile(`\d[\d.,:]*(?:[a-zµ]+)?`)

// names are those of the runbook's examples, and of the drills'.
var names = strings.NewReplacer("payments.dead", "dead", "payments", "in", "post_payment", "post")

// problem is a line that tells one, with its code.
var problem = regexp.MustCompile(`^(?:error|warning|notice)\[|^\[-\] `)

// shown are the problems in the examples of an alert's part of the runbook, with what
// is said below each, without their amounts. A line that ends with … is the beginning
// of one.
func (d *drill) shown(alert string) (lines []string) {
	d.t.Helper()
	text, err := os.ReadFile(runbook)
	if err != nil {
		d.t.Fatal(err)
	}
	_, part, _ := strings.Cut(string(text), "\n### "+alert+"\n")
	part, _, _ = strings.Cut(part, "\n### ")
	for i, block := range strings.Split(part, "```") {
		told := false
		for line := range strings.Lines(block) {
			if told = i%2 == 1 && (problem.MatchString(line) || told && strings.HasPrefix(line, "  ")); told {
				lines = append(lines, amounts.ReplaceAllString(names.Replace(strings.TrimSpace(line)), "#"))
			}
		}
	}
	if len(lines) == 0 {
		d.t.Fatalf("the runbook's part of %s shows no problem", alert)
	}
	return lines
}

// asTheRunbookShows waits until what is printed has all that the runbook shows for the
// alert, word by word but for the amounts.
func (d *drill) asTheRunbookShows(alert string, printed func() string) {
	d.t.Helper()
	want, text, missing := d.shown(alert), "", ""
	d.eventuallySaying("what is printed is what the runbook shows for "+alert, func() bool {
		text = printed()
		got := strings.Split(amounts.ReplaceAllString(text, "#"), "\n")
		at := slices.IndexFunc(want, func(line string) bool {
			begin, open := strings.CutSuffix(line, "…")
			return !slices.ContainsFunc(got, func(g string) bool {
				return strings.TrimSpace(g) == line || open && strings.HasPrefix(strings.TrimSpace(g), begin)
			})
		})
		if at >= 0 {
			missing = want[at]
		}
		return at < 0
	}, func() string { return "missing: " + missing + "\nprinted:\n" + text })
}

// stats is what the command prints, as the runbook has it typed.
func (d *drill) stats() string { return d.command("stats", "drill.hcl").text }

// ready is what the worker says of itself.
func (d *drill) ready() string { return d.fetch("http://" + d.address + "/readyz") }
