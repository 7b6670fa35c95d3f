package drills

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// runbook is the part of the manual for those who are on call.
const runbook = "../../docs/operations.md"

// example is a command of the runbook, and what the runbook shows that it prints.
type example struct {
	command string
	lines   []string
}

// What differs from one trouble to the next: a consumer's name, which has the machine's,
// and counts, times, ids and addresses. A table has a dash in the place of a number that
// there is none of.
var (
	consumer = regexp.MustCompile(`\b[a-z_]+-\S+-\d+\.[0-9a-f]{8}\b`)
	amount   = regexp.MustCompile(`\d[\d.,:]*[a-zµ]*|(?:^| )-(?: |$)`)
	amounts  = regexp.MustCompile(`#+`)
	entryID  = regexp.MustCompile(`^\d+-\d+$`)
)

// plain is a printed line without what differs, and without the width of columns.
func plain(line string) string {
	line = strings.Join(strings.Fields(consumer.ReplaceAllString(line, "CONSUMER")), " ")
	line = amount.ReplaceAllStringFunc(line, func(found string) string {
		if strings.Contains(found, "-") {
			return " # "
		}
		return "#"
	})
	return amounts.ReplaceAllString(strings.Join(strings.Fields(line), " "), "#")
}

// missing is the first shown line that was not printed, word by word but for what
// differs, or "". A line that ends with … is the beginning of one.
func missing(shown []string, printed string) string {
	got := strings.Split(printed, "\n")
	for i := range got {
		got[i] = plain(got[i])
	}
	for _, line := range shown {
		begin, open := strings.CutSuffix(plain(line), "…")
		if !slices.ContainsFunc(got, func(g string) bool { return g == begin || open && strings.HasPrefix(g, begin) }) {
			return line
		}
	}
	return ""
}

// parts are the examples of the runbook that show what is printed, by alert.
func parts(t testing.TB) map[string][]example {
	t.Helper()
	text, err := os.ReadFile(runbook)
	if err != nil {
		t.Fatal(err)
	}
	_, book, _ := strings.Cut(string(text), "\n## Runbook\n")
	book, _, _ = strings.Cut(book, "\n## ")
	all := map[string][]example{}
	for _, part := range strings.Split(book, "\n### ")[1:] {
		alert, part, _ := strings.Cut(part, "\n")
		for i, block := range strings.Split(part, "\n```") {
			if found := examples(block); i%2 == 1 && len(found) > 0 {
				all[alert] = append(all[alert], found...)
			}
		}
	}
	return all
}

// examples are those of a block.
func examples(block string) (all []example) {
	for line := range strings.Lines(block) {
		line = strings.TrimSpace(line)
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			all = append(all, example{command: command})
		} else if line != "" && len(all) > 0 {
			last := &all[len(all)-1]
			last.lines = append(last.lines, line)
		}
	}
	return slices.DeleteFunc(all, func(e example) bool { return len(e.lines) == 0 })
}

// asTheRunbookShows is that each command of the alert's part prints what stands there. It
// passes by itself: an entry that waits for its retry is due at another time than now.
func asTheRunbookShows(alert string) []sign {
	return []sign{{what: "what is printed is as the runbook shows for " + alert, passes: true, seen: func(d *drill) (bool, string) {
		for _, e := range parts(d.t)[alert] {
			printed := d.typed(e.command)
			if line := missing(e.lines, printed); line != "" {
				return false, "$ " + e.command + "\nmissing: " + line + "\nprinted:\n" + printed
			}
		}
		return true, ""
	}}}
}

// typed is what a command of the runbook prints, of the drill's pipeline, its worker and
// the entry that has been pending for longest.
func (d *drill) typed(command string) string {
	d.t.Helper()
	if path, ok := strings.CutPrefix(command, "curl -s localhost:9630"); ok {
		return d.fetch("http://" + d.address + path)
	}
	args := strings.Fields(command)
	if args[0] != "pipeline" {
		d.t.Fatalf("a drill cannot type %q", command)
	}
	for i, arg := range args {
		switch {
		case arg == "$P":
			args[i] = "drill.hcl"
		case entryID.MatchString(arg):
			args[i] = "0-0"
			if pending, err := d.Client().XPending(d.t.Context(), "payments", "ledger").Result(); err == nil && pending.Count > 0 {
				args[i] = pending.Lower
			}
		}
	}
	return d.command(args[1:]...).text
}

// What the manual shows of the memory that an outage needs is what is computed.
func TestTheExampleOfMemoryIsComputed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(runbook)
	if err != nil {
		t.Fatal(err)
	}
	_, block, found := strings.Cut(string(text), "\n```\n$ pipeline plan examples/")
	args, shown, cut := strings.Cut(block, "\n")
	shown, _, ends := strings.Cut(shown, "```")
	if !found || !cut || !ends {
		t.Fatal("the manual has no example of the memory that an outage needs")
	}
	cmd := exec.CommandContext(t.Context(), binary, append([]string{"plan"}, strings.Fields("examples/"+args)...)...)
	cmd.Dir = "../.."
	if printed, err := cmd.CombinedOutput(); err != nil || string(printed) != shown {
		t.Errorf("%v; it prints\n%s", err, printed)
	}
}

// TestEveryExampleIsCompared fails for a part of the runbook that shows what a command
// prints, and that no drill compares.
func TestEveryExampleIsCompared(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("drills_test.go")
	if err != nil {
		t.Fatal(err)
	}
	all := parts(t)
	if len(all) < 5 {
		t.Errorf("the runbook shows only %d examples", len(all))
	}
	for alert := range all {
		if !strings.Contains(string(source), `asTheRunbookShows("`+alert+`")`) {
			t.Errorf("no drill compares what the runbook shows for %s", alert)
		}
	}
	for _, found := range regexp.MustCompile(`asTheRunbookShows\("(\w+)"\)`).FindAllStringSubmatch(string(source), -1) {
		if len(all[found[1]]) == 0 {
			t.Errorf("a drill compares what the runbook shows for %s, which is nothing", found[1])
		}
	}
}

// What differs between two troubles is no difference, and everything else is.
func TestAnExampleIsComparedWordByWord(t *testing.T) {
	t.Parallel()
	for _, e := range []struct {
		shown, printed string
		same           bool
	}{
		{"8 are pending for 22.4s", "12,345 are pending for 1m2s", true},
		{"ledger  payments   -  22.4s", "ledger payments 5 -", true},
		{"post_payment-vm-0.2b8a083e  3", "post_payment-a.host-12.ffffffff  1", true},
		{"due 2026-11-30T13:35:58.26Z, in 13.1s", "due 2027-01-02T00:00:01Z, in 3s", true},
		{"[-] subscriptions: post_payment: entry 1796045734358-5 stays pending: …", "[-] subscriptions: post_payment: entry 1-0 stays pending: look at", true},
		{"[-] subscriptions: post_payment: entry 1796045734358-5 stays pending: …", "[-] subscriptions: post_payment: entry 1-0 is pending: look at", false},
		{"8 are pending", "8 are waiting", false},
		{"8 are pending", "8 are pending for 3s", false},
		{"8 are pending", "", false},
		{"ledger  payments  8", "ledger  payments", false},
		{"post_payment-vm-0.2b8a083e  3", "post_payment  3", false},
	} {
		if got := missing([]string{e.shown}, "before\n"+e.printed+"\nafter") == ""; got != e.same {
			t.Errorf("%q and %q: the same is %v", e.shown, e.printed, got)
		}
	}
}
