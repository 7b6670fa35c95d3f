package chaos

import (
	"fmt"
	"net"
	"os/exec"
	"strings"
	"testing"

	"pipeline/engine/broker"
	"pipeline/tests/redistest"
)

// cluster is three masters and the payments example on them, whose streams lie
// on three of them.
type cluster struct {
	t       *testing.T
	version string
	nodes   []*redistest.Server
	owner   map[string]*redistest.Server
	file    string
}

func newCluster(t *testing.T, version string) *cluster {
	t.Helper()
	c := &cluster{t: t, version: version, owner: map[string]*redistest.Server{}, file: variant(t, "  cluster = true")}
	c.nodes = redistest.StartCluster(t, version, 3, redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always"))
	for _, s := range c.nodes {
		c.grant(s)
	}
	for _, stream := range []string{"payments", "payments.screened", "payments.dead"} {
		for i, s := range c.nodes {
			if broker.Slot(stream) < (i+1)*16384/len(c.nodes) {
				c.owner[stream] = s
				break
			}
		}
	}
	if c.owner["payments"] == c.owner["payments.screened"] {
		t.Fatal("the streams share a server")
	}
	return c
}

// grant lets the worker in.
func (c *cluster) grant(s *redistest.Server) {
	c.t.Helper()
	c.do(s, "ACL", "SETUSER", "worker", "on", ">pw", "~*", "+@all")
}

func (c *cluster) url() string { return "redis://worker:pw@" + c.nodes[0].Addr }

func (c *cluster) run() *process {
	c.t.Helper()
	p := runFile(c.t, c.nodes[0], c.file, c.url(), "min_idle=2s")
	p.ready()
	return p
}

// command runs the command to its end and returns what it prints.
func (c *cluster) command(name string) string {
	args := []string{name, c.file, "--var", "redis_url=" + c.url()}
	if c.version == "7.0" {
		args = append(args, "--var", "before_8_4=true")
	}
	out, _ := exec.Command(binary, args...).CombinedOutput()
	return string(out)
}

// do runs a command on a node.
func (c *cluster) do(s *redistest.Server, list ...any) any {
	c.t.Helper()
	reply, err := s.Client().Do(c.t.Context(), list...).Result()
	if err != nil {
		c.t.Fatalf("%v: %v", list, err)
	}
	return reply
}

// replies counts the replies to payments 0 to n-1: those that have none, and those
// beyond one.
func (c *cluster) replies(n int) (lacking, beyond int) {
	c.t.Helper()
	seen := make([]int, n)
	each(c.t, c.owner["payments.screened"], "payments.screened", func(values map[string]any) {
		var id int
		if _, err := fmt.Sscanf(fmt.Sprint(values["_payload"]), `{"payment_id":%d,`, &id); err != nil || id < 0 || id >= n {
			c.t.Errorf("a reply to nothing that was paid: %v", values)
			return
		}
		seen[id]++
	})
	for _, times := range seen {
		if times == 0 {
			lacking++
		}
		beyond += max(0, times-1)
	}
	return lacking, beyond
}

func (c *cluster) settled(what string) {
	c.t.Helper()
	eventually(c.t, what, func() bool { return settled(c.t, c.owner["payments"]) })
}

// The example's streams lie on three servers of a cluster, and everything is told
// and done as docs/topologies.md says.
func TestPaymentsInACluster(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, version)
			once := version != "7.0"
			c.told(once)
			p := c.run()
			pay(t, c.owner["payments"], 0, 200)
			c.settled("two hundred payments are settled")
			if n := strings.Count(p.output(), `"event":"settle.apart"`); n < 2 || n > 3 {
				t.Errorf("told %d times that streams lie apart, want once for each subscription", n)
			}
			if lacking, beyond := c.replies(200); lacking+beyond > 0 {
				t.Errorf("%d payments without a reply, %d replies too many", lacking, beyond)
			}
			extra := c.dieBetween(p)
			if once && extra > 0 || !once && extra == 0 {
				t.Errorf("%d replies too many after a death between publishing and acknowledging", extra)
			}
			p = c.run()
			c.migrate()
			pay(t, c.owner["payments"], 201, 200)
			c.settled("what was paid while the slot moved is settled")
			p.drain()
			lacking, beyond := c.replies(401)
			if lacking > 0 || once && beyond > 0 {
				t.Errorf("%d payments without a reply, %d replies too many", lacking, beyond)
			}
		})
	}
}

// told expects that validate and plan say what holds in this cluster.
func (c *cluster) told(once bool) {
	c.t.Helper()
	if out := c.command("validate"); !strings.Contains(out, "cluster_slots_differ") || !strings.Contains(out, `"{payments}.screened"`) {
		c.t.Errorf("validate: %s", out)
	}
	words := "they are written again"
	if once {
		words = "adds it once"
	}
	if out := c.command("plan"); !strings.Contains(out, "cluster_slots_differ") || !strings.Contains(out, words) || !strings.Contains(out, "run could run here") {
		c.t.Errorf("plan: %s", out)
	}
}

// dieBetween kills the process when the reply to payment 200 is published and its
// entry not acknowledged: the right to acknowledge is taken away, and given back
// when the process is dead. Another process does the entry again. It returns how
// many replies there are too many then.
func (c *cluster) dieBetween(p *process) int {
	c.t.Helper()
	for _, s := range c.nodes {
		c.do(s, "ACL", "SETUSER", "worker", "-xack")
	}
	pay(c.t, c.owner["payments"], 200, 1)
	eventually(c.t, "the reply is published and the right is missed", func() bool {
		lacking, _ := c.replies(201)
		return lacking == 0 && strings.Contains(p.output(), "+xack")
	})
	p.kill()
	for _, s := range c.nodes {
		c.do(s, "ACL", "SETUSER", "worker", "+xack")
	}
	next := c.run()
	c.settled("the payment is settled by another process")
	next.drain()
	_, beyond := c.replies(201)
	return beyond
}

// migrate moves the slot of payments to another server while a process reads it.
func (c *cluster) migrate() {
	c.t.Helper()
	slot, from := broker.Slot("payments"), c.owner["payments"]
	var to *redistest.Server
	for _, s := range c.nodes {
		if s != from && s != c.owner["payments.screened"] {
			to = s
		}
	}
	source, target := c.do(from, "CLUSTER", "MYID"), c.do(to, "CLUSTER", "MYID")
	c.do(to, "CLUSTER", "SETSLOT", slot, "IMPORTING", source)
	c.do(from, "CLUSTER", "SETSLOT", slot, "MIGRATING", target)
	host, port, _ := net.SplitHostPort(to.Addr)
	for {
		keys := from.Client().ClusterGetKeysInSlot(c.t.Context(), slot, 100).Val()
		if len(keys) == 0 {
			break
		}
		list := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
		for _, key := range keys {
			list = append(list, key)
		}
		c.do(from, list...)
	}
	for _, s := range []*redistest.Server{to, from} {
		c.do(s, "CLUSTER", "SETSLOT", slot, "NODE", target)
	}
	c.owner["payments"] = to
}
