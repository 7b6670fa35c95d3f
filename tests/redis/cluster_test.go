package redis_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/observe"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// replies is where the replies go in a cluster: to the slot of the stream in.
const replies = "{in}.out"

// pauses is how long it may take until a part that waits has asked a server that is
// back: between two attempts it pauses for up to 30 s.
const pauses = 3 * patience

// cluster is three masters, of which one has the slot of the stream.
type cluster struct {
	t     *testing.T
	nodes []*redistest.Server
	// owner has the slot; other does not, and is the one whose address workers know.
	owner, other *redistest.Server
}

// eachCluster runs a test on a cluster of each version, whose servers have their data
// again after a restart. It is down as a whole when a master is.
func eachCluster(t *testing.T, test func(t *testing.T, c *cluster)) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			options := append([]redistest.Option{redistest.Config("cluster-require-full-coverage", "yes")}, durable...)
			c := &cluster{t: t, nodes: redistest.StartCluster(t, version, 3, options...)}
			at := broker.Slot("in") * len(c.nodes) / 16384
			c.owner, c.other = c.nodes[at], c.nodes[(at+1)%len(c.nodes)]
			if c.owner.Client().XAdd(t.Context(), &goredis.XAddArgs{Stream: "in", Values: []any{"n", 0}}).Err() != nil || c.owner.Client().Del(t.Context(), "in").Err() != nil {
				t.Fatal("the slot belongs to another server")
			}
			test(t, c)
		})
	}
}

// worker runs a reply pipeline on the cluster.
func (c *cluster) worker(own sandbox.Handler) *service {
	c.t.Helper()
	file := strings.Replace(replyFile, `stream "out" {}`, "stream \"out\" {\n  name = \""+replies+"\"\n}", 1)
	path := write(c.t, [2]string{"reply.hcl", strings.Replace(file, "url = ", "cluster = true\n  url = ", 1)}, [2]string{"h.lua", replyScript})
	p := load(c.t, path, map[string]string{"min_idle": "60s"})
	handlers := compile(c.t, p)
	if own != nil {
		handlers = map[string]sandbox.Handler{"h": own}
	}
	return startOn(c.t, redis.Options{URL: "redis://" + c.other.Addr, Cluster: true}, p, "host-a", handlers)
}

// third is the master that is neither.
func (c *cluster) third() *redistest.Server {
	for _, s := range c.nodes {
		if s != c.owner && s != c.other {
			return s
		}
	}
	return nil
}

// refusals is how often a server has refused with an error of that name.
func refusals(t *testing.T, s *redistest.Server, name string) (n int) {
	t.Helper()
	info, err := s.Client().Info(t.Context(), "errorstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	if _, after, found := strings.Cut(info, "errorstat_"+name+":count="); found {
		_, _ = fmt.Sscan(after, &n)
	}
	return n
}

// sit checks that a trouble is told by its name, that the server counts as away, and
// that it is not asked in a hurry.
func (c *cluster) sit(v *service, name string) {
	c.t.Helper()
	v.record.wait(c.t, name+" is told", func() bool {
		for _, e := range v.record.events {
			if e.Name == observe.EventServerLost && strings.Contains(e.Err.Error(), name) {
				return true
			}
		}
		return false
	})
	if v.engine.Snapshot().ServerUp {
		c.t.Error("the server counts as up")
	}
	counted := name
	if name == "" {
		counted = "CLUSTERDOWN"
	}
	before := refusals(c.t, c.owner, counted)
	<-time.After(2 * time.Second) // how long it lasts, not what is waited for
	n := refusals(c.t, c.owner, counted) - before
	if n > few {
		c.t.Errorf("the server refused %d requests in two seconds", n)
	}
	c.t.Logf("the server refused %d requests in two seconds", n)
	select {
	case err := <-v.done:
		v.done <- err
		c.t.Fatalf("the engine ended: %v", err)
	default:
	}
}

// takes waits until the owner of the slot takes an entry.
func (c *cluster) takes(n int) {
	c.t.Helper()
	eventually(c.t, "the cluster takes an entry", func() bool {
		return c.owner.Client().XAdd(context.Background(), &goredis.XAddArgs{Stream: "in", Values: []any{"n", n}}).Err() == nil
	})
}

// finish expects that every entry has one reply, that nothing is pending, and that
// the trouble was told once and its end once.
func (c *cluster) finish(v *service, entries int) {
	c.t.Helper()
	v.record.waitFor(c.t, pauses, "every entry is settled", func() bool { return v.record.count["s"][observe.ResultReply] >= entries })
	v.record.waitFor(c.t, pauses, "that it is over is told", func() bool { return countEvents(v, observe.EventServerBack) == 1 })
	if !v.engine.Snapshot().ServerUp {
		c.t.Error("the server does not count as up")
	}
	if err := v.drain(); err != nil {
		c.t.Error(err)
	}
	if n := countEvents(v, observe.EventServerLost); n != 1 {
		c.t.Errorf("told %d times that the server was lost: %v", n, v.record.events)
	}
	expectOnceIn(c.t, c.owner, replies, entries)
	if n := pendingNow(c.t, c.owner); n != 0 {
		c.t.Errorf("%d entries are pending", n)
	}
}

// A master without a replica is away that has nothing to do with the stream: the
// whole cluster refuses, and is waited for, at the start and in the midst of work.
func TestAClusterThatIsDownIsWaitedForAndNothingIsLost(t *testing.T) {
	eachCluster(t, func(t *testing.T, c *cluster) {
		g := newGate()
		v := c.worker(g)
		v.ready()
		add(t, c.owner, 0)
		g.begun(t)
		c.third().Kill()
		eventually(t, "the cluster is down", func() bool {
			return strings.Contains(c.owner.Client().ClusterInfo(t.Context()).Val(), "cluster_state:fail")
		})
		close(g.open)
		c.sit(v, "CLUSTERDOWN")
		late := c.worker(nil)
		c.sit(late, "") // it may have found the dead server first
		c.third().Restart()
		c.takes(1)
		late.record.waitFor(t, pauses, "the late one is told that it is over", func() bool { return countEvents(late, observe.EventServerBack) == 1 })
		v.record.waitFor(t, pauses, "the first one is told that it is over", func() bool { return countEvents(v, observe.EventServerBack) == 1 })
		eventually(t, "both entries have replies", func() bool { return c.owner.Client().XLen(t.Context(), replies).Val() == 2 })
		if err := late.drain(); err != nil {
			t.Error(err)
		}
		if n := countEvents(late, observe.EventServerLost); n != 1 {
			t.Errorf("told %d times that the server was lost: %v", n, late.record.events)
		}
		if err := v.drain(); err != nil {
			t.Error(err)
		}
		if n := countEvents(v, observe.EventServerLost); n != 1 {
			t.Errorf("told %d times that the server was lost: %v", n, v.record.events)
		}
		expectOnceIn(t, c.owner, replies, 2)
		if n := pendingNow(t, c.owner); n != 0 {
			t.Errorf("%d entries are pending", n)
		}
	})
}

// The master of the stream dies and has no replica. It comes back with its data: what
// was under way is done once.
func TestAMasterThatIsLostWithoutAReplicaIsWaitedFor(t *testing.T) {
	eachCluster(t, func(t *testing.T, c *cluster) {
		g := newGate()
		v := c.worker(g)
		v.ready()
		add(t, c.owner, 0, 1, 2)
		g.begun(t)
		c.owner.Kill()
		close(g.open)
		v.record.wait(t, "the loss is told", func() bool { return countEvents(v, observe.EventServerLost) == 1 })
		if v.engine.Snapshot().ServerUp {
			t.Error("the server counts as up")
		}
		c.owner.Restart()
		c.takes(3)
		c.finish(v, 4)
		if calls, off := g.calls.Load(), g.canceled.Load(); calls != 4 || off != 0 {
			t.Errorf("handlers ran %d times and were called off %d times, want 4 times and never", calls, off)
		}
	})
}

// The same with a replica, which the cluster promotes: what it holds is done once.
func TestAReplicaThatTheClusterPromotesIsWorkedOn(t *testing.T) {
	eachCluster(t, func(t *testing.T, c *cluster) {
		replica := redistest.AddReplica(t, c.nodes, c.owner, durable...)
		g := newGate()
		v := c.worker(g)
		v.ready()
		add(t, c.owner, 0, 1, 2)
		g.begun(t)
		c.owner.ReplicatedBeside("in")
		c.owner.Kill()
		close(g.open)
		eventually(t, "the cluster promotes the replica", func() bool {
			return strings.Contains(replica.Client().Info(t.Context(), "replication").Val(), "role:master")
		})
		c.owner = replica
		c.takes(3)
		c.finish(v, 4)
	})
}

// The slot moves and stands still half-way: of the keys of one step some are there
// and some here, which no server can write together. It is waited for.
func TestAStepWhoseKeysAreHalfMovedIsWaitedFor(t *testing.T) {
	eachCluster(t, func(t *testing.T, c *cluster) {
		g := newGate()
		v := c.worker(g)
		v.ready()
		add(t, c.owner, 0, 1)
		g.begun(t)
		c.owner.CLI("XGROUP", "CREATE", replies, "readers", "0", "MKSTREAM") // a key to move
		slot, target := broker.Slot("in"), c.third()
		from, to := c.do(c.owner, "CLUSTER", "MYID"), c.do(target, "CLUSTER", "MYID")
		c.do(target, "CLUSTER", "SETSLOT", slot, "IMPORTING", from)
		c.do(c.owner, "CLUSTER", "SETSLOT", slot, "MIGRATING", to)
		c.move(target, replies)
		close(g.open)
		c.sit(v, "TRYAGAIN")
		for {
			keys := c.owner.Client().ClusterGetKeysInSlot(t.Context(), slot, 100).Val()
			if len(keys) == 0 {
				break
			}
			c.move(target, keys...)
		}
		for _, s := range []*redistest.Server{target, c.owner} {
			c.do(s, "CLUSTER", "SETSLOT", slot, "NODE", to)
		}
		c.owner = target
		c.takes(2)
		c.finish(v, 3)
	})
}

// move moves keys from the owner of the slot to another server.
func (c *cluster) move(to *redistest.Server, keys ...string) {
	c.t.Helper()
	host, port, _ := net.SplitHostPort(to.Addr)
	list := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
	for _, key := range keys {
		list = append(list, key)
	}
	c.do(c.owner, list...)
}

func (c *cluster) do(s *redistest.Server, list ...any) any {
	c.t.Helper()
	reply, err := s.Client().Do(c.t.Context(), list...).Result()
	if err != nil {
		c.t.Fatalf("%v: %v", list, err)
	}
	return reply
}
