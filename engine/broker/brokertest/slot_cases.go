package brokertest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"pipeline/engine/broker"
)

func (k *kit) slotRequest(token string) broker.SlotRequest {
	return broker.SlotRequest{Stream: k.stream, Group: k.group, Base: "post-host", Token: token, TTL: time.Minute, MinIdle: minIdle}
}

// acquire asserts which slot a request gets.
func (k *kit) acquire(r broker.SlotRequest, want int) {
	k.Helper()
	slot, err := k.Broker.AcquireSlot(k.Context(), r)
	k.ok(err)
	equal(k, "slot of "+r.Token, slot, want)
}

// holds asserts whether a renewal finds the slot held.
func (k *kit) holds(r broker.SlotRequest, slot int, want bool) {
	k.Helper()
	lease, err := k.Broker.RenewSlot(k.Context(), r, slot)
	k.ok(err)
	equal(k, fmt.Sprintf("%s holds slot %d", r.Token, slot), lease.Held, want)
}

// claimer is the request of one who claims, and renews, by these.
func (k *kit) claimer(token string, minIdle, follows time.Duration) broker.SlotRequest {
	r := k.slotRequest(token)
	r.Base, r.MinIdle, r.Follows = "base-"+token, minIdle, follows
	return r
}

// peers asserts what one who is alive learns of all when it announces itself.
func (k *kit) peers(r broker.SlotRequest, least, slowest time.Duration) {
	k.Helper()
	lease, err := k.Broker.RenewSlot(k.Context(), r, 0)
	k.ok(err)
	equal(k, r.Token+": least", lease.Least, least)
	equal(k, r.Token+": slowest", lease.Slowest, slowest)
}

// quiet asserts for how long another one has not been heard of when one announces
// itself; 0 is that there is no other.
func (k *kit) quiet(r broker.SlotRequest, want time.Duration) {
	k.Helper()
	lease, err := k.Broker.RenewSlot(k.Context(), r, 0)
	k.ok(err)
	if d := lease.Quiet - want; d < -k.span(20*time.Millisecond) || d > slack || want == 0 && d > 0 {
		k.Fatalf("%s: another was not heard of for %v, want %v", r.Token, lease.Quiet, want)
	}
}

var slotCases = []testCase{
	{"the lowest free one", nil, func(k *kit) {
		for i, token := range []string{"t0", "t1", "t2"} {
			k.acquire(k.slotRequest(token), i)
		}
		k.ok(k.Broker.ReleaseSlot(k.Context(), k.slotRequest("t1"), 1))
		k.acquire(k.slotRequest("t3"), 1)
		k.acquire(k.slotRequest("t4"), 3)
	}},
	{"the same one again for the same token", nil, func(k *kit) {
		k.acquire(k.slotRequest("t0"), 0)
		k.acquire(k.slotRequest("t1"), 1)
		k.acquire(k.slotRequest("t1"), 1)
		k.ok(k.Broker.ReleaseSlot(k.Context(), k.slotRequest("t0"), 0))
		k.acquire(k.slotRequest("t1"), 1)
	}},
	{"each name has its own", nil, func(k *kit) {
		other := k.slotRequest("t1")
		other.Base = "post-other"
		k.acquire(k.slotRequest("t0"), 0)
		k.acquire(other, 0)
		other = k.slotRequest("t2")
		other.Group = "risk"
		k.acquire(other, 0)
	}},
	{"is renewed only with its token", nil, func(k *kit) {
		k.acquire(k.slotRequest("t0"), 0)
		k.holds(k.slotRequest("t0"), 0, true)
		k.holds(k.slotRequest("t"), 0, false)
		k.holds(k.slotRequest("t00"), 0, false)
	}},
	{"is released only with its token", nil, func(k *kit) {
		k.acquire(k.slotRequest("t0"), 0)
		k.ok(k.Broker.ReleaseSlot(k.Context(), k.slotRequest("t1"), 0))
		k.holds(k.slotRequest("t0"), 0, true)
		k.ok(k.Broker.ReleaseSlot(k.Context(), k.slotRequest("t0"), 0))
		k.acquire(k.slotRequest("t1"), 0)
		k.holds(k.slotRequest("t0"), 0, false)
	}},
	{"is free when its lease has ended", nil, inTime(50*time.Millisecond, func(k *kit) {
		short := k.slotRequest("t0")
		short.TTL = k.span(200 * time.Millisecond)
		k.acquire(short, 0)
		k.acquire(k.slotRequest("t1"), 1)
		k.Advance(k.span(300 * time.Millisecond))
		k.acquire(k.slotRequest("t2"), 0)
		k.holds(short, 0, false)
		k.holds(k.slotRequest("t2"), 0, true)
	})},
	{"is taken back by who let its lease end, while nobody else has it", nil, inTime(50*time.Millisecond, func(k *kit) {
		short := k.slotRequest("t0")
		short.TTL = k.span(200 * time.Millisecond)
		k.acquire(short, 0)
		k.Advance(k.span(300 * time.Millisecond))
		long := short
		long.TTL = time.Minute
		k.holds(long, 0, true)
		k.acquire(k.slotRequest("t1"), 1)
		k.holds(k.slotRequest("t2"), 0, false)
	})},
	{"is taken back after the server has lost it", nil, func(k *kit) {
		k.holds(k.slotRequest("t3"), 3, true)
		k.acquire(k.slotRequest("t0"), 0)
		k.holds(k.slotRequest("t0"), 3, false)
		k.acquire(k.slotRequest("t3"), 3)
	}},
	{"is kept by renewing", nil, inTime(50*time.Millisecond, func(k *kit) {
		short := k.slotRequest("t0")
		short.TTL = k.span(600 * time.Millisecond)
		k.acquire(short, 0)
		k.Advance(k.span(400 * time.Millisecond))
		k.holds(short, 0, true)
		k.Advance(k.span(400 * time.Millisecond)) // no renewal after it: one takes back what has ended
		k.acquire(k.slotRequest("t1"), 1)
	})},
	{"twenty at once get twenty", nil, func(k *kit) {
		got := make([]int, 20)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() {
				slot, err := k.Broker.AcquireSlot(k.Context(), k.slotRequest(fmt.Sprint("token", i)))
				if err != nil {
					k.Error(err)
				}
				got[i] = slot
			})
		}
		wg.Wait()
		slices.Sort(got)
		for i, slot := range got {
			equal(k, "slot", slot, i)
		}
	}},
	{"outlives its stream", nil, func(k *kit) {
		k.fill(1)
		k.acquire(k.slotRequest("t0"), 0)
		k.Delete(k.stream)
		k.holds(k.slotRequest("t0"), 0, true)
	}},
	{"tells the least and the slowest of all who are alive", nil, func(k *kit) {
		a, b, c := k.claimer("a", 30*time.Second, 30*time.Second), k.claimer("b", 10*time.Second, 10*time.Second), k.claimer("c", 0, 0)
		k.peers(a, 30*time.Second, 30*time.Second)
		k.peers(b, 10*time.Second, 30*time.Second)
		a.Follows = 10 * time.Second
		k.peers(a, 10*time.Second, 10*time.Second)
		k.peers(c, 10*time.Second, broker.Never)
		c.Follows = 10 * time.Second
		k.peers(c, 10*time.Second, 10*time.Second)
		k.ok(k.Broker.ReleaseSlot(k.Context(), b, 0))
		k.peers(a, 30*time.Second, 10*time.Second)
		k.ok(k.Broker.ReleaseSlot(k.Context(), a, 0))
		k.peers(c, 0, 10*time.Second)
	}},
	{"tells it though the slot is lost, of the same group only", nil, func(k *kit) {
		a := k.claimer("a", 30*time.Second, 30*time.Second)
		k.peers(a, 30*time.Second, 30*time.Second)
		b := k.claimer("b", time.Second, time.Second)
		b.Base = a.Base
		lease, err := k.Broker.RenewSlot(k.Context(), b, 0)
		k.ok(err)
		lease.Time, lease.Quiet = time.Time{}, 0
		equal(k, "lease", lease, broker.SlotLease{Least: time.Second, Slowest: 30 * time.Second})
		other := k.claimer("c", time.Minute, time.Minute)
		other.Group = "risk"
		k.peers(other, time.Minute, time.Minute)
	}},
	{"tells the server's time", nil, func(k *kit) {
		for _, r := range []broker.SlotRequest{k.slotRequest("t0"), k.claimer("a", time.Second, time.Second)} {
			before := k.serverTime()
			lease, err := k.Broker.RenewSlot(k.Context(), r, 0)
			k.ok(err)
			if after := k.serverTime(); lease.Time.Before(before.Add(-slack)) || lease.Time.After(after.Add(slack)) {
				k.Fatalf("the server says that it is %v, which was asked between %v and %v", lease.Time, before, after)
			}
			k.Advance(20 * time.Millisecond)
		}
	}},
	{"counts nobody who was silent for the time to live and what it follows, and waits until it must be back", nil, inTime(50*time.Millisecond, func(k *kit) {
		a, b := k.claimer("a", time.Hour, k.span(4*time.Second)), k.claimer("b", k.span(300*time.Millisecond), 0)
		a.TTL, b.TTL = k.span(300*time.Millisecond), k.span(300*time.Millisecond)
		k.peers(a, time.Hour, k.span(4*time.Second))
		k.peers(b, k.span(300*time.Millisecond), broker.Never)
		k.Advance(k.span(400 * time.Millisecond))
		last := k.claimer("c", 2*time.Hour, k.span(100*time.Millisecond))
		last.TTL = k.span(300 * time.Millisecond)
		k.peers(last, time.Hour, broker.Never)
		k.Advance(k.span(400 * time.Millisecond))
		k.peers(last, time.Hour, k.span(4*time.Second))
		k.Advance(k.span(4 * time.Second))
		k.peers(last, 2*time.Hour, k.span(4*time.Second))
		k.Advance(k.span(3500 * time.Millisecond))
		k.peers(last, 2*time.Hour, k.span(100*time.Millisecond))
	})},
	{"tells for how long another one has not been heard of", nil, inTime(20*time.Millisecond, func(k *kit) {
		a, b := k.claimer("a", k.span(time.Second), k.span(time.Second)), k.claimer("b", k.span(time.Second), k.span(time.Second))
		a.TTL, b.TTL = k.span(time.Second), k.span(time.Second)
		k.quiet(a, 0)
		k.Advance(k.span(200 * time.Millisecond))
		k.quiet(a, 0)
		k.Advance(k.span(200 * time.Millisecond))
		k.quiet(b, k.span(200*time.Millisecond))
		k.Advance(k.span(200 * time.Millisecond))
		k.quiet(a, k.span(200*time.Millisecond))
		k.ok(k.Broker.ReleaseSlot(k.Context(), b, 0))
		k.quiet(a, 0)
		k.Advance(k.span(1500 * time.Millisecond))
		k.quiet(b, k.span(1500*time.Millisecond)) // nor would it have been where the server was away from all
		k.Advance(k.span(1200 * time.Millisecond))
		k.quiet(b, k.span(2700*time.Millisecond))
		k.ok(k.Broker.ReleaseSlot(k.Context(), b, 0))
		k.quiet(a, 0) // it is back, and b has released its slot
		k.Advance(k.span(1500 * time.Millisecond))
		k.quiet(b, k.span(1500*time.Millisecond))
		k.Advance(k.span(1200 * time.Millisecond))
		k.quiet(b, k.span(2700*time.Millisecond))
		k.Advance(k.span(1500 * time.Millisecond))
		k.quiet(b, 0)
	})},
	{"needs a token and a time to live", nil, func(k *kit) {
		r := k.slotRequest("")
		_, err := k.Broker.AcquireSlot(k.Context(), r)
		k.fails(err, nil, k.stream)
		r = k.slotRequest("t0")
		r.TTL = 0
		_, err = k.Broker.AcquireSlot(k.Context(), r)
		k.fails(err, nil, k.stream)
	}},
}

// remove asserts whether a consumer is gone afterwards.
func (k *kit) remove(consumer string, want bool) {
	k.Helper()
	gone, err := k.Broker.RemoveConsumer(k.Context(), k.owner(consumer))
	k.ok(err)
	equal(k, consumer+" is gone", gone, want)
}

var removeCases = []testCase{
	{"that holds nothing", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.ack("a", ids[0])
		equal(k, "consumers", k.info().Consumers, 1)
		k.remove("a", true)
		equal(k, "consumers", k.info().Consumers, 0)
	}},
	{"that holds an entry stays, and so does the entry", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.ack("a", ids[0])
		k.remove("a", false)
		k.same(k.pendingOf("a"), ids[1:])
	}},
	{"that holds an entry without a body stays", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.DeleteEntries(k.stream, ids[0])
		k.remove("a", false)
	}},
	{"whose entries were taken over", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.takeOver("b", "a", ids[0])
		k.remove("a", true)
		k.same(k.pendingOf("b"), ids)
	}},
	{"that never was is gone", nil, func(k *kit) {
		k.create("0")
		k.remove("nobody", true)
	}},
}
