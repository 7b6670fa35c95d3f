package chaos

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// everything is a file in which three groups do all that a worker can do: one
// claims, keeps the order of a key and replies to a stream that may fill up, one
// remembers keys, one copies what it retries.
const everything = `
pipeline "orders" {
  language      = 1
  drain_timeout = "20s"
}
variable "url" {
  type      = string
  default   = env("REDIS_URL")
  sensitive = true
}
broker "redis" {
  url = var.url
}
stream "orders" {
  entry = object({ n = number, key = string, does = string })
  %s
}
stream "out" {
  name        = "orders.out"
  max_backlog = 20
}
stream "more" {
  name = "orders.more"
}
stream "dead" {
  name = "orders.dead"
  %s
}
handler "h" {
  source = "h.lua"
  limits {
    timeout      = "50s"
    instructions = 1000000000000
  }
  grant "log" {}
}
retry "quick" {
  max_attempts = 3
  delay        = "100ms"
  max_delay    = "100ms"
}
group "billing" {
  stream = stream.orders
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "bill" {
    retry   = retry.quick
    handler = handler.h
    block   = "50ms"
    claim {
      min_idle = "1s"
    }
    workers {
      count          = 8
      key            = entry.key
      while_retrying = "hold"
    }
    reply {
      to = stream.out
    }
  }
}
group "once" {
  stream = stream.orders
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "remember" {
    handler = handler.h
    block   = "50ms"
    claim {
      min_idle = "1s"
      using    = "autoclaim"
    }
    idempotency {
      key    = entry.key
      window = "1h"
    }
    retry = retry.quick
    reply {
      to = stream.more
    }
  }
}
group "copies" {
  stream = stream.orders
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "copy" {
    handler = handler.h
    block   = "50ms"
    retry = retry.quick
    reply {
      to = stream.more
    }
  }
}
`

const everythingScript = `
function handle(e, ctx)
  local first = ctx.deliveries == 0 and ctx.attempt == 1
  if e.does == "ack" then return ack() end
  if e.does == "retry" and first then return retry() end
  if e.does == "after" and first then return retry({ after = "300ms" }) end
  if e.does == "fail" then error("it fails") end
  if e.does == "hang" and first then
    log.info("hangs")
    while true do end
  end
  return { n = e.n }
end
`

// keeping are blocks for the streams: without retention the rule is smaller.
var keeping = []struct{ name, orders, dead string }{
	{"keeps all", "", ""},
	{"trims", "retention {\n max_length = 1000\n protect = \"unacknowledged\"\n }", "retention {\n max_age = \"30d\"\n }"},
}

// logins is a server on which users have just the documented rights.
type logins struct {
	*redistest.Server
	t    *testing.T
	file string
}

// newLogins writes the file for a server of its own.
func newLogins(t *testing.T, version, orders, dead string) *logins {
	t.Helper()
	dir := folder(t, map[string]string{"orders.hcl": fmt.Sprintf(everything, orders, dead), "h.lua": everythingScript})
	return &logins{Server: redistest.Start(t, version), t: t, file: filepath.Join(dir, "orders.hcl")}
}

// user makes a login with a rule, and returns its URL.
func (l *logins) user(name string, rule ...string) string {
	l.t.Helper()
	acl := []any{"ACL", "SETUSER", name, "on", ">pw"}
	for _, word := range rule {
		acl = append(acl, word)
	}
	if err := l.Client().Do(l.t.Context(), acl...).Err(); err != nil {
		l.t.Fatalf("%q: %v", rule, err)
	}
	return fmt.Sprintf("redis://%s:pw@%s", name, l.Addr)
}

// do runs the command with a URL, and wants an exit code.
func (l *logins) do(url string, code int, args ...string) string {
	l.t.Helper()
	cmd := exec.Command(binary, args...)
	cmd.Env = append(os.Environ(), "REDIS_URL="+url)
	out, _ := cmd.CombinedOutput()
	if got := cmd.ProcessState.ExitCode(); got != code {
		l.t.Errorf("%q ended with %d, want %d:\n%s", args, got, code, out)
	}
	return string(out)
}

// work starts a worker and waits until its subscriptions read.
func (l *logins) work(url string) *process {
	l.t.Helper()
	p := command(l.t, "run", l.file, "--var", "url="+url)
	eventually(l.t, "three subscriptions read\n", func() bool {
		return strings.Count(p.output(), "subscription.reading") >= 3
	})
	return p
}

// add adds one entry that has everything be done.
func (l *logins) add(n int, key, does string) {
	l.t.Helper()
	if err := l.Client().Do(l.t.Context(), "XADD", "orders", "*", "n", n, "key", key, "does", does).Err(); err != nil {
		l.t.Fatal(err)
	}
}

// idle has the readers of replies catch up, and reports whether nothing is left to
// do for any group.
func (l *logins) idle() bool {
	_ = l.Client().XGroupSetID(l.t.Context(), "orders.out", "readers", "$").Err()
	info, err := l.Client().XInfoStream(l.t.Context(), "orders").Result()
	groups, err2 := l.Client().XInfoGroups(l.t.Context(), "orders").Result()
	return err == nil && err2 == nil && !slices.ContainsFunc(groups, func(g goredis.XInfoGroup) bool {
		return g.Pending != 0 || g.LastDeliveredID != info.LastGeneratedID
	})
}

// refused are the commands that a user was refused, as the server's log has them:
// a command, or the key of one.
func (l *logins) refused(user string) []string {
	l.t.Helper()
	entries, err := l.Client().ACLLog(l.t.Context(), 1000).Result()
	if err != nil {
		l.t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if e.Username == user {
			all = append(all, e.Object)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// printedRule is the rule of a worker as plan prints it.
func (l *logins) printedRule() []string {
	l.t.Helper()
	rule := regexp.MustCompile(`(?m)^  ACL SETUSER worker (.+)$`).FindStringSubmatch(l.do(l.URL(), 0, "plan", l.file))
	if rule == nil {
		l.t.Fatal("the plan prints no rule")
	}
	return strings.Fields(rule[1])
}

// A worker with just the rule that plan prints is refused nothing, whatever it
// does, but for what it is told to be optional and the trials of the start.
func TestAWorkerNeedsNothingButTheRuleThatThePlanPrints(t *testing.T) {
	for _, version := range redistest.Versions {
		for _, keep := range keeping {
			t.Run(version+"/"+keep.name, func(t *testing.T) {
				t.Parallel()
				l := newLogins(t, version, keep.orders, keep.dead)
				rule := l.printedRule()
				l.do(l.URL(), 0, "apply", l.file)
				worker := l.user("worker", rule...)
				full := l.user("tidy", append(rule, plus(redis.OptionalRights())...)...)
				l.everything(worker, full)
				allowed := append(redis.OptionalRights(), trials...)
				if refused := without(l.refused("worker"), allowed); len(refused) > 0 {
					t.Errorf("the worker was refused %q; its rule is %q", refused, rule)
				}
				if refused := without(l.refused("tidy"), trials); len(refused) > 0 {
					t.Errorf("with the optional rights it was refused %q", refused)
				}
			})
		}
	}
}

// trials are what the server refuses when it is tried what it can do: the key of
// that, and the commands that nothing else needs.
var trials = []string{"pipeline:probe", "xautoclaim", "xtrim"}

func without(all, allowed []string) []string {
	return slices.DeleteFunc(all, func(what string) bool { return slices.Contains(allowed, what) })
}

func plus(commands []string) []string {
	out := make([]string, len(commands))
	for i, command := range commands {
		out[i] = "+" + command
	}
	return out
}

// everything has two workers do all that there is, the first of which is killed
// in the midst of it.
func (l *logins) everything(first, second string) {
	t := l.t
	t.Helper()
	l.CLI("XGROUP", "CREATE", "orders.out", "readers", "0", "MKSTREAM")
	doomed := l.work(first)
	l.add(0, "hang", "hang")
	eventually(t, "an entry hangs in each group", func() bool { return strings.Count(doomed.output(), `"hangs"`) >= 3 })
	doomed.kill()
	eventually(t, "its leases end", func() bool { return len(l.Client().Keys(t.Context(), "*:slot:*").Val()) == 0 })
	p := l.work(second)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("groups: %s\nlog:\n%s", l.CLI("XINFO", "GROUPS", "orders"), p.output())
		}
	})
	l.add(1, "hang", "ack") // a duplicate of the one that is taken over
	for n, does := range []string{"ack", "retry", "after", "fail", "reply", "reply"} {
		l.add(10+n, "a", does)
		l.add(20+n, does, does)
	}
	for n := range 40 {
		l.add(100+n, fmt.Sprint(n), "reply")
	}
	eventually(t, "the readers of the replies are too far behind", func() bool { return strings.Contains(p.output(), `"backlog.full"`) })
	eventually(t, "they catch up and all is done", l.idle)
	l.handOver(p, first)
}

// handOver drains a worker that has something to hand back, and then one of the
// other login, which finds that and has nothing.
func (l *logins) handOver(p *process, login string) {
	l.t.Helper()
	l.add(200, "b", "retry")
	for n := range 20 {
		l.add(201+n, "b", "reply")
	}
	l.stop(p)
	next := l.work(login)
	eventually(l.t, "all is done", l.idle)
	l.stop(next)
}

// stop drains a worker, which was refused nothing that it told of.
func (l *logins) stop(p *process) {
	l.t.Helper()
	p.signal(syscall.SIGTERM)
	p.left()
	for _, bad := range []string{"NOPERM", "no permission", "subscription.failed"} {
		if strings.Contains(p.output(), bad) {
			l.t.Errorf("%q is in the log:\n%s", bad, p.output())
		}
	}
}
