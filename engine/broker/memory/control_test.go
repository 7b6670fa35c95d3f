package memory_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
)

type answer struct {
	deliveries []broker.Delivery
	err        error
}

// block starts a read and returns when it is blocked.
func block(ctx context.Context, t *testing.T, b *memory.Broker, r broker.ReadRequest) <-chan answer {
	t.Helper()
	c := make(chan answer, 1)
	before := b.Blocked()
	go func() {
		d, err := b.Read(ctx, r)
		c <- answer{d, err}
	}()
	for b.Blocked() == before {
		time.Sleep(time.Microsecond)
	}
	return c
}

// A tool that decides from Blocked and Activity that nothing is left to run
// must never be wrong: the count falls under the lock, not when the reader
// gets round to it.
func TestBlockedFallsWithTheOperationThatServesTheRead(t *testing.T) {
	b, c, ids := start(t, memory.Options{}, 1)
	if got := read(t, b, broker.ReadRequest{Owner: owner("a"), Count: 1}); len(got) != 1 {
		t.Fatal(got)
	}
	forAdd := block(t.Context(), t, b, broker.ReadRequest{Owner: owner("b"), Count: 1, Block: time.Hour})
	if _, err := b.Add(t.Context(), numbered(stream, 1)); err != nil || b.Blocked() != 0 {
		t.Fatal(b.Blocked(), err)
	}
	<-forAdd

	forIdle := block(t.Context(), t, b, broker.ReadRequest{Owner: owner("b"), Count: 1, Block: time.Hour, MinIdle: time.Minute})
	c.Advance(time.Minute - time.Millisecond)
	if b.Blocked() != 1 {
		t.Fatal("it woke early")
	}
	before := b.Activity()
	c.Advance(time.Millisecond)
	if b.Blocked() != 0 || b.Activity() == before {
		t.Fatalf("%d blocked, activity %d after %d", b.Blocked(), b.Activity(), before)
	}
	if a := <-forIdle; a.err != nil || len(a.deliveries) != 1 || a.deliveries[0].ID != ids[0] || a.deliveries[0].Idle != time.Minute {
		t.Fatal(a)
	}

	forEnd := block(t.Context(), t, b, broker.ReadRequest{Owner: owner("b"), Count: 1, Block: time.Second})
	before = b.Activity()
	c.Advance(time.Second)
	if b.Blocked() != 0 || b.Activity() != before {
		t.Fatal("the end of a block is no activity, and ends it")
	}
	if a := <-forEnd; a.err != nil || len(a.deliveries) != 0 {
		t.Fatal(a)
	}
	if due, pending := c.Next(); pending {
		t.Fatalf("a timer is left for %v", due)
	}
}

func TestActivityStandsStillWhileNothingChanges(t *testing.T) {
	b, _, ids := start(t, memory.Options{}, 2)
	read(t, b, broker.ReadRequest{Owner: owner("a"), Count: 2})
	before := b.Activity()
	read(t, b, broker.ReadRequest{Owner: owner("a"), Count: 2})
	other := owner("b")
	for name, err := range map[string]error{
		"renew":   second(b.Renew(t.Context(), other, ids)),
		"release": b.Release(t.Context(), other, ids, 48*time.Hour),
		"settle":  second(b.Settle(t.Context(), &broker.Settlement{Owner: other, Steps: []broker.Step{{ID: ids[0]}}, Acks: []broker.ID{{Ms: 1}}})),
		"pending": second(b.Pending(t.Context(), stream, group, "", broker.ID{}, 10)),
		"create":  second(b.CreateGroup(t.Context(), stream, group, "0")),
		"trim":    second(b.Trim(t.Context(), broker.TrimRequest{Stream: stream, MaxLen: 5})),
	} {
		if err != nil || b.Activity() != before {
			t.Errorf("%s: %v, activity %d after %d", name, err, b.Activity(), before)
		}
	}
	if _, err := b.Renew(t.Context(), owner("a"), ids); err != nil || b.Activity() == before {
		t.Error("a renewal changes the idle time", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestFaults(t *testing.T) {
	lost := memory.Effect{Err: broker.ErrUnavailable}
	away := memory.Effect{Err: broker.ErrUnavailable, Skip: true}
	for _, c := range []struct {
		name    string
		effect  memory.Effect
		pending int
	}{{"an answer that is lost", lost, 1}, {"a server that is away", away, 0}} {
		t.Run(c.name, func(t *testing.T) {
			b, _, _ := start(t, memory.Options{}, 1)
			b.SetFault(func(call memory.Call) memory.Effect {
				if call == (memory.Call{Op: "read", Stream: stream, Group: group}) {
					return c.effect
				}
				return memory.Effect{}
			})
			d, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("a"), Count: 1})
			if d != nil || !errors.Is(err, broker.ErrUnavailable) {
				t.Fatal(d, err)
			}
			p, err := b.Pending(t.Context(), stream, group, "a", broker.ID{}, 10)
			if err != nil || len(p) != c.pending {
				t.Fatal(p, err)
			}
			b.SetFault(nil)
			if got := read(t, b, broker.ReadRequest{Owner: owner("a"), Count: 1}); len(got) != 1-c.pending {
				t.Fatal(got)
			}
		})
	}
}

func TestAnAnswerLostWhileBlockedLeavesTheEntryPending(t *testing.T) {
	b, _, _ := start(t, memory.Options{}, 0)
	b.SetFault(func(call memory.Call) memory.Effect {
		if call.Op == "read" {
			return memory.Effect{Err: broker.ErrUnavailable}
		}
		return memory.Effect{}
	})
	c := block(t.Context(), t, b, broker.ReadRequest{Owner: owner("a"), Count: 1, Block: time.Hour})
	if _, err := b.Add(t.Context(), numbered(stream, 1)); err != nil {
		t.Fatal(err)
	}
	if a := <-c; a.deliveries != nil || !errors.Is(a.err, broker.ErrUnavailable) {
		t.Fatal(a)
	}
	if p, err := b.Pending(t.Context(), stream, group, "a", broker.ID{}, 10); err != nil || len(p) != 1 {
		t.Fatal(p, err)
	}
}

func TestDisconnectAndFlushEndBlockedReads(t *testing.T) {
	b, _, _ := start(t, memory.Options{}, 0)
	r := broker.ReadRequest{Owner: owner("a"), Count: 1, Block: time.Hour}
	c := block(t.Context(), t, b, r)
	b.Disconnect()
	if a := <-c; !errors.Is(a.err, broker.ErrUnavailable) || b.Blocked() != 0 {
		t.Fatal(a)
	}
	c = block(t.Context(), t, b, r)
	b.Flush()
	if a := <-c; !errors.Is(a.err, broker.ErrNoGroup) {
		t.Fatal(a)
	}
	if at, restored, err := b.RestoreGroup(t.Context(), stream, group); err != nil || !restored || !at.IsZero() {
		t.Fatal("a floor outlived the flush", at, restored, err)
	}
}

func TestDisconnectIfLeavesTheReadsOfOthers(t *testing.T) {
	b, _, _ := start(t, memory.Options{}, 0)
	dead := block(t.Context(), t, b, broker.ReadRequest{Owner: owner("dead"), Count: 1, Block: time.Hour})
	alive := make(chan []broker.Delivery, 1)
	go func() {
		d, _ := b.Read(t.Context(), broker.ReadRequest{Owner: owner("alive"), Count: 1, Block: time.Hour})
		alive <- d
	}()
	for b.Blocked() < 2 {
		runtime.Gosched()
	}
	b.DisconnectIf(func(o broker.Owner) bool { return o.Consumer == "dead" })
	if a := <-dead; !errors.Is(a.err, broker.ErrUnavailable) || b.Blocked() != 1 {
		t.Fatal(a, b.Blocked())
	}
	if _, err := b.Add(t.Context(), numbered(stream, 1)); err != nil {
		t.Fatal(err)
	}
	if d := <-alive; len(d) != 1 {
		t.Fatal(d)
	}
}

func TestSetStringUnderABlockedRead(t *testing.T) {
	for version, kind := range map[string]error{"8.6.3": broker.ErrWrongType, "7.0.15": broker.ErrNoGroup} {
		b, _, _ := start(t, memory.Options{Version: version}, 0)
		c := block(t.Context(), t, b, broker.ReadRequest{Owner: owner("a"), Count: 1, Block: time.Hour})
		b.SetString(stream)
		if a := <-c; !errors.Is(a.err, kind) {
			t.Errorf("%s: %v", version, a.err)
		}
	}
}

// back is a clock that can be set back.
type back struct {
	*clock.Virtual
	mu  sync.Mutex
	off time.Duration
}

func (c *back) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.Virtual.Now().Add(-c.off)
}

func TestIDsRiseWhenTheClockGoesBack(t *testing.T) {
	c := &back{Virtual: clock.NewVirtual(epoch)}
	b := memory.New(c, memory.Options{})
	var ids []broker.ID
	for _, off := range []time.Duration{0, time.Hour, 0} {
		c.mu.Lock()
		c.off = off
		c.mu.Unlock()
		got, err := b.Add(t.Context(), numbered(stream, 2))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, got...)
	}
	ms := uint64(epoch.UnixMilli())
	want := []broker.ID{{Ms: ms}, {Ms: ms, Seq: 1}, {Ms: ms, Seq: 2}, {Ms: ms, Seq: 3}, {Ms: ms, Seq: 4}, {Ms: ms, Seq: 5}}
	if !slices.Equal(ids, want) {
		t.Fatal(ids)
	}
}

// Many at once, some canceled, on the machine's clock: every entry is delivered
// once, and no read is left behind.
func TestHammer(t *testing.T) {
	const readers, entries = 8, 4000
	b := memory.New(clock.Real(), memory.Options{})
	t.Cleanup(func() { _ = b.Close() })
	if _, err := b.CreateGroup(t.Context(), stream, group, "0"); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var mu sync.Mutex
	seen := map[broker.ID]int{}
	var wg sync.WaitGroup
	for i := range readers {
		o := owner(string(rune('a' + i)))
		wg.Go(func() {
			for ctx.Err() == nil {
				short, cancel := context.WithTimeout(ctx, time.Duration(i+1)*time.Millisecond)
				d, _ := b.Read(short, broker.ReadRequest{Owner: o, Count: 7, Block: time.Second, MinIdle: time.Hour})
				cancel()
				var acks []broker.ID
				mu.Lock()
				for _, x := range d {
					seen[x.ID]++
					acks = append(acks, x.ID)
				}
				if len(seen) == entries {
					stop()
				}
				mu.Unlock()
				if _, err := b.Settle(context.WithoutCancel(ctx), &broker.Settlement{Owner: o, Acks: acks}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range entries / 10 {
		if _, err := b.Add(t.Context(), numbered(stream, 10)); err != nil {
			t.Fatal(err)
		}
	}
	wg.Wait()
	for id, n := range seen {
		if n != 1 {
			t.Errorf("%v was delivered %d times", id, n)
		}
	}
	info, err := b.GroupInfos(t.Context(), stream)
	if err != nil || len(seen) != entries || info[0].Pending != 0 || info[0].Lag != 0 || b.Blocked() != 0 {
		t.Errorf("%d entries seen, %+v, %d blocked, %v", len(seen), info, b.Blocked(), err)
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]broker.Features{
		"8.6.0":  {ClaimingRead: true, AutoClaim: true, DeletedIDs: true, TrimAcknowledged: true, Lag: true, IdempotentAdd: true},
		"8.4":    {ClaimingRead: true, AutoClaim: true, DeletedIDs: true, TrimAcknowledged: true, Lag: true},
		"8.2.1":  {AutoClaim: true, DeletedIDs: true, TrimAcknowledged: true, Lag: true},
		"7.0.15": {AutoClaim: true, DeletedIDs: true, Lag: true},
		"6.2.0":  {AutoClaim: true},
		"6":      {},
		"10.0.0": {ClaimingRead: true, AutoClaim: true, DeletedIDs: true, TrimAcknowledged: true, Lag: true, IdempotentAdd: true},
	} {
		b := memory.New(clock.NewVirtual(epoch), memory.Options{Version: version})
		s, err := b.Probe(t.Context())
		if err != nil || s != (broker.Server{Software: "memory", Version: version, Features: want}) {
			t.Errorf("%s: %+v, %v", version, s, err)
		}
	}
	for _, version := range []string{"", "x", "7.", "7.0.15.1", "-1", "7.0-rc1", "99999999999999999999"} {
		if memory.CheckVersion(version) == nil {
			t.Errorf("%q passes as a version", version)
		}
	}
}

// Before 7.0 a renewal does not notice that a body is gone. A sweep does.
func TestBodiesGoneBefore70(t *testing.T) {
	b, _, ids := start(t, memory.Options{Version: "6.2.6"}, 2)
	read(t, b, broker.ReadRequest{Owner: owner("a"), Count: 2})
	b.SetIdle(stream, group, time.Hour, ids...)
	b.DeleteEntries(stream, ids[0])
	held, err := b.Renew(t.Context(), owner("a"), ids[:1])
	if err != nil || held[0] != broker.Held {
		t.Fatal(held, err)
	}
	b.SetIdle(stream, group, time.Hour, ids...)
	page, err := b.AutoClaim(t.Context(), broker.AutoClaimRequest{Owner: owner("b"), MinIdle: time.Minute, Count: 10})
	if err != nil || len(page.Deliveries) != 1 || page.Deliveries[0].ID != ids[1] || !slices.Equal(page.Deleted, ids[:1]) {
		t.Fatal(page, err)
	}
	p, err := b.Pending(t.Context(), stream, group, "b", broker.ID{}, 10)
	if err != nil || len(p) != 1 || p[0].ID != ids[1] || p[0].Deliveries != 2 {
		t.Fatal(p, err)
	}
}
