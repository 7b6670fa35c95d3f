package chaos

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pipeline/tests/redistest"
)

// documentedRules are the rules of the page about rights, by what they are for.
func documentedRules(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/rights.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string][]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.+) \\| `(~[^`]+)` \\|$").FindAllStringSubmatch(string(page), -1) {
		rules[strings.ReplaceAll(row[1], "`", "")] = strings.Fields(strings.ReplaceAll(row[2], `\|`, "|"))
	}
	return rules
}

// The entry that is pending, and the letter, in the state that fresh makes.
const pendingEntry, deadLetter = "1-1", "5-1"

// documentedUse is a row of the page's table: the commands to run as a login with
// its rule.
type documentedUse struct {
	name     string
	commands [][]string
}

func (l *logins) uses(lines string) []documentedUse {
	return []documentedUse{
		{"apply", [][]string{{"apply", l.file}}},
		{"publish", [][]string{{"publish", l.file, "--to", "orders", "--input", lines}}},
		{"publish to a stream with a max_backlog", [][]string{{"publish", l.file, "--to", "out", "--input", lines}}},
		{"dry-run --live", [][]string{{"dry-run", l.file, "--live"}}},
		{"pending list, pending show", [][]string{{"pending", "list", l.file}, {"pending", "show", l.file, pendingEntry}}},
		{"dlq list, dlq show, dlq stats, dlq export", [][]string{
			{"dlq", "list", l.file}, {"dlq", "list", l.file, "--newest"}, {"dlq", "show", l.file, deadLetter},
			{"dlq", "stats", l.file}, {"dlq", "export", l.file},
		}},
		{"dlq drop", [][]string{{"dlq", "drop", l.file, "--all", "--yes"}}},
		{"dlq replay", [][]string{{"dlq", "replay", l.file, "--all", "--yes"}}},
		{"consumers list", [][]string{{"consumers", "list", l.file}}},
		{"consumers prune", [][]string{{"consumers", "prune", l.file, "--all", "--idle", "0s", "--yes"}}},
		{"seek", [][]string{{"seek", l.file, "billing=0"}, {"seek", l.file, "billing=0", "--yes"}}},
	}
}

// fresh makes a server that has an entry that is pending, one that is not, and a
// dead letter, of groups that exist or do not.
func (l *logins) fresh(groups bool) {
	l.t.Helper()
	pipe := l.Client().Pipeline()
	do := func(args ...any) { pipe.Do(l.t.Context(), args...) }
	do("FLUSHALL")
	do("SCRIPT", "FLUSH")
	do("ACL", "LOG", "RESET")
	do("XADD", "orders", pendingEntry, "n", 1, "key", "k", "does", "ack")
	do("XADD", "orders", "1-2", "n", 2, "key", "k", "does", "ack")
	do("XADD", "orders.dead", deadLetter, "n", 3, "key", "k", "does", "fail", "h:dead-letter-reason", "failed",
		"h:dead-letter-error", "it fails", "h:dead-letter-stream", "orders", "h:dead-letter-id", "1-0",
		"h:dead-letter-group", "billing", "h:dead-letter-subscription", "bill")
	do("XGROUP", "CREATE", "orders.out", "readers", "$", "MKSTREAM")
	do("XADD", "orders.out", "1-1", "n", 1)
	do("XADD", "orders.out", "1-2", "n", 2)
	do("XDEL", "orders.out", "1-2") // its lag is not known, so that the entries are counted
	if groups {
		for _, group := range []string{"billing", "once", "copies"} {
			do("XGROUP", "CREATE", "orders", group, "0")
		}
		do("XREADGROUP", "GROUP", "billing", "gone", "COUNT", 1, "STREAMS", "orders", ">")
		do("XGROUP", "CREATECONSUMER", "orders", "billing", "bill-host-0.aaaa")
	}
	if _, err := pipe.Exec(l.t.Context()); err != nil {
		l.t.Fatal(err)
	}
}

// The rules of the page suffice for what they are said to be for, and are no more
// than that: without any of its commands, that command is refused.
func TestTheRulesOfThePageSufficeAndAreNoMoreThanIsNeeded(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := newLogins(t, version, "", "")
			lines := filepath.Join(filepath.Dir(l.file), "lines.jsonl")
			if err := os.WriteFile(lines, []byte(`{"n":1,"key":"k","does":"fail"}`+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			rules, uses := documentedRules(t), l.uses(lines)
			if len(rules) != len(uses) {
				t.Errorf("the page has rules for %d things, want %d", len(rules), len(uses))
			}
			for _, use := range uses {
				rule := rules[use.name]
				url := l.user("exact", slices.Concat([]string{"resetkeys", "-@all"}, rule)...)
				l.fresh(use.name != "apply")
				for _, args := range use.commands {
					if out := l.do(url, 0, args...); strings.Contains(out, "no permission") {
						t.Errorf("%q says:\n%s", args, out)
					}
				}
				for i, word := range rule {
					if command, ok := strings.CutPrefix(word, "+"); ok {
						l.misses(use, command, slices.Concat(rule[:i], rule[i+1:]))
					}
				}
			}
		})
	}
}

// misses expects that a login without a command is refused just that.
func (l *logins) misses(use documentedUse, command string, rule []string) {
	l.t.Helper()
	url := l.user("less", slices.Concat([]string{"resetkeys", "-@all"}, rule)...)
	l.fresh(use.name != "apply")
	for _, readers := range []bool{true, false} { // a backlog is looked at in another way without any
		if !readers {
			l.CLI("XGROUP", "DESTROY", "orders.out", "readers")
		}
		for _, args := range use.commands {
			cmd := exec.Command(binary, args...)
			cmd.Env = append(os.Environ(), "REDIS_URL="+url)
			out, _ := cmd.CombinedOutput() // some of them can do without it
			if slices.Contains(l.refused("less"), command) {
				if cmd.ProcessState.ExitCode() != 0 && !strings.Contains(string(out), "+"+command) {
					l.t.Errorf("%s without %s ends without naming the rule:\n%s", use.name, command, out)
				}
				return
			}
		}
	}
	l.t.Errorf("%s is refused nothing without %s", use.name, command)
}
