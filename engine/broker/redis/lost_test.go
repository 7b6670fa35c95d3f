package redis_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

func itoa(n int) string { return strconv.Itoa(n) }

// A settlement whose answer was lost is sent again and publishes nothing twice;
// the broker itself sends nothing again.
func TestLostAnswerOfASettlement(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, direct *redis.Broker) {
		b, p := openThrough(t, s)
		ids := fill(t, b, 300)
		read(t, b, "c", 300)
		settlement := &broker.Settlement{Owner: owner("c"), Acks: ids[:10], Waits: []broker.Wait{{ID: ids[299], Timed: true, After: time.Hour, Error: "x", Asked: true}}}
		for _, id := range ids[10:299] {
			settlement.Steps = append(settlement.Steps, reply(id))
		}
		settle(t, b, &broker.Settlement{Owner: owner("c"), Steps: settlement.Steps[:1]}) // so that the scripts are known
		p.mode.Store(cut)
		_, err := b.Settle(t.Context(), settlement)
		wantKind(t, err, broker.ErrUnavailable, "settle payments/ledger")
		p.mode.Store(pass)
		if n := lengthOf(t, direct, replies); n != 289 {
			t.Fatalf("%d replies after the answer was lost", n)
		}
		r := settle(t, b, settlement)
		for i, step := range r.Steps {
			if step.Status != broker.NotOwned {
				t.Fatalf("step %d: %+v", i, step)
			}
		}
		if n := lengthOf(t, direct, replies); n != 289 {
			t.Errorf("%d replies in the end", n)
		}
		if left := pendingOf(t, direct); len(left) != 1 {
			t.Errorf("pending %v", left)
		}
	})
}

// Entries of a lost reply are pending under the consumer, which finds them there.
func TestLostAnswerOfARead(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, direct *redis.Broker) {
		b, p := openThrough(t, s)
		fill(t, b, 5)
		if _, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("d"), Count: 1, Block: time.Second}); err != nil {
			t.Fatal(err)
		}
		p.mode.Store(cut)
		_, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 2, Block: time.Second})
		wantKind(t, err, broker.ErrUnavailable, "read payments/ledger")
		p.mode.Store(pass)
		mine, err := b.Pending(t.Context(), stream, group, "c", broker.ID{}, 10)
		if err != nil || len(mine) != 2 {
			t.Fatal(mine, err)
		}
		took, err := b.TakeOver(t.Context(), owner("c"), "c", []broker.ID{mine[0].ID, mine[1].ID})
		if err != nil || len(took.Deliveries) != 2 {
			t.Error(took, err)
		}
		if d, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 10, Block: time.Second}); err != nil || len(d) != 2 {
			t.Errorf("the next read brought %v, %v", d, err)
		}
	})
}

// A connection over which nothing comes any more, although the read that blocks on it
// should have ended, is dropped; the next read has another one.
func TestHalfOpenConnection(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, _ *redis.Broker) {
		b, p := openThrough(t, s)
		fill(t, b, 0)
		request := broker.ReadRequest{Owner: owner("c"), Count: 1, Block: 100 * time.Millisecond}
		if _, err := b.Read(t.Context(), request); err != nil {
			t.Fatal(err)
		}
		p.mode.Store(stall)
		start := time.Now()
		ended := make(chan error, 1)
		go func() {
			_, err := b.Read(t.Context(), request)
			ended <- err
		}()
		select {
		case err := <-ended:
			wantKind(t, err, broker.ErrUnavailable, "no answer in time")
		case <-time.After(patient):
			t.Fatal("the read does not end")
		}
		if took := time.Since(start); took < 2*time.Second {
			t.Errorf("the read gave up after %v", took)
		}
		p.mode.Store(pass)
		if _, err := b.Read(t.Context(), request); err != nil {
			t.Errorf("the next read: %v", err)
		}
	})
}

// patient is longer than anything takes on a machine that is very busy.
const patient = 30 * time.Second

// A server that accepts connections and says nothing is given up on too.
func TestSilentServer(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t, "8.6")
	_, p := openThrough(t, s)
	p.mode.Store(stall)
	b := openWith(t, redis.Options{URL: "redis://" + p.listener.Addr().String(), Timeout: 200 * time.Millisecond})
	start := time.Now()
	_, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: time.Hour})
	wantKind(t, err, broker.ErrUnavailable)
	_, err = b.Settle(t.Context(), &broker.Settlement{Owner: owner("c"), Acks: []broker.ID{{Ms: 1}}})
	wantKind(t, err, broker.ErrUnavailable)
	if took := time.Since(start); took > soon {
		t.Errorf("gave up after %v", took)
	}
}

// A lost answer of Add leaves the entries unknown, and they are not added twice.
func TestLostAnswerOfAnAdd(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, direct *redis.Broker) {
		b, p := openThrough(t, s)
		adds := []broker.Add{message(stream, field("a", "1")), message(stream, field("a", "2"))}
		if _, err := b.Add(t.Context(), adds); err != nil {
			t.Fatal(err)
		}
		p.mode.Store(cut)
		ids, err := b.Add(t.Context(), adds)
		wantKind(t, err, broker.ErrUnavailable, "add payments")
		if n := lengthOf(t, direct, stream); n != 4 || len(ids) != 0 {
			t.Errorf("length %d, ids %v", n, ids)
		}
	})
}

func TestAddStopsAtARefusal(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		s.Client().Set(t.Context(), "text", "x", 0)
		ids, err := b.Add(t.Context(), []broker.Add{message(stream, field("a", "1")), message("text", field("a", "2")), message(stream, field("a", "3"))})
		wantKind(t, err, broker.ErrWrongType, "add text")
		if len(ids) != 1 || lengthOf(t, b, stream) != 1 {
			t.Errorf("ids %v, length %d", ids, lengthOf(t, b, stream))
		}
		for _, adds := range [][]broker.Add{{message(stream)}, {message(stream, field("a", "1")), message(stream)}} {
			ids, err := b.Add(t.Context(), adds)
			wantKind(t, err, nil, "an entry needs at least one field")
			if len(ids) != len(adds)-1 {
				t.Errorf("ids %v", ids)
			}
		}
	})
}

func TestAddTrims(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		adds := make([]broker.Add, 1000)
		for i := range adds {
			adds[i] = broker.Add{Stream: stream, MaxLen: 10, Fields: []broker.Field{field("a", itoa(i))}}
		}
		if _, err := b.Add(t.Context(), adds); err != nil {
			t.Fatal(err)
		}
		if n := lengthOf(t, b, stream); n < 10 || n > 200 {
			t.Errorf("length %d", n)
		}
	})
}

// What a blocked reader hears when the stream goes away under it.
func TestStreamGoesAwayUnderABlockedReader(t *testing.T) {
	for name, loss := range map[string]struct {
		do   func(ctx context.Context, c *goredis.Client)
		want error
	}{
		"deleted":   {func(ctx context.Context, c *goredis.Client) { c.Del(ctx, stream) }, broker.ErrNoGroup},
		"destroyed": {func(ctx context.Context, c *goredis.Client) { c.XGroupDestroy(ctx, stream, group) }, broker.ErrNoGroup},
		"flushed":   {func(ctx context.Context, c *goredis.Client) { c.FlushDB(ctx) }, broker.ErrNoGroup},
		"replaced":  {func(ctx context.Context, c *goredis.Client) { c.Set(ctx, stream, "x", 0) }, broker.ErrWrongType},
	} {
		t.Run(name, func(t *testing.T) {
			everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
				fill(t, b, 0)
				ended := make(chan error)
				go func() {
					_, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: soon})
					ended <- err
				}()
				waitBlocked(t, s, 1)
				loss.do(t.Context(), s.Client())
				err := <-ended
				if errors.Is(loss.want, broker.ErrWrongType) && s.Version < "7.2" {
					wantKind(t, err, broker.ErrNoGroup, "UNBLOCKED") // all that it says is that the stream is gone
				} else {
					wantKind(t, err, loss.want)
				}
			})
		})
	}
}

func TestReadonlyDropsConnections(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			b := open(t, s)
			ids := fill(t, b, 3)
			if _, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: time.Second}); err != nil {
				t.Fatal(err)
			}
			clients := func() int { return strings.Count(s.Client().ClientList(t.Context()).Val(), "name=pipeline") }
			if clients() == 0 {
				t.Fatal("no connections of ours")
			}
			if err := s.Client().Do(t.Context(), "REPLICAOF", "127.0.0.1", "1").Err(); err != nil {
				t.Fatal(err)
			}
			_, err := b.Settle(t.Context(), &broker.Settlement{Owner: owner("c"), Acks: ids[:1], Waits: []broker.Wait{{ID: ids[1]}}})
			wantKind(t, err, broker.ErrUnavailable, "READONLY")
			for deadline := time.Now().Add(soon); clients() > 0; {
				if time.Now().After(deadline) {
					t.Fatalf("%d connections stayed", clients())
				}
			}
			_, err = b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: time.Second})
			wantKind(t, err, broker.ErrUnavailable)
			if err := s.Client().Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
				t.Fatal(err)
			}
			if d, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: time.Second}); err != nil || len(d) != 1 {
				t.Errorf("after the failover: %v, %v", d, err)
			}
		})
	}
}

func TestServerRestarts(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version, redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always"))
			b := open(t, s)
			ids := fill(t, b, 10)
			if _, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 10, Block: time.Second}); err != nil {
				t.Fatal(err)
			}
			s.Kill()
			_, err := b.Settle(t.Context(), &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{reply(ids[0])}})
			wantKind(t, err, broker.ErrUnavailable)
			s.Restart()
			settlement := &broker.Settlement{Owner: owner("c"), Acks: ids[:1], Waits: []broker.Wait{{ID: ids[9]}}}
			for _, id := range ids[1:9] {
				settlement.Steps = append(settlement.Steps, reply(id))
			}
			for _, r := range settle(t, b, settlement).Steps {
				if r.Status != broker.Done {
					t.Errorf("%+v", r)
				}
			}
			if left := pendingOf(t, b); len(left) != 1 {
				t.Errorf("pending %v", left)
			}
		})
	}
}

func TestTooManyClients(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "8.6")
	if err := s.Client().ConfigSet(t.Context(), "maxclients", "1").Err(); err != nil {
		t.Fatal(err)
	}
	b := open(t, s)
	_, err := b.Add(t.Context(), []broker.Add{message(stream, field("a", "b"))})
	wantKind(t, err, broker.ErrUnavailable)
}

// However often a server could not be reached, it is asked for when somebody asks,
// and then only: backing off is the caller's. More attempts fail here than a pool has
// connections, from where on the client library would dial by itself.
func TestWhatCannotBeReachedIsDialedOnceForEachAttempt(t *testing.T) {
	t.Parallel()
	b := openWith(t, redis.Options{URL: "redis://127.0.0.1:1"})
	n := redis.CountDials(b)
	const attempts = 200
	for range attempts {
		_, err := b.Add(t.Context(), []broker.Add{message(stream, field("a", "1"))})
		wantKind(t, err, broker.ErrUnavailable, "127.0.0.1:1", "refused")
	}
	if got := n.Load(); got != attempts {
		t.Errorf("%d dials for %d attempts", got, attempts)
	}
}
