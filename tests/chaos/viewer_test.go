package chaos

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pipeline/tests/redistest"
)

// exported are the rules that `export acl` prints, by user; no server is asked.
func (l *logins) exported() map[string][]string {
	l.t.Helper()
	rules := map[string][]string{}
	for line := range strings.Lines(l.do("redis://127.0.0.1:1", 0, "export", "acl", l.file, "--json")) {
		var login struct {
			User string
			Rule []string
		}
		if err := json.Unmarshal([]byte(line), &login); err != nil {
			l.t.Fatalf("%s: %v", line, err)
		}
		rules[login.User] = login.Rule
	}
	return rules
}

// viewing are the commands of somebody who looks on.
func (l *logins) viewing() [][]string {
	return [][]string{
		{"stats", l.file, "--over", "1ms"}, {"graph", l.file, "--live"}, {"tail", l.file}, {"tail", l.file, "--from", "0"},
		{"dry-run", l.file, "--live"},
	}
}

// The worker's exported rule is the one that plan finds on the server.
func TestTheExportedRuleOfAWorkerIsThatOfThePlan(t *testing.T) {
	for _, version := range redistest.Versions {
		for _, keep := range keeping {
			t.Run(version+"/"+keep.name, func(t *testing.T) {
				t.Parallel()
				l := newLogins(t, version, keep.orders, keep.dead)
				if printed, exported := l.printedRule(), l.exported()["worker"]; !slices.Equal(printed, exported) {
					t.Errorf("exported is\n%q, the plan prints\n%q", exported, printed)
				}
			})
		}
	}
}

// With the exported rule of a viewer, whoever looks on is refused nothing, and
// changes nothing; without any word of it, something is refused.
func TestAViewerNeedsJustTheExportedRule(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l := newLogins(t, version, "", "")
			rule := l.exported()["viewer"]
			l.fresh(true)
			url := l.user("viewer", rule...)
			for _, args := range l.viewing() {
				if out := l.do(url, 0, args...); strings.Contains(out, "NOPERM") || strings.Contains(out, "no permission") {
					t.Errorf("%q says:\n%s", args, out)
				}
			}
			l.follow(url)
			if refused := without(l.refused("viewer"), []string{"client|setname", "client|id", "client|unblock"}); len(refused) > 0 {
				t.Errorf("the viewer was refused %q; its rule is %q", refused, rule)
			}
			for i, word := range rule {
				if strings.HasPrefix(word, "+") || strings.HasPrefix(word, "%R~") {
					l.viewerMisses(word, slices.Concat(rule[:i], rule[i+1:]))
				}
			}
			// Nor could it write if it were given the commands: its keys are for reading.
			l.user("viewer", "+xadd", "+xack", "+xdel")
			for _, write := range []string{"XADD orders * a b", "XACK orders billing 1-1", "XDEL orders 1-1"} {
				dry := []any{"ACL", "DRYRUN", "viewer"}
				for word := range strings.FieldsSeq(write) {
					dry = append(dry, word)
				}
				if said, err := l.Client().Do(t.Context(), dry...).Text(); err != nil || !strings.Contains(said, "no permissions") {
					t.Errorf("%s: %s, %v", write, said, err)
				}
			}
		})
	}
}

// follow has the login wait for an entry and see it.
func (l *logins) follow(url string) {
	l.t.Helper()
	p := command(l.t, "tail", l.file, "orders", "--follow", "--count", "1", "--json", "--var", "url="+url)
	eventually(l.t, "the newest entry is printed", func() bool { return strings.Contains(p.output(), `"id":"1-2"`) })
	l.CLI("XADD", "orders", "2-1", "n", "3", "key", "k", "does", "ack")
	eventually(l.t, "the next is followed", func() bool { return strings.Contains(p.output(), `"id":"2-1"`) })
	p.kill()
}

// viewerMisses expects that a login without one word of the rule is refused it.
func (l *logins) viewerMisses(word string, rule []string) {
	l.t.Helper()
	l.CLI("ACL", "LOG", "RESET")
	url := l.user("blind", slices.Concat([]string{"resetkeys", "-@all"}, rule)...)
	want := strings.TrimPrefix(strings.TrimPrefix(word, "+"), "%R~")
	commands := l.viewing()
	if want == "xread" {
		commands = [][]string{{"tail", l.file, "orders", "--follow"}}
	}
	for _, args := range commands {
		cmd := exec.Command(binary, args...)
		cmd.Env = append(os.Environ(), "REDIS_URL="+url)
		_, _ = cmd.CombinedOutput() // some can do without it, and say less
		if slices.Contains(l.refused("blind"), want) {
			return
		}
	}
	l.t.Errorf("without %s nothing is refused but %q", word, l.refused("blind"))
}
