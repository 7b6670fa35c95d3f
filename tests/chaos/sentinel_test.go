package chaos

import (
	"fmt"
	"strings"
	"testing"

	"pipeline/tests/redistest"
)

const dataPassword, sentinelPassword = "data-secret", "sentinel-secret"

// watched is a primary and a replica that three sentinels watch.
type watched struct {
	t                *testing.T
	primary, replica *redistest.Server
	sentinels        []*redistest.Server
}

func watch(t *testing.T, version string) *watched {
	t.Helper()
	start := func() *redistest.Server {
		return redistest.Start(t, version, redistest.Password(dataPassword), redistest.Config("masterauth", dataPassword),
			redistest.Config("repl-diskless-sync-delay", "0"), redistest.Config("appendonly", "yes"))
	}
	w := &watched{t: t, primary: start(), replica: start()}
	w.replica.Follow(w.primary.Addr)
	for range 3 {
		w.sentinels = append(w.sentinels, redistest.StartSentinel(t, w.primary, "payments", 2, redistest.Password(sentinelPassword)))
	}
	w.agreed()
	return w
}

// agreed waits until every sentinel knows the others and a replica in good health.
func (w *watched) agreed() {
	w.t.Helper()
	eventually(w.t, "the sentinels know each other and the replica", func() bool {
		for _, s := range w.sentinels {
			master := w.facts(s, "MASTER", "payments")
			if master["num-other-sentinels"] != "2" || master["num-slaves"] != "1" || master["flags"] != "master" {
				return false
			}
			replicas, err := s.Client().Do(w.t.Context(), "SENTINEL", "REPLICAS", "payments").Slice()
			if err != nil || len(replicas) != 1 || !strings.Contains(fmt.Sprint(replicas[0]), "master-link-status:ok") {
				return false
			}
		}
		return true
	})
}

// facts is an answer of a sentinel that names facts.
func (w *watched) facts(s *redistest.Server, question ...any) map[string]string {
	reply, _ := s.Client().Do(w.t.Context(), append([]any{"SENTINEL"}, question...)...).Result() // none until it answers
	return pairs(reply)
}

// pairs reads a reply of names and values, of either protocol.
func pairs(reply any) map[string]string {
	all := map[string]string{}
	switch reply := reply.(type) {
	case map[any]any:
		for name, value := range reply {
			all[fmt.Sprint(name)] = fmt.Sprint(value)
		}
	case []any:
		for i := 0; i+1 < len(reply); i += 2 {
			all[fmt.Sprint(reply[i])] = fmt.Sprint(reply[i+1])
		}
	}
	return all
}

// leads waits until a server is the primary.
func (w *watched) leads(s *redistest.Server) {
	w.t.Helper()
	eventually(w.t, "the sentinels have promoted a replica", func() bool {
		return strings.Contains(s.Client().Info(w.t.Context(), "replication").Val(), "role:master")
	})
}

// file is the payments example that finds its server by the sentinels.
func (w *watched) file() string {
	var addresses []string
	for _, s := range w.sentinels {
		addresses = append(addresses, fmt.Sprintf("%q", s.Addr))
	}
	return variant(w.t, fmt.Sprintf("  password = %q\n\n  sentinel {\n    master    = \"payments\"\n    addresses = [%s]\n    password  = %q\n  }",
		dataPassword, strings.Join(addresses, ", "), sentinelPassword))
}

// A primary that three sentinels watch dies, and later its successor hands over
// while it lives: the work goes on each time, and each change is told once.
func TestWorkGoesOnAfterSentinelsPromoteAReplica(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := watch(t, version)
			p := runFile(t, w.primary, w.file(), "redis://nobody.invalid:1/0", "min_idle=3s")
			p.ready()
			pay(t, w.primary, 0, 300)
			w.primary.Replicated()
			w.primary.Kill()
			w.leads(w.replica)
			pay(t, w.replica, 300, 300)
			eventually(t, "everything is settled by the new primary", func() bool { return settled(t, w.replica) })
			told := func(times int) {
				t.Helper()
				eventually(t, "the server is back", func() bool { return strings.Count(p.output(), `"event":"redis.back"`) >= times })
				for _, event := range []string{"redis.lost", "redis.back"} {
					if n := strings.Count(p.output(), `"event":"`+event+`"`); n != times {
						t.Errorf("%s was told %d times after %d changes:\n%s", event, n, times, p.output())
					}
				}
			}
			told(1)

			w.primary.Restart()
			w.agreed()
			w.replica.Replicated()
			if err := w.sentinels[0].Client().Do(t.Context(), "SENTINEL", "FAILOVER", "payments").Err(); err != nil {
				t.Fatal(err)
			}
			w.leads(w.primary)
			pay(t, w.primary, 600, 300)
			eventually(t, "everything is settled by the first primary", func() bool { return settled(t, w.primary) })
			told(2)
			p.drain()
			expectOneReplyEach(t, w.primary, 900)
			if strings.Contains(p.output(), dataPassword) || strings.Contains(p.output(), sentinelPassword) {
				t.Error("a password stands in the log")
			}
		})
	}
}

// What a sentinel refuses is told with what it is about, and waited for.
func TestSentinelsThatRefuseAreNamed(t *testing.T) {
	primary := redistest.Start(t, "8.6")
	sentinel := redistest.StartSentinel(t, primary, "payments", 1, redistest.Password(sentinelPassword))
	for _, c := range []struct{ name, master, password, want string }{
		{"an unknown master", "paymentz", sentinelPassword, `knows a master called`},
		{"a wrong password", "payments", "wrong-secret", "WRONGPASS"},
		{"no password", "payments", "", "NOAUTH"},
	} {
		t.Run(c.name, func(t *testing.T) {
			block := fmt.Sprintf("  sentinel {\n    master    = %q\n    addresses = [%q]\n", c.master, sentinel.Addr)
			if c.password != "" {
				block += fmt.Sprintf("    password  = %q\n", c.password)
			}
			p := runFile(t, primary, variant(t, block+"  }"), "redis://nobody.invalid:1/0")
			eventually(t, "it is told that the server is away", func() bool { return strings.Contains(p.output(), `"event":"redis.lost"`) })
			if !strings.Contains(p.output(), c.want) || strings.Contains(p.output(), "wrong-secret") {
				t.Errorf("want %s in:\n%s", c.want, p.output())
			}
		})
	}
}
