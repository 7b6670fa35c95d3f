package redis_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine/observe"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// sick is a server that misbehaves when the test says so.
type sick struct {
	t     *testing.T
	s     *redistest.Server
	proxy *redistest.Proxy
	// admin is a connection that was there before, with every right.
	admin *goredis.Conn
	// url is where the engine finds the server.
	url string
}

func (k *sick) do(args ...any) {
	k.t.Helper()
	if err := k.admin.Do(context.Background(), args...).Err(); err != nil {
		k.t.Fatal(err)
	}
}

// dropClients closes all connections but this one, as a proxy or an operator does.
func (k *sick) dropClients() { k.do("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes") }

// dropSettlers closes all connections but this one and those that block.
func (k *sick) dropSettlers() {
	k.t.Helper()
	list, err := k.admin.ClientList(context.Background()).Result()
	if err != nil {
		k.t.Fatal(err)
	}
	for line := range strings.Lines(list) {
		if strings.Contains(line, "name=pipeline") && !strings.Contains(line, "cmd=xreadgroup") {
			id, _, _ := strings.Cut(strings.TrimPrefix(line, "id="), " ")
			k.do("CLIENT", "KILL", "ID", id)
		}
	}
}

// trouble is a way in which a server misbehaves for a while.
type trouble struct {
	name       string
	options    []redistest.Option
	begin, end func(k *sick)
	// says is what the one line about it names; empty where that depends on what is
	// lost first, the answer or the connection.
	says string
	// twice: connections are lost and new ones refused for another reason, and both
	// may be told.
	twice bool
	// direct: no proxy stands between, nothing is counted.
	direct bool
	// counted is the server's own count of what it refused; empty where it does not
	// answer, and the connections are counted.
	counted string
}

// durable is a server that has its data again after a restart.
var durable = []redistest.Option{redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always")}

// slowToLoad is a server that reads its data slowly when it starts, a tenth of a
// second for each key, and looks after its clients after each.
var slowToLoad = []redistest.Option{
	redistest.Config("key-load-delay", "100000"), redistest.Config("loading-process-events-interval-bytes", "1024"),
	redistest.Config("rdbcompression", "no"),
}

var troubles = []trouble{
	{
		name: "refused", options: durable, says: "refused", direct: true,
		begin: func(k *sick) { k.s.Kill() },
		end:   func(k *sick) { k.s.Restart() },
	},
	{
		name: "away", options: durable,
		begin: func(k *sick) { k.s.Kill() },
		end:   func(k *sick) { k.s.Restart() },
	},
	{
		name: "loading", options: slowToLoad, says: "LOADING",
		begin: func(k *sick) { k.load() },
		end:   func(k *sick) { k.loaded() },
	},
	{
		name: "masterdown", says: "MASTERDOWN", counted: "MASTERDOWN",
		begin: func(k *sick) {
			k.do("CONFIG", "SET", "replica-serve-stale-data", "no", "replica-read-only", "no")
			k.do("REPLICAOF", "127.0.0.1", "1")
		},
		end: func(k *sick) { k.do("REPLICAOF", "NO", "ONE") },
	},
	{
		name: "readonly", says: "READONLY", counted: "READONLY",
		begin: func(k *sick) { k.do("REPLICAOF", "127.0.0.1", "1") },
		end:   func(k *sick) { k.do("REPLICAOF", "NO", "ONE") },
	},
	{
		name: "noreplicas", says: "NOREPLICAS", counted: "NOREPLICAS",
		begin: func(k *sick) { k.do("CONFIG", "SET", "min-replicas-to-write", "1") },
		end:   func(k *sick) { k.do("CONFIG", "SET", "min-replicas-to-write", "0") },
	},
	{
		name: "half-open", says: "no answer in time",
		begin: func(k *sick) { k.proxy.Hang() },
		end:   func(k *sick) { k.proxy.Heal() },
	},
	{
		name: "frozen", says: "no answer in time",
		begin: func(k *sick) { k.s.Pause() },
		end:   func(k *sick) { k.s.Resume() },
	},
	{
		name: "noauth", says: "NOAUTH", counted: "NOAUTH", twice: true,
		begin: func(k *sick) { k.do("CONFIG", "SET", "requirepass", "another"); k.dropClients() },
		end:   func(k *sick) { k.do("CONFIG", "SET", "requirepass", "") },
	},
	{
		// Old connections go on for as long as they last: whoever blocks on one reads
		// on, and what needs a new one is refused.
		name: "noauth for some", says: "NOAUTH", counted: "NOAUTH", twice: true,
		begin: func(k *sick) { k.do("CONFIG", "SET", "requirepass", "another"); k.dropSettlers() },
		end:   func(k *sick) { k.do("CONFIG", "SET", "requirepass", "") },
	},
	{
		name: "wrongpass", options: []redistest.Option{redistest.Password("first")}, says: "WRONGPASS", counted: "WRONGPASS", twice: true,
		begin: func(k *sick) { k.do("CONFIG", "SET", "requirepass", "another"); k.dropClients() },
		end:   func(k *sick) { k.do("CONFIG", "SET", "requirepass", "first") },
	},
	{
		name: "user changed", options: []redistest.Option{
			redistest.Config("user", "worker", "on", ">first", "~*", "&*", "+@all"), redistest.Login("worker", "first"),
		},
		says: "WRONGPASS", counted: "WRONGPASS", twice: true,
		begin: func(k *sick) { k.do("ACL", "SETUSER", "worker", "resetpass", ">another"); k.dropClients() },
		end:   func(k *sick) { k.do("ACL", "SETUSER", "worker", "resetpass", ">first") },
	},
	{
		name:  "too many clients",
		begin: func(k *sick) { k.do("CONFIG", "SET", "maxclients", "1"); k.dropClients() },
		end:   func(k *sick) { k.do("CONFIG", "SET", "maxclients", "1000") },
	},
}

// load restarts the server with enough data to load for some seconds.
func (k *sick) load() {
	ctx := context.Background()
	pipe := k.s.Client().Pipeline()
	for i := range 200 {
		pipe.Set(ctx, fmt.Sprintf("ballast:%d", i), strings.Repeat("x", 1100), 0)
	}
	pipe.Save(ctx)
	if _, err := pipe.Exec(ctx); err != nil {
		k.t.Fatal(err)
	}
	k.s.Kill()
	restarted := make(chan struct{})
	go func() {
		defer close(restarted)
		k.s.Restart()
	}()
	k.t.Cleanup(func() { <-restarted })
	eventually(k.t, "the server says that it is loading", func() bool {
		err := k.s.Client().Ping(ctx).Err()
		return err != nil && strings.HasPrefix(err.Error(), "LOADING")
	})
}

// loaded has the server load the rest of its data at once.
func (k *sick) loaded() {
	k.t.Helper()
	if err := k.s.Client().ConfigSet(context.Background(), "key-load-delay", "0").Err(); err != nil {
		k.t.Fatal(err)
	}
}

// sideBySide is how many troubles are looked at at once: they mostly wait.
const sideBySide = 16

// onSick runs a test for every trouble on every version.
func onSick(t *testing.T, test func(t *testing.T, k *sick, c trouble)) {
	places := make(chan struct{}, sideBySide)
	var all sync.WaitGroup
	defer all.Wait()
	for _, version := range redistest.Versions {
		for _, c := range troubles {
			all.Go(func() {
				places <- struct{}{}
				defer func() { <-places }()
				t.Run(version+"/"+c.name, func(t *testing.T) { test(t, newSick(t, version, c), c) })
			})
		}
	}
}

// newSick starts a server that can be brought into a trouble.
func newSick(t *testing.T, version string, c trouble) *sick {
	t.Helper()
	s := redistest.Start(t, version, c.options...)
	admin := s.Client()
	if s.Options().Username != "" {
		admin = goredis.NewClient(&goredis.Options{Addr: s.Addr})
		t.Cleanup(func() { _ = admin.Close() })
	}
	k := &sick{t: t, s: s, proxy: redistest.Through(t, s), admin: admin.Conn()}
	t.Cleanup(func() { _ = k.admin.Close() })
	k.do("PING")
	k.url = k.proxy.URL()
	if c.direct {
		k.url = s.URL()
	}
	return k
}

// attempts is how often the server was asked in vain, by its own count where it has
// one.
func (k *sick) attempts(c trouble) int {
	k.t.Helper()
	if c.counted == "" {
		return len(k.proxy.Asked())
	}
	info, err := k.admin.Info(context.Background(), "errorstats").Result()
	if err != nil {
		k.t.Fatal(err)
	}
	n := 0
	if _, after, found := strings.Cut(info, "errorstat_"+c.counted+":count="); found {
		_, _ = fmt.Sscan(after, &n)
	}
	return n
}

// few is how often at most a process asks within two seconds: each of its parts
// finds out for itself, and then they take turns.
const few = 80

// lost are the messages about the lost server, with says in the last error. Call it
// with the recorder locked.
func lost(v *service, says string) (told []string, said bool) {
	for _, e := range v.record.events {
		if e.Name == observe.EventServerLost {
			told = append(told, e.Message)
			said = strings.Contains(e.Err.Error(), says)
		}
	}
	return told, said
}

// sit waits as long as the trouble lasts and checks that it is told, seen from
// outside, and no reason to do anything in a hurry.
func (k *sick) sit(v *service, c trouble, says string) {
	k.t.Helper()
	v.record.wait(k.t, "the trouble is told, with the words "+says, func() bool {
		_, said := lost(v, says)
		return said
	})
	if v.engine.Snapshot().ServerUp {
		k.t.Error("the server counts as up")
	}
	before := k.attempts(c)
	<-time.After(2 * time.Second) // how long it lasts, not what is waited for
	if n := k.attempts(c) - before; n > few {
		k.t.Errorf("the server was asked %d times in two seconds", n)
	} else {
		k.t.Logf("the server was asked %d times in two seconds", n)
	}
	select {
	case err := <-v.done:
		v.done <- err
		k.t.Fatalf("the engine ended: %v", err)
	default:
	}
}

// recovers ends the trouble and checks that the work goes on by itself.
func (k *sick) recovers(v *service, c trouble, n int) {
	k.t.Helper()
	c.end(k)
	eventually(k.t, "the server takes an entry", func() bool {
		return k.s.Client().XAdd(context.Background(), &goredis.XAddArgs{Stream: "in", Values: []any{"n", n - 1}}).Err() == nil
	})
	v.settled("s", observe.ResultReply, n)
	v.record.wait(k.t, "that it is over is told", func() bool { return countEvents(v, observe.EventServerBack) == 1 })
	if !v.engine.Snapshot().ServerUp {
		k.t.Error("the server does not count as up")
	}
	if err := v.drain(); err != nil {
		k.t.Error(err)
	}
	told, _ := lost(v, "")
	if n := len(told); n > 1 && (!c.twice || n > 2 || told[0] == told[1]) {
		k.t.Errorf("told %q, want each trouble once", told)
	}
	expectOnce(k.t, k.s, n)
}

func TestAServerThatMisbehavesAtTheStartIsWaitedFor(t *testing.T) {
	onSick(t, func(t *testing.T, k *sick, c trouble) {
		c.begin(k)
		v := k.replier(nil)
		k.sit(v, c, c.says)
		k.recovers(v, c, 1)
	})
}

// What has begun when the trouble begins ends in its midst, and is published once
// when it is over.
func TestAServerThatMisbehavesInTheMidstOfWorkIsWaitedForAndNothingIsLost(t *testing.T) {
	onSick(t, func(t *testing.T, k *sick, c trouble) {
		g := newGate()
		v := k.replier(g)
		v.ready()
		k.s.CLI("XADD", "in", "*", "n", "0")
		<-g.entered
		c.begin(k)
		close(g.open)
		says := ""
		if c.twice {
			says = c.says
		}
		k.sit(v, c, says)
		k.recovers(v, c, 2)
		if calls, off := g.calls.Load(), g.canceled.Load(); calls != 2 || off != 0 {
			t.Errorf("handlers ran %d times and were called off %d times, want twice and never", calls, off)
		}
	})
}

// replier runs replyFile through the proxy.
func (k *sick) replier(own sandbox.Handler) *service {
	k.t.Helper()
	path := write(k.t, [2]string{"reply.hcl", replyFile}, [2]string{"h.lua", replyScript})
	p := load(k.t, path, map[string]string{"min_idle": "60s"})
	handlers := compile(k.t, p)
	if own != nil {
		handlers = map[string]sandbox.Handler{"h": own}
	}
	return startAt(k.t, k.url, p, "host-a", handlers)
}
