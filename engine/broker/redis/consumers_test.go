package redis_test

import (
	"slices"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// slotted makes a consumer with a slot of its own: lease is how long it is held.
func slotted(t *testing.T, b *redis.Broker, token string, lease time.Duration) (consumer string, release func()) {
	t.Helper()
	r := broker.SlotRequest{Stream: stream, Group: group, Base: "post-host", Token: token, TTL: lease}
	n, err := b.AcquireSlot(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.RenewSlot(t.Context(), r, n); err != nil {
		t.Fatal(err)
	}
	return "post-host-" + string(rune('0'+n)) + "." + token, func() {
		if err := b.ReleaseSlot(t.Context(), r, n); err != nil {
			t.Fatal(err)
		}
	}
}

func TestConsumersTellWhoLives(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 5)
		alive, _ := slotted(t, b, "aaaa", time.Minute)
		dead, release := slotted(t, b, "bbbb", time.Minute)
		read(t, b, alive, 2)
		read(t, b, dead, 1)
		read(t, b, "stranger", 1)
		read(t, b, "dotted.name", 1)
		read(t, b, "idle-0.cccc", 1)
		release()

		list, now, err := b.Consumers(t.Context(), stream, group)
		if err != nil || now.IsZero() {
			t.Fatal(now, err)
		}
		type seen struct {
			lease   redis.Lease
			slot    string
			pending int64
			oldest  broker.ID
		}
		want := map[string]seen{
			alive:         {redis.LeaseHeld, "post-host-0", 2, ids[0]},
			dead:          {redis.LeaseGone, "post-host-1", 1, ids[2]},
			"stranger":    {redis.LeaseNone, "", 1, ids[3]},
			"dotted.name": {redis.LeaseNone, "", 1, ids[4]},
			"idle-0.cccc": {redis.LeaseGone, "idle-0", 0, broker.ID{}},
		}
		for _, c := range list {
			if got := (seen{c.Lease, c.Slot, c.Pending, c.Oldest}); got != want[c.Name] {
				t.Errorf("%s: %+v, want %+v", c.Name, got, want[c.Name])
			}
			if (c.Lease == redis.LeaseHeld) != c.Until.After(now) {
				t.Errorf("%s counts as alive until %v; it is %v", c.Name, c.Until, now)
			}
			delete(want, c.Name)
		}
		// Redis 7.0 makes no consumer of a name that was given nothing.
		if delete(want, "idle-0.cccc"); len(want) > 0 {
			t.Errorf("not listed: %v", want)
		}
	})
}

func TestConsumersOfAGroupThatIsAbsent(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		_, _, err := b.Consumers(t.Context(), stream, group)
		wantKind(t, err, broker.ErrNoGroup, "")
		_, err = b.PruneConsumers(t.Context(), stream, group, []string{"a"}, 0)
		wantKind(t, err, broker.ErrNoGroup, "")
		fill(t, b, 1)
		_, _, err = b.Consumers(t.Context(), stream, "other")
		wantKind(t, err, broker.ErrNoGroup, "")
	})
}

// Only a consumer that holds nothing, has no process and has been idle goes.
func TestPruneKeepsWhoHoldsAndWhoLives(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		fill(t, b, 3)
		leased, _ := slotted(t, b, "aaaa", time.Minute)
		gone, release := slotted(t, b, "bbbb", time.Minute)
		release()
		for _, name := range []string{leased, gone, "stranger"} {
			s.CLI("XGROUP", "CREATECONSUMER", stream, group, name)
		}
		read(t, b, "holds", 2)
		names := []string{leased, gone, "stranger", "holds", "never"}
		statuses := func(idle time.Duration) (out []redis.PruneStatus) {
			t.Helper()
			result, err := b.PruneConsumers(t.Context(), stream, group, names, idle)
			if err != nil {
				t.Fatal(err)
			}
			for i, r := range result {
				out = append(out, r.Status)
				if r.Status == redis.PruneHolds && (names[i] != "holds" || r.Holds != 2) {
					t.Errorf("%s holds %d", names[i], r.Holds)
				}
			}
			return out
		}
		want := []redis.PruneStatus{redis.PruneAlive, redis.PruneSeen, redis.PruneSeen, redis.PruneHolds, redis.PruneAbsent}
		if got := statuses(time.Hour); !slices.Equal(got, want) {
			t.Errorf("within an hour %v, want %v", got, want)
		}
		want = []redis.PruneStatus{redis.PruneAlive, redis.Pruned, redis.Pruned, redis.PruneHolds, redis.PruneAbsent}
		if got := statuses(0); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		list, _, err := b.Consumers(t.Context(), stream, group)
		if err != nil || len(list) != 2 {
			t.Errorf("%+v, %v", list, err)
		}
		pending, err := b.Pending(t.Context(), stream, group, "", broker.ID{}, 10)
		if err != nil || len(pending) != 2 {
			t.Errorf("%d are pending, %v", len(pending), err)
		}
	})
}

// A worker that holds its lease and has not announced itself yet, or the other way
// round, lives all the same.
func TestEitherSignOfLifeKeepsAConsumer(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		fill(t, b, 1)
		beside := redis.KeysBeside(stream, group)
		for name, kill := range map[string]string{"only the lease": beside.Alive, "only announced": beside.Lease("post-host", 0)} {
			consumer, release := slotted(t, b, "aaaa", time.Minute)
			s.CLI("XGROUP", "CREATECONSUMER", stream, group, consumer)
			s.CLI("DEL", kill)
			got, err := b.PruneConsumers(t.Context(), stream, group, []string{consumer}, 0)
			if err != nil || got[0].Status != redis.PruneAlive {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
			release()
		}
	})
}

// A login that may not remove consumers removes none and is told the rule.
func TestPruneWithoutTheRight(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version, redistest.Config("user", "lacks", "on", ">secret", "~*", "&*", "+@all", "-xgroup|delconsumer"))
			b := openWith(t, redis.Options{URL: "redis://lacks:secret@" + s.Addr})
			fill(t, b, 1)
			s.CLI("XGROUP", "CREATECONSUMER", stream, group, "a")
			_, err := b.PruneConsumers(t.Context(), stream, group, []string{"a"}, 0)
			wantKind(t, err, broker.ErrNoPermission, "+xgroup|delconsumer")
		})
	}
}
