package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pipeline/engine/observe"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// pair is a primary with a replica, and what stands between them and a worker.
type pair struct {
	primary, replica *redistest.Server
	// feed is the way of the replication, front that of the workers: an address that
	// leads to whoever is primary.
	feed, front *redistest.Link
}

// eachPair runs a test on a primary and a replica of each version.
func eachPair(t *testing.T, test func(t *testing.T, p *pair)) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			quick := redistest.Config("repl-diskless-sync-delay", "0")
			p := &pair{primary: redistest.Start(t, version, quick), replica: redistest.Start(t, version, quick)}
			p.feed, p.front = redistest.NewLink(t, p.primary.Addr), redistest.NewLink(t, p.primary.Addr)
			p.replica.Follow(p.feed.Addr())
			test(t, p)
		})
	}
}

// cut ends the replication: the replica has all that was written so far and will
// have nothing more.
func (p *pair) cut() {
	p.primary.Replicated()
	p.feed.Down()
}

// failover takes the primary away and puts the replica in its place.
func (p *pair) failover() {
	p.primary.Kill()
	p.replica.Promote()
	p.front.Point(p.replica.Addr)
}

// worker runs a reply pipeline that reaches the pair by its front.
func (p *pair) worker(t *testing.T, file, minIdle string, own sandbox.Handler) *service {
	t.Helper()
	path := write(t, [2]string{"reply.hcl", file}, [2]string{"h.lua", replyScript})
	pl := load(t, path, map[string]string{"min_idle": minIdle})
	handlers := map[string]sandbox.Handler{"h": own}
	if own == nil {
		handlers = compile(t, pl)
	}
	return startAt(t, "redis://"+p.front.Addr(), pl, "host-a", handlers)
}

// finish expects that every entry has one reply on the new primary, that nothing
// is left there, and that the change was told once.
func (p *pair) finish(t *testing.T, v *service, entries int) {
	t.Helper()
	replies := func() int { return len(fields(t, p.replica.Client(), "out")) }
	eventually(t, "every entry has a reply", func() bool { return replies() >= entries })
	if err := v.drain(); err != nil {
		t.Error(err)
	}
	expectOnce(t, p.replica, entries)
	if n := pendingNow(t, p.replica); n != 0 {
		t.Errorf("%d entries are pending", n)
	}
	expectEachOutageToldOnce(t, v, 1)
}

// The replica is promoted and lacks what came last: acknowledgements with their
// replies, and a delivery. What was acknowledged is pending there and is claimed;
// what was delivered is new there. Both are done, and have one reply each in the
// history that survived.
func TestAFailoverThatLosesAcknowledgementsAndDeliveries(t *testing.T) {
	eachPair(t, func(t *testing.T, p *pair) {
		g := newGate()
		v := p.worker(t, replyFile, "1s", g)
		v.ready()
		add(t, p.primary, 0, 1, 2)
		<-g.entered
		eventually(t, "two entries are delivered and the third is not", func() bool { return pendingNow(t, p.primary) == 2 })
		p.cut()
		close(g.open)
		v.settled("s", observe.ResultReply, 3)
		if n := pendingNow(t, p.replica); n != 2 {
			t.Fatalf("%d entries are pending on the replica, want the two that were delivered", n)
		}
		p.failover()
		v.settled("s", observe.ResultReply, 6)
		p.finish(t, v, 3)
		v.record.mu.Lock()
		defer v.record.mu.Unlock()
		deliveries := map[string][]int64{}
		for _, o := range v.record.outcomes["s"] {
			body := o.Replies[0].Body
			deliveries[body] = append(deliveries[body], o.Deliveries)
		}
		if last := deliveries[`{"n":2}`]; !slices.Equal(last, []int64{0, 0}) {
			t.Errorf("the entry whose delivery was lost: deliveries %v, want that it came as new twice", last)
		}
		for _, n := range []string{`{"n":0}`, `{"n":1}`} {
			if d := deliveries[n]; len(d) != 2 || d[0] != 0 || d[1] < 1 {
				t.Errorf("%s, whose acknowledgement was lost: deliveries %v, want that it came back as pending", n, d)
			}
		}
	})
}

// The replica lacks everything of a worker: its lease, its consumer, all that it
// was given. It has its lease again, takes what is there as new, and loses nothing.
func TestAFailoverThatLosesTheWorkerItself(t *testing.T) {
	eachPair(t, func(t *testing.T, p *pair) {
		p.primary.CLI("XGROUP", "CREATE", "in", "g", "0", "MKSTREAM")
		add(t, p.primary, 0, 1, 2)
		p.cut()
		v := p.worker(t, replyFile, "1s", nil)
		v.settled("s", observe.ResultReply, 3)
		p.failover()
		v.settled("s", observe.ResultReply, 6)
		eventually(t, "it has a lease on the new primary", func() bool {
			return len(p.replica.Client().Keys(t.Context(), "{in}:pipeline:g:slot:*").Val()) == 1
		})
		p.finish(t, v, 3)
	})
}

// The replica lacks the group: it is created again, at the beginning because no
// floor was written down, and told once.
func TestAFailoverThatLosesTheGroup(t *testing.T) {
	eachPair(t, func(t *testing.T, p *pair) {
		add(t, p.primary, 0, 1, 2)
		p.cut()
		v := p.worker(t, replyFile, "1s", nil)
		v.settled("s", observe.ResultReply, 3)
		p.failover()
		v.settled("s", observe.ResultReply, 6)
		p.finish(t, v, 3)
		if n := strings.Count(fmt.Sprint(v.record.events), "was created again"); n != 1 {
			t.Errorf("told %d times that the group was lost", n)
		}
	})
}

// A floor that was replicated outlives a group that is lost after the failover:
// what is below it is not done again.
func TestAFloorSurvivesAFailover(t *testing.T) {
	eachPair(t, func(t *testing.T, p *pair) {
		v := p.worker(t, replyFile, "1s", nil)
		v.ready()
		add(t, p.primary, 0, 1, 2)
		v.settled("s", observe.ResultReply, 3)
		eventually(t, "the floor is written down", func() bool {
			last := p.primary.Client().XRevRangeN(t.Context(), "in", "+", "-", 1).Val()
			return p.primary.Client().Get(t.Context(), "{in}:pipeline:g:floor").Val() == last[0].ID
		})
		p.cut()
		p.failover()
		p.replica.CLI("XGROUP", "DESTROY", "in", "g")
		add(t, p.replica, 3)
		v.settled("s", observe.ResultReply, 4)
		p.finish(t, v, 4)
	})
}

// A key is marked in the step that settles its entry: a history has both or none.
// A copy of what was settled before the cut is a duplicate; what was settled after
// it is done again.
func TestMarksAfterAFailover(t *testing.T) {
	eachPair(t, func(t *testing.T, p *pair) {
		v := p.worker(t, onceFile, "1s", nil)
		v.ready()
		add(t, p.primary, 0, 1)
		v.settled("s", observe.ResultReply, 2)
		p.cut()
		add(t, p.primary, 2) // nobody but the old primary ever has it
		v.settled("s", observe.ResultReply, 3)
		p.failover()
		add(t, p.replica, 0, 1, 2)
		v.settled("s", observe.ResultDuplicate, 2)
		v.settled("s", observe.ResultReply, 4)
		p.finish(t, v, 3)
	})
}

// The roles change while a worker is connected to the old primary and stays so:
// READONLY has it drop its connections and find the new one.
func TestADemotedPrimaryIsLeft(t *testing.T) {
	eachPair(t, func(t *testing.T, p *pair) {
		g := newGate()
		v := p.worker(t, replyFile, "2s", g)
		v.ready()
		add(t, p.primary, 0)
		<-g.entered
		p.primary.Replicated()
		p.replica.Promote()
		p.front.Point(p.replica.Addr)
		p.primary.Follow(p.replica.Addr)
		close(g.open)
		v.settled("s", observe.ResultReply, 1)
		add(t, p.replica, 1)
		v.settled("s", observe.ResultReply, 2)
		p.finish(t, v, 2)
		if !strings.Contains(fmt.Sprint(v.record.events), "READONLY") && !strings.Contains(fmt.Sprint(v.record.events), "UNBLOCKED") {
			t.Errorf("nobody was told why: %v", v.record.events)
		}
	})
}
