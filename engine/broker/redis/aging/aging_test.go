package aging_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis/aging"
	"pipeline/engine/clock"
	"pipeline/tests/redistest"
)

// open returns a keyspace on a server of its own database.
func open(t *testing.T, version string) (*aging.Keyspace, *clock.Virtual, *goredis.Client) {
	t.Helper()
	return openBy(t, version, clock.Real())
}

// openBy is open on a machine with a clock of its own.
func openBy(t *testing.T, version string, machine clock.Clock) (*aging.Keyspace, *clock.Virtual, *goredis.Client) {
	t.Helper()
	s := redistest.Shared(t, version)
	redis, err := aging.Open(t.Context(), s.URL(), machine)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redis.Close() })
	now, err := redis.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := clock.NewVirtual(now)
	k, err := redis.Keyspace(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return k, c, s.Client()
}

// fill makes use of every key that there may be.
func fill(t *testing.T, k *aging.Keyspace) (broker.Owner, broker.ID) {
	t.Helper()
	o := broker.Owner{Stream: "in", Group: "g", Consumer: "c"}
	slot := broker.SlotRequest{Stream: "in", Group: "g", Base: "c", Token: "t", TTL: time.Minute, MinIdle: time.Minute, Follows: time.Minute}
	must := func(_ any, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(k.CreateGroup(t.Context(), "in", "g", "0"))
	must(k.AcquireSlot(t.Context(), slot))
	must(k.RenewSlot(t.Context(), slot, 0))
	ids, err := k.Add(t.Context(), []broker.Add{{Stream: "in", Fields: []broker.Field{{Name: "n", Value: "1"}}}, {Stream: "in", Fields: []broker.Field{{Name: "n", Value: "2"}}}})
	must(ids, err)
	must(k.Read(t.Context(), broker.ReadRequest{Owner: o, Count: 2}))
	must(k.Settle(t.Context(), &broker.Settlement{
		Owner: o, Marks: broker.Marks{Set: "s", Window: time.Hour},
		Steps: []broker.Step{{ID: ids[0], Mark: "key", Publish: []broker.Add{{Stream: "out", Fields: []broker.Field{{Name: "n", Value: "1"}}}}}},
		Waits: []broker.Wait{{ID: ids[1], Timed: true, After: 20 * time.Second, MinIdle: time.Minute, Error: "not yet"}},
	}))
	must(nil, k.SaveFloor(t.Context(), "in", "g"))
	return o, ids[1]
}

func TestKeysAreTheKeyspacesOwnAndGoWithIt(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			k, c, client := open(t, version)
			fill(t, k)
			c.Advance(time.Second)
			if _, err := k.StreamInfo(t.Context(), "in"); err != nil {
				t.Fatal(err)
			}
			keys := client.Keys(t.Context(), "*").Val()
			if len(keys) < 7 {
				t.Errorf("there are only the keys %q", keys)
			}
			for _, key := range keys {
				if !strings.HasPrefix(strings.TrimPrefix(key, "{"), aging.Prefix) {
					t.Errorf("%s does not begin with %s", key, aging.Prefix)
				}
				if left := client.PTTL(t.Context(), key).Val(); left <= 0 || left > aging.Keep && !strings.Contains(key, ":marks:") {
					t.Errorf("%s is kept for %v", key, left)
				}
			}
			if err := k.Close(); err != nil {
				t.Fatal(err)
			}
			if left := client.Keys(t.Context(), "*").Val(); len(left) > 0 {
				t.Errorf("%q stay", left)
			}
		})
	}
}

func TestTimePassesForAllThatDependsOnIt(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			k, c, _ := open(t, version)
			o, id := fill(t, k)
			start := c.Now()
			for _, at := range []time.Duration{0, 7 * time.Second, 19 * time.Second} {
				c.MoveTo(start.Add(at))
				pending, err := k.Pending(t.Context(), "in", "g", "", broker.ID{}, 10)
				// The server's own clock runs on between the two calls.
				if err != nil || len(pending) != 1 || pending[0].Idle < 40*time.Second+at || pending[0].Idle > 42*time.Second+at || pending[0].Deliveries != 1 {
					t.Errorf("after %v: pending %+v, %v", at, pending, err)
				}
				records, err := k.Records(t.Context(), "in", "g", []broker.ID{id})
				if err != nil || !records[0].Due.Equal(start.Add(20*time.Second)) || !records[0].At.Equal(start) {
					t.Errorf("after %v: record %+v, %v", at, records, err)
				}
			}
			c.MoveTo(start.Add(59 * time.Second))
			slot := broker.SlotRequest{Stream: "in", Group: "g", Base: "c", Token: "other", TTL: time.Minute, MinIdle: time.Minute}
			if n, err := k.AcquireSlot(t.Context(), slot); n != 1 || err != nil {
				t.Errorf("before the lease runs out, the slot is %d, %v", n, err)
			}
			c.MoveTo(start.Add(61 * time.Second))
			slot.Token = "third"
			if n, err := k.AcquireSlot(t.Context(), slot); n != 0 || err != nil {
				t.Errorf("after the lease has run out, the slot is %d, %v", n, err)
			}
			marked := broker.MarkedRequest{Stream: "in", Group: "g", Marks: broker.Marks{Set: "s", Window: time.Hour}, Keys: []string{"key"}}
			for _, at := range []time.Duration{59 * time.Minute, 61 * time.Minute} {
				c.MoveTo(start.Add(at))
				if marks, err := k.Marked(t.Context(), marked); err != nil || marks[0].Found() != (at < time.Hour) {
					t.Errorf("after %v: %+v, %v", at, marks, err)
				}
			}
			ids, err := k.Add(t.Context(), []broker.Add{{Stream: "in", Fields: []broker.Field{{Name: "n", Value: "3"}}}})
			if err != nil || ids[0].Ms != uint64(start.Add(61*time.Minute).UnixMilli()) {
				t.Errorf("an entry that comes an hour later is %v, %v", ids, err)
			}
			if infos, err := k.ConsumerInfos(t.Context(), "in", "g"); err != nil || len(infos) != 1 || infos[0].Name != o.Consumer || infos[0].Idle != 61*time.Minute {
				t.Errorf("consumers %+v, %v", infos, err)
			}
		})
	}
}

func TestNothingIsSaidOfThePrefixOrTheURL(t *testing.T) {
	k, _, _ := open(t, "8.6")
	_, err := k.Pending(t.Context(), "in", "g", "", broker.ID{}, 10)
	if !errors.Is(err, broker.ErrNoGroup) || strings.Contains(err.Error(), aging.Prefix) || !strings.Contains(err.Error(), "in/g") {
		t.Errorf("%v", err)
	}
	for _, url := range []string{"http://hunter2@nowhere", "redis://:hunter2@127.0.0.1:1", ""} {
		if _, err := aging.Open(t.Context(), url, clock.Real()); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// However long a test takes, nothing becomes claimable but by the clock.
func TestRealTimeMakesNothingClaimable(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			k, c, _ := open(t, version)
			o, _ := fill(t, k)
			c.Advance(time.Millisecond) // it puts an entry back, which is for the moment idle by the server's time
			const minIdle, early, taken = time.Hour, 500 * time.Millisecond, time.Second
			ids, err := k.Add(t.Context(), []broker.Add{{Stream: "in", Fields: []broker.Field{{Name: "n", Value: "3"}}}})
			if err != nil {
				t.Fatal(err)
			}
			if ds, err := k.Read(t.Context(), broker.ReadRequest{Owner: o, Count: 1}); err != nil || len(ds) != 1 {
				t.Fatal(ds, err)
			}
			if _, err := k.SetIdle(t.Context(), "in", "g", minIdle-early, ids[0]); err != nil {
				t.Fatal(err)
			}
			<-time.After(taken)
			claim := func() []broker.Delivery {
				t.Helper()
				o := broker.Owner{Stream: "in", Group: "g", Consumer: "other"}
				claimed, err := k.AutoClaim(t.Context(), broker.AutoClaimRequest{Owner: o, MinIdle: minIdle, Count: 10})
				if err != nil {
					t.Fatal(err)
				}
				return claimed.Deliveries
			}
			if ds := claim(); len(ds) > 0 {
				t.Errorf("%v after %v, %v before its time", ds, taken, early)
			}
			c.Advance(early)
			if ds := claim(); len(ds) != 1 || ds[0].ID != ids[0] {
				t.Errorf("%v when it is due", ds)
			}
		})
	}
}

// slow is a clock of a machine on which much passes between two steps while it is busy.
type slow struct {
	clock.Clock

	busy bool
}

func (c *slow) Now() time.Time {
	now := c.Clock.Now()
	if c.busy {
		<-time.After(50 * time.Millisecond)
	}
	return now
}

// However long it takes to learn the server's time, an entry is claimable as soon as it is due.
func TestWhatIsDueIsClaimedOnASlowMachine(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			machine := &slow{clock.Real(), true}
			k, c, _ := openBy(t, version, machine)
			machine.busy = false
			o, _ := fill(t, k)
			ids, err := k.Add(t.Context(), []broker.Add{{Stream: "in", Fields: []broker.Field{{Name: "n", Value: "3"}}}})
			if err != nil {
				t.Fatal(err)
			}
			if ds, err := k.Read(t.Context(), broker.ReadRequest{Owner: o, Count: 1}); err != nil || len(ds) != 1 {
				t.Fatal(ds, err)
			}
			const minIdle = 30 * time.Second
			c.Advance(minIdle)
			o.Consumer = "other"
			claimed, err := k.AutoClaim(t.Context(), broker.AutoClaimRequest{Owner: o, MinIdle: minIdle, Count: 10})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.ContainsFunc(claimed.Deliveries, func(d broker.Delivery) bool { return d.ID == ids[0] }) {
				t.Errorf("%v is due and not among %v", ids[0], claimed.Deliveries)
			}
		})
	}
}
