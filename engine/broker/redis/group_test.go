package redis_test

import (
	"fmt"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

func TestCreateGroup(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		create := func(group, start string, want bool) {
			t.Helper()
			if created, err := b.CreateGroup(t.Context(), stream, group, start); err != nil || created != want {
				t.Fatalf("created %v, %v; want %v", created, err, want)
			}
		}
		create(group, "$", true) // and the stream with it
		ids, err := b.Add(t.Context(), []broker.Add{message(stream, field("a", "1")), message(stream, field("a", "2"))})
		if err != nil {
			t.Fatal(err)
		}
		create(group, "$", false)
		create("new", "$", true)
		create("all", "0", true)
		create("some", ids[0].String(), true)
		groups, err := b.GroupInfos(t.Context(), stream)
		if err != nil || len(groups) != 4 {
			t.Fatal(groups, err)
		}
		at := map[string]broker.ID{}
		for _, g := range groups {
			at[g.Name] = g.LastDelivered
		}
		if at[group] != (broker.ID{}) || at["new"] != ids[1] || at["all"] != (broker.ID{}) || at["some"] != ids[0] {
			t.Errorf("groups at %v", at)
		}
		_, err = b.CreateGroup(t.Context(), stream, "bad", "yesterday")
		wantKind(t, err, nil, "create group payments/bad", "yesterday")
	})
}

func TestLostGroupIsRestoredAtItsFloor(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		restore := func(want broker.ID) {
			t.Helper()
			s.Client().XGroupDestroy(t.Context(), stream, group)
			if at, restored, err := b.RestoreGroup(t.Context(), stream, group); err != nil || !restored || at != want {
				t.Fatalf("restored %v at %v, %v; want %v", restored, at, err, want)
			}
		}
		save := func() {
			t.Helper()
			if err := b.SaveFloor(t.Context(), stream, group); err != nil {
				t.Fatal(err)
			}
		}
		ids := fill(t, b, 6)
		restore(broker.ID{}) // the start is a floor
		read(t, b, "c", 4)
		settle(t, b, &broker.Settlement{Owner: owner("c"), Acks: ids[:2]})
		save()
		restore(ids[2].Prev())
		read(t, b, "c", 1)
		settle(t, b, &broker.Settlement{Owner: owner("c"), Acks: ids[2:3]})
		save()
		if at, restored, err := b.RestoreGroup(t.Context(), stream, group); err != nil || restored {
			t.Fatal("a living group was restored", at, err)
		}
		// A position set back by hand does not take the floor with it.
		s.Client().XGroupSetID(t.Context(), stream, group, "0")
		save()
		restore(ids[2])
		// The start asked for does not count: what was not read must not be skipped.
		s.Client().XGroupDestroy(t.Context(), stream, group)
		if created, err := b.CreateGroup(t.Context(), stream, group, "$"); err != nil || !created {
			t.Fatal(created, err)
		}
		if d := read(t, b, "c", 10); len(d) != 3 || d[0].ID != ids[3] {
			t.Errorf("after the loss: %v", d)
		}
		settle(t, b, &broker.Settlement{Owner: owner("c"), Acks: ids[3:]})
		save()
		restore(ids[5])
		// A stream that begins anew is behind the floor.
		s.Client().Del(t.Context(), stream)
		s.Client().XAdd(t.Context(), &goredisXAddArgs{Stream: stream, ID: "1-1", Values: []string{"a", "b"}})
		restore(broker.ID{})
		if d := read(t, b, "c", 10); len(d) != 1 {
			t.Errorf("after the stream was lost: %v", d)
		}
		if _, restored, err := b.RestoreGroup(t.Context(), "absent", group); err != nil || !restored {
			t.Error("an absent stream", restored, err)
		}
		wantKind(t, b.SaveFloor(t.Context(), "nothing", group), broker.ErrNoGroup)
	})
}

func TestSaveFloorSweepsRecords(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		const n = 1000
		ids := fill(t, b, n)
		read(t, b, "c", n)
		waits := &broker.Settlement{Owner: owner("c")}
		for _, id := range ids {
			waits.Waits = append(waits.Waits, broker.Wait{ID: id, Error: "again"})
		}
		settle(t, b, waits)
		settle(t, b, &broker.Settlement{Owner: owner("c"), Acks: ids[:n-10]}) // their records are left, as by a crash
		key := fmt.Sprintf("{%s}:pipeline:%s:records", stream, group)
		size := func() int64 { return s.Client().HLen(t.Context(), key).Val() }
		for i := 0; size() > 10 && i < n; i++ {
			if err := b.SaveFloor(t.Context(), stream, group); err != nil {
				t.Fatal(err)
			}
		}
		if size() != 10 {
			t.Fatalf("%d records left", size())
		}
		settle(t, b, &broker.Settlement{Owner: owner("c"), Acks: ids})
		if err := b.SaveFloor(t.Context(), stream, group); err != nil || size() != 0 {
			t.Errorf("%d records left, %v", size(), err)
		}
	})
}

func TestSlots(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		request := func(token string) broker.SlotRequest {
			return broker.SlotRequest{Stream: stream, Group: group, Base: "post-host", Token: token, TTL: time.Minute, MinIdle: 30 * time.Second}
		}
		for n := range 20 {
			for range 2 { // the second time its answer was lost
				if slot, err := b.AcquireSlot(t.Context(), request(fmt.Sprint("token", n))); err != nil || slot != n {
					t.Fatalf("slot %d, %v; want %d", slot, err, n)
				}
			}
		}
		if value := s.Client().Get(t.Context(), "{payments}:pipeline:ledger:slot:post-host-3").Val(); value != "token3 30000" {
			t.Errorf("the lease says %q", value)
		}
		held := func(token string, slot int, want bool) {
			t.Helper()
			if held, err := b.RenewSlot(t.Context(), request(token), slot); err != nil || held.Held != want {
				t.Errorf("token %s holds slot %d: %v, %v", token, slot, held, err)
			}
		}
		held("token3", 3, true)
		held("token", 3, false) // a prefix is another token
		held("token4", 3, false)
		if err := b.ReleaseSlot(t.Context(), request("token4"), 3); err != nil {
			t.Fatal(err)
		}
		held("token3", 3, true)
		if err := b.ReleaseSlot(t.Context(), request("token3"), 3); err != nil {
			t.Fatal(err)
		}
		if slot, err := b.AcquireSlot(t.Context(), request("late")); err != nil || slot != 3 {
			t.Errorf("slot %d, %v", slot, err)
		}
		held("token3", 3, false)
		s.Client().Del(t.Context(), "{payments}:pipeline:ledger:slot:post-host-3") // it ran out
		held("late", 3, true)
		if value := s.Client().Get(t.Context(), "{payments}:pipeline:ledger:slot:post-host-3").Val(); value != "late 30000" {
			t.Errorf("the lease that was taken back says %q", value)
		}
		if ttl := s.Client().PTTL(t.Context(), "{payments}:pipeline:ledger:slot:post-host-3").Val(); ttl <= 0 || ttl > time.Minute {
			t.Errorf("the lease ends in %v", ttl)
		}
		_, err := b.AcquireSlot(t.Context(), broker.SlotRequest{Stream: stream, Group: group, Base: "x"})
		wantKind(t, err, nil, "acquire slot payments/ledger")
	})
}

func TestTrim(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		trim := func(r broker.TrimRequest) int64 {
			t.Helper()
			var sum int64
			r.Stream = stream
			for {
				n, err := b.Trim(t.Context(), r)
				if err != nil {
					t.Fatal(err)
				}
				if sum += n; n == 0 {
					return sum
				}
			}
		}
		if n := trim(broker.TrimRequest{MaxLen: 1, Protect: true}); n != 0 {
			t.Error("an absent stream lost", n)
		}
		ids := fill(t, b, 1000)
		if _, err := b.CreateGroup(t.Context(), stream, "slow", "0"); err != nil {
			t.Fatal(err)
		}
		read(t, b, "c", 1000)
		settle(t, b, &broker.Settlement{Owner: owner("c"), Acks: ids})
		if n := trim(broker.TrimRequest{MaxLen: 100, Protect: true}); n != 0 {
			t.Errorf("%d entries went that a group never read", n)
		}
		slow := broker.Owner{Stream: stream, Group: "slow", Consumer: "s"}
		if _, err := b.Read(t.Context(), broker.ReadRequest{Owner: slow, Count: 600}); err != nil {
			t.Fatal(err)
		}
		settle(t, b, &broker.Settlement{Owner: slow, Acks: append(ids[:500:500], ids[501:600]...)})
		trim(broker.TrimRequest{MaxLen: 700, Protect: true})
		if n := lengthOf(t, b, stream); n != 700 {
			t.Errorf("length %d, want 700", n)
		}
		trim(broker.TrimRequest{MaxLen: 1, MinID: ids[450], Protect: true})
		left, err := b.Range(t.Context(), stream, broker.ID{}, broker.MaxID, 10000)
		if err != nil || left[0].ID != ids[500] || len(left) > 500 || left[len(left)-1].ID != ids[999] {
			t.Errorf("%d left, from %v, %v", len(left), left[0].ID, err)
		}
		if n := trim(broker.TrimRequest{MinID: ids[990]}); n != int64(len(left))-10 {
			t.Errorf("%d entries went", n)
		}
		if n := trim(broker.TrimRequest{MaxLen: 3}); n != 7 || lengthOf(t, b, stream) != 3 {
			t.Errorf("%d entries went, %d left", n, lengthOf(t, b, stream))
		}
		if n := trim(broker.TrimRequest{}); n != 0 {
			t.Error("no bound removed", n)
		}
	})
}

func TestInspect(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		if info, err := b.StreamInfo(t.Context(), "absent"); err != nil || info != (broker.StreamInfo{}) {
			t.Error(info, err)
		}
		if groups, err := b.GroupInfos(t.Context(), "absent"); err != nil || len(groups) > 0 {
			t.Error(groups, err)
		}
		_, err := b.ConsumerInfos(t.Context(), "absent", group)
		wantKind(t, err, broker.ErrNoGroup)
		ids := fill(t, b, 5)
		_, err = b.ConsumerInfos(t.Context(), stream, "none")
		wantKind(t, err, broker.ErrNoGroup, "payments/none")
		read(t, b, "c", 3)
		if info, err := b.StreamInfo(t.Context(), stream); err != nil || info != (broker.StreamInfo{Length: 5, FirstID: ids[0], LastID: ids[4], Groups: 1}) {
			t.Errorf("%+v, %v", info, err)
		}
		want := broker.GroupInfo{Name: group, Consumers: 1, Pending: 3, LastDelivered: ids[2], Lag: 2, LagKnown: true}
		if groups, err := b.GroupInfos(t.Context(), stream); err != nil || len(groups) != 1 || groups[0] != want {
			t.Errorf("%+v, %v", groups, err)
		}
		s.Client().XDel(t.Context(), stream, ids[3].String())
		if groups, err := b.GroupInfos(t.Context(), stream); err != nil || groups[0].LagKnown {
			t.Errorf("%+v, %v", groups, err)
		}
		if consumers, err := b.ConsumerInfos(t.Context(), stream, group); err != nil || len(consumers) != 1 || consumers[0].Name != "c" || consumers[0].Pending != 3 {
			t.Errorf("%+v, %v", consumers, err)
		}
		page, err := b.Pending(t.Context(), stream, group, "c", ids[0], 1)
		if err != nil || len(page) != 1 || page[0].ID != ids[1] || page[0].Deliveries != 1 || page[0].Consumer != "c" {
			t.Errorf("%+v, %v", page, err)
		}
		if page, err := b.Pending(t.Context(), stream, group, "", broker.MaxID, 1); err != nil || len(page) > 0 {
			t.Errorf("%+v, %v", page, err)
		}
	})
}

func TestTrimOfLargeBodies(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		big := string(make([]byte, 200_000))
		if _, err := b.CreateGroup(t.Context(), stream, group, "0"); err != nil {
			t.Fatal(err)
		}
		var adds []broker.Add
		for i := range 40 {
			value := "small"
			if i > 10 {
				value = big
			}
			adds = append(adds, message(stream, field("a", value)))
		}
		if _, err := b.Add(t.Context(), adds); err != nil {
			t.Fatal(err)
		}
		settle(t, b, &broker.Settlement{Owner: owner("c"), Acks: idsOf(read(t, b, "c", 40))})
		steps, left := 0, int64(40)
		for ; ; steps++ {
			n, err := b.Trim(t.Context(), broker.TrimRequest{Stream: stream, MaxLen: 5, Protect: true})
			if err != nil {
				t.Fatal(err)
			}
			if left -= n; n == 0 {
				break
			}
		}
		if left != 5 || lengthOf(t, b, stream) != 5 || steps < 3 {
			t.Errorf("%d left after %d steps", left, steps)
		}
	})
}
