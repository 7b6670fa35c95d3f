package redis_test

import (
	"slices"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

func TestTakeOver(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 5)
		read(t, b, "old", 4)
		s.Client().XDel(t.Context(), stream, ids[2].String())
		settle(t, b, &broker.Settlement{Owner: owner("old"), Acks: ids[3:4]})
		for round, from := range []string{"old", "new"} { // the second time from itself
			took, err := b.TakeOver(t.Context(), owner("new"), from, ids)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(idsOf(took.Deliveries), ids[:2]) {
				t.Fatalf("took over %v", took)
			}
			for _, d := range took.Deliveries {
				if d.Deliveries != int64(round+1) || len(d.Fields) != 1 {
					t.Errorf("came as %v", d)
				}
			}
			if gone := took.Deleted; round == 0 && !slices.Equal(gone, ids[2:3]) || round == 1 && len(gone) > 0 {
				t.Errorf("deleted %v", gone)
			}
		}
		left := pendingOf(t, b)
		if len(left) != 2 || left[ids[0]].Consumer != "new" || left[ids[0]].Deliveries != 3 {
			t.Errorf("pending %v", left)
		}
		if took, err := b.TakeOver(t.Context(), owner("third"), "old", ids); err != nil || len(took.Deliveries)+len(took.Deleted) > 0 {
			t.Errorf("robbed a live consumer: %v, %v", took, err)
		}
		if took, err := b.TakeOver(t.Context(), owner("third"), "old", nil); err != nil || len(took.Deliveries) > 0 {
			t.Errorf("nothing brought %v, %v", took, err)
		}
	})
}

func TestAutoClaim(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 30)
		read(t, b, "gone", 30)
		if err := b.Release(t.Context(), owner("gone"), ids[:20], 48*time.Hour); err != nil {
			t.Fatal(err)
		}
		s.Client().XDel(t.Context(), stream, ids[7].String())
		var got []broker.Delivery
		var deleted []broker.ID
		request := broker.AutoClaimRequest{Owner: owner("c"), MinIdle: time.Hour, Count: 5}
		for pages := 0; ; pages++ {
			page, err := b.AutoClaim(t.Context(), request)
			if err != nil || pages > 30 {
				t.Fatal(pages, err)
			}
			got = append(got, page.Deliveries...)
			deleted = append(deleted, page.Deleted...)
			if request.Start = page.Next; page.Next.IsZero() {
				break
			}
		}
		want := slices.Delete(slices.Clone(ids[:20]), 7, 8)
		if !slices.Equal(idsOf(got), want) || !slices.Equal(deleted, ids[7:8]) {
			t.Errorf("claimed %v, deleted %v", idsOf(got), deleted)
		}
		for _, d := range got {
			if d.Deliveries != 0 || len(d.Fields) != 1 {
				t.Errorf("came as %v", d)
			}
		}
	})
}

// The counts are asked for in pages of the consumer's own list, which may hold
// more than what was just claimed.
func TestAutoClaimCountsAmongOthers(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 50)
		read(t, b, "gone", 50)
		if _, err := b.TakeOver(t.Context(), owner("c"), "gone", ids[1:49]); err != nil {
			t.Fatal(err)
		}
		if err := b.Release(t.Context(), owner("gone"), []broker.ID{ids[0], ids[49]}, 48*time.Hour); err != nil {
			t.Fatal(err)
		}
		page, err := b.AutoClaim(t.Context(), broker.AutoClaimRequest{Owner: owner("c"), MinIdle: time.Hour, Count: 10})
		if err != nil {
			t.Fatal(err)
		}
		if !page.Next.IsZero() {
			next, err := b.AutoClaim(t.Context(), broker.AutoClaimRequest{Owner: owner("c"), MinIdle: time.Hour, Count: 10, Start: page.Next})
			if err != nil {
				t.Fatal(err)
			}
			page.Deliveries = append(page.Deliveries, next.Deliveries...)
		}
		if !slices.Equal(idsOf(page.Deliveries), []broker.ID{ids[0], ids[49]}) {
			t.Fatalf("claimed %v", page)
		}
		for _, d := range page.Deliveries {
			if d.Deliveries != 0 {
				t.Errorf("came as %v", d)
			}
		}
	})
}

func TestJanitorDropsOnlyWhatHasNoBody(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 10)
		read(t, b, "c", 10)
		if err := b.Release(t.Context(), owner("c"), ids, 48*time.Hour); err != nil {
			t.Fatal(err)
		}
		s.Client().XDel(t.Context(), stream, ids[3].String(), ids[8].String())
		page, err := b.AutoClaim(t.Context(), broker.AutoClaimRequest{Owner: owner("janitor"), Count: 100, JustDeleted: true})
		if err != nil || !slices.Equal(page.Deleted, []broker.ID{ids[3], ids[8]}) || len(page.Deliveries) > 0 {
			t.Errorf("%v, %v", page, err)
		}
		left := pendingOf(t, b)
		if len(left) != 8 || left[ids[0]].Consumer != "c" || left[ids[0]].Deliveries != 0 {
			t.Errorf("pending %v", left)
		}
	})
}

func TestRenew(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 700)
		read(t, b, "c", 699)
		s.Client().XDel(t.Context(), stream, ids[10].String())
		if _, err := b.TakeOver(t.Context(), owner("d"), "c", ids[20:21]); err != nil {
			t.Fatal(err)
		}
		settle(t, b, &broker.Settlement{Owner: owner("c"), Acks: ids[30:31]})
		if err := b.Release(t.Context(), owner("c"), ids[600:601], 48*time.Hour); err != nil {
			t.Fatal(err)
		}
		held, err := b.Renew(t.Context(), owner("c"), ids)
		if err != nil || len(held) != 700 {
			t.Fatal(len(held), err)
		}
		for i, h := range held {
			want := broker.Held
			switch i {
			case 10:
				want = broker.BodyGone
			case 20, 30, 699:
				want = broker.HeldByOther
			}
			if h != want {
				t.Errorf("entry %d: %v, want %v", i, h, want)
			}
		}
		left := pendingOf(t, b)
		if len(left) != 697 || left[ids[20]].Consumer != "d" || left[ids[600]].Idle > time.Minute || left[ids[600]].Deliveries != 0 || left[ids[0]].Deliveries != 1 {
			t.Errorf("%d pending: %v, %v", len(left), left[ids[20]], left[ids[600]])
		}
		if held, err := b.Renew(t.Context(), owner("c"), nil); err != nil || len(held) > 0 {
			t.Error(held, err)
		}
	})
}

func TestReleaseIsFenced(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 2)
		read(t, b, "old", 2)
		if _, err := b.TakeOver(t.Context(), owner("new"), "old", ids[:1]); err != nil {
			t.Fatal(err)
		}
		if err := b.Release(t.Context(), owner("old"), ids, 48*time.Hour); err != nil {
			t.Fatal(err)
		}
		left := pendingOf(t, b)
		if left[ids[0]].Consumer != "new" || left[ids[0]].Idle > time.Minute || left[ids[1]].Deliveries != 0 || left[ids[1]].Idle < time.Hour {
			t.Errorf("pending %v", left)
		}
	})
}

func TestWaitsAgeTheEntry(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 5)
		read(t, b, "c", 5)
		settle(t, b, &broker.Settlement{Owner: owner("c"), Waits: []broker.Wait{
			{ID: ids[0], Timed: true, After: time.Minute, MinIdle: time.Hour},
			{ID: ids[1], Timed: true, After: 2 * time.Hour, MinIdle: time.Hour},
			{ID: ids[2], MinIdle: time.Hour},
			{ID: ids[3], MinIdle: time.Hour, Timed: true, Uncount: true},
			{ID: ids[4], Timed: true, After: time.Minute},
		}})
		left := pendingOf(t, b)
		for i, want := range []time.Duration{59 * time.Minute, 0, 0, time.Hour, 0} {
			if idle := left[ids[i]].Idle; idle < want || idle > want+soon {
				t.Errorf("entry %d is idle for %v, want %v", i, idle, want)
			}
		}
		if left[ids[0]].Deliveries != 1 || left[ids[3]].Deliveries != 0 {
			t.Errorf("deliveries %v", left)
		}
		records, err := b.Records(t.Context(), stream, group, ids)
		if err != nil || records[2] != (broker.Record{}) || records[0].Due.Sub(records[0].At) != time.Minute {
			t.Errorf("records %+v, %v", records, err)
		}
	})
}

func TestAdmit(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 7)
		read(t, b, "c", 6)
		settle(t, b, &broker.Settlement{Owner: owner("c"), Waits: []broker.Wait{
			{ID: ids[1], Timed: true, After: time.Hour, MinIdle: 2 * time.Hour, Error: "later"},
			{ID: ids[2], Asked: true},
		}})
		if _, err := b.TakeOver(t.Context(), owner("d"), "c", ids[3:4]); err != nil {
			t.Fatal(err)
		}
		admit := func(entries ...broker.Redelivery) []broker.Admission {
			t.Helper()
			got, err := b.Admit(t.Context(), broker.AdmitRequest{Owner: owner("c"), MinIdle: 2 * time.Hour, MaxAttempts: 4, Entries: entries})
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		first := admit(
			broker.Redelivery{ID: ids[0], Deliveries: 1}, broker.Redelivery{ID: ids[1], Deliveries: 1}, broker.Redelivery{ID: ids[2], Deliveries: 2},
			broker.Redelivery{ID: ids[3], Deliveries: 1}, broker.Redelivery{ID: ids[4], Deliveries: 90}, broker.Redelivery{ID: ids[6], Deliveries: 1})
		for i, want := range []broker.Verdict{broker.Run, broker.NotDue, broker.Run, broker.Lost, broker.Run, broker.Lost} {
			if first[i].Verdict != want {
				t.Errorf("verdict %d is %v, want %v", i, first[i].Verdict, want)
			}
		}
		if r := first[1].Remaining; r <= time.Hour-soon || r > time.Hour || first[1].Record.Error != "later" {
			t.Errorf("not due: %+v", first[1])
		}
		if p := pendingOf(t, b)[ids[1]]; p.Idle < time.Hour || p.Idle > time.Hour+soon || p.Deliveries != 0 {
			t.Errorf("put back as %+v", p)
		}
		if first[2].Record.Starts != 0 || first[2].Record.Asked != 1 {
			t.Errorf("record as it was: %+v", first[2].Record)
		}
		// Entry 4 was never seen to fail: its starts count from now on, until it has used up 4 attempts.
		for starts, want := range []broker.Verdict{broker.Run, broker.Run, broker.Exhausted} {
			if got := admit(broker.Redelivery{ID: ids[4], Deliveries: 91})[0]; got.Verdict != want || got.Record.Starts != int64(starts) {
				t.Errorf("entry 4: %+v, want %v", got, want)
			}
			for range 3 { // the first two deliveries are not recorded, and a start of one delivery once
				if _, err := b.TakeOver(t.Context(), owner("c"), "c", ids[4:5]); err != nil {
					t.Fatal(err)
				}
			}
			for range 2 {
				if held, err := b.Begin(t.Context(), owner("c"), ids[4:5]); err != nil || held[0] != broker.Held {
					t.Fatal(held, err)
				}
			}
		}
		records, err := b.Records(t.Context(), stream, group, []broker.ID{ids[0], ids[2], ids[4]})
		if err != nil || records[0] != (broker.Record{}) || records[1].Starts != 0 || records[1].Asked != 1 || records[1].By != "c" || records[2].Starts != 3 {
			t.Errorf("records %+v, %v", records, err)
		}
	})
}

func TestRemoveConsumer(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 1)
		read(t, b, "c", 1)
		for _, want := range []bool{false, true, true} {
			if gone, err := b.RemoveConsumer(t.Context(), owner("c")); err != nil || gone != want {
				t.Errorf("gone: %v, %v; want %v", gone, err, want)
			}
			settle(t, b, &broker.Settlement{Owner: owner("c"), Acks: ids})
		}
		_, err := b.RemoveConsumer(t.Context(), broker.Owner{Stream: stream, Group: "none", Consumer: "c"})
		wantKind(t, err, broker.ErrNoGroup, "remove consumer c of payments/none")
	})
}
