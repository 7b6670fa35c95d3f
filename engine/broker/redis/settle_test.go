package redis_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

const replies = "payments.screened"

func reply(id broker.ID) broker.Step {
	return broker.Step{ID: id, Publish: []broker.Add{message(replies, field("_payload", "reply to "+id.String()))}}
}

func TestSettleAcknowledgesPublishesAndWaits(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 6)
		read(t, b, "c", 10)
		r := settle(t, b, &broker.Settlement{
			Owner: owner("c"),
			Acks:  ids[:2],
			Steps: []broker.Step{reply(ids[2]), {ID: ids[3]}},
			Waits: []broker.Wait{{ID: ids[4], Timed: true, After: time.Hour, Asked: true, Error: "locked\x00\xff"}},
		})
		if r.Steps[0].Status != broker.Done || r.Steps[1].Status != broker.Done || r.Waits[0] != broker.Done {
			t.Fatalf("%+v", r)
		}
		left := pendingOf(t, b)
		if len(left) != 2 || left[ids[4]].Deliveries != 1 || left[ids[5]].Deliveries != 1 {
			t.Errorf("left pending: %v", left)
		}
		out, err := b.Range(t.Context(), replies, broker.ID{}, broker.MaxID, 10)
		if err != nil || len(out) != 1 || out[0].Fields[0].Value != "reply to "+ids[2].String() {
			t.Errorf("replies: %v, %v", out, err)
		}
		records, err := b.Records(t.Context(), stream, group, ids[3:5])
		if err != nil || records[0] != (broker.Record{}) {
			t.Fatalf("records: %+v, %v", records, err)
		}
		record := records[1]
		if record.Asked != 1 || record.Starts != 0 || record.Error != "locked\x00\xff" || record.By != "c" ||
			record.Due.Sub(record.At) != time.Hour {
			t.Errorf("record: %+v", record)
		}
	})
}

func TestSettleTwiceWritesOnce(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 600)
		read(t, b, "c", 1000)
		settlement := &broker.Settlement{Owner: owner("c")}
		for _, id := range ids {
			settlement.Steps = append(settlement.Steps, reply(id))
		}
		for round, want := range []broker.Status{broker.Done, broker.NotOwned} {
			for i, r := range settle(t, b, settlement).Steps {
				if r.Status != want || r.Err != nil {
					t.Fatalf("round %d, step %d: %+v", round, i, r)
				}
			}
		}
		if n := lengthOf(t, b, replies); n != 600 {
			t.Errorf("%d replies", n)
		}
		if n := len(pendingOf(t, b)); n != 0 {
			t.Errorf("%d still pending", n)
		}
	})
}

func TestSettleDoesAnEntryOnce(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 3)
		read(t, b, "c", 3)
		r := settle(t, b, &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{
			reply(ids[0]), reply(ids[0]), reply(ids[2]), {ID: ids[2]}, reply(ids[1]), // not even sorted
		}})
		for i, want := range []broker.Status{broker.Done, broker.NotOwned, broker.Done, broker.NotOwned, broker.Done} {
			if r.Steps[i].Status != want {
				t.Errorf("step %d: %+v", i, r.Steps[i])
			}
		}
		if n := lengthOf(t, b, replies); n != 3 {
			t.Errorf("%d replies", n)
		}
	})
}

func TestSettleIsFenced(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 4)
		read(t, b, "old", 10)
		took, err := b.TakeOver(t.Context(), owner("new"), "old", ids[1:3])
		if err != nil || len(took.Deliveries) != 2 {
			t.Fatal(took, err)
		}
		r := settle(t, b, &broker.Settlement{
			Owner: owner("old"),
			Steps: []broker.Step{reply(ids[0]), reply(ids[1]), reply(ids[3])},
			Waits: []broker.Wait{{ID: ids[2], Timed: true, After: time.Hour, Error: "late"}},
		})
		got := []broker.Status{r.Steps[0].Status, r.Steps[1].Status, r.Steps[2].Status, r.Waits[0]}
		want := []broker.Status{broker.Done, broker.NotOwned, broker.Done, broker.NotOwned}
		if !slices.Equal(got, want) {
			t.Errorf("statuses %v, want %v", got, want)
		}
		if n := lengthOf(t, b, replies); n != 2 {
			t.Errorf("%d replies", n)
		}
		left := pendingOf(t, b)
		if len(left) != 2 || left[ids[1]].Consumer != "new" || left[ids[2]].Consumer != "new" {
			t.Errorf("pending: %v", left)
		}
		if r, err := b.Records(t.Context(), stream, group, ids[2:3]); err != nil || r[0] != (broker.Record{}) {
			t.Errorf("a stalled owner wrote the record %+v, %v", r, err)
		}
	})
}

// The page by which a script sees what it owns can be full of other entries.
func TestSettleAmongManyOthers(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 1000)
		read(t, b, "c", 1000)
		few := []broker.ID{ids[0], ids[400], ids[999]}
		settlement := &broker.Settlement{Owner: owner("c")}
		for _, id := range few {
			settlement.Steps = append(settlement.Steps, reply(id))
		}
		for i, r := range settle(t, b, settlement).Steps {
			if r.Status != broker.Done {
				t.Errorf("step %d: %+v", i, r)
			}
		}
		waits := &broker.Settlement{Owner: owner("c"), Waits: []broker.Wait{{ID: ids[998]}, {ID: ids[1]}, {ID: ids[500]}}}
		for i, status := range settle(t, b, waits).Waits {
			if status != broker.Done {
				t.Errorf("wait %d: %v", i, status)
			}
		}
		held, err := b.Renew(t.Context(), owner("c"), []broker.ID{ids[998], ids[0], ids[2]})
		if err != nil || !slices.Equal(held, []broker.Holding{broker.Held, broker.HeldByOther, broker.Held}) {
			t.Errorf("renewed: %v, %v", held, err)
		}
		if err := b.Release(t.Context(), owner("c"), []broker.ID{ids[998], ids[3]}, 48*time.Hour); err != nil {
			t.Error(err)
		}
		took, err := b.TakeOver(t.Context(), owner("d"), "c", []broker.ID{ids[997], ids[0], ids[4]})
		if err != nil || !slices.Equal(idsOf(took.Deliveries), []broker.ID{ids[997], ids[4]}) && !slices.Equal(idsOf(took.Deliveries), []broker.ID{ids[4], ids[997]}) {
			t.Errorf("took over %v, %v", took, err)
		}
		left := pendingOf(t, b)
		if len(left) != 997 || left[ids[998]].Deliveries != 0 || left[ids[998]].Idle < time.Hour || left[ids[4]].Consumer != "d" {
			t.Errorf("%d pending, %v, %v", len(left), left[ids[998]], left[ids[4]])
		}
	})
}

func TestSettleRefusedAndTorn(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 5)
		read(t, b, "c", 10)
		s.Client().Set(t.Context(), "text", "x", 0)
		s.Client().XAdd(t.Context(), maxedOut("full"))
		two := func(id broker.ID, first, second string) broker.Step {
			return broker.Step{ID: id, Publish: []broker.Add{message(first, field("a", "1")), message(second, field("a", "2"))}}
		}
		r := settle(t, b, &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{
			two(ids[0], "text", replies), two(ids[1], replies, "text"), two(ids[2], replies, "full"), two(ids[3], "full", replies), two(ids[4], replies, replies),
		}})
		want := []broker.Status{broker.Refused, broker.Refused, broker.Torn, broker.Refused, broker.Done}
		for i := range want {
			if r.Steps[i].Status != want[i] || (r.Steps[i].Err == nil) != (want[i] == broker.Done) {
				t.Errorf("step %d: %+v", i, r.Steps[i])
			}
		}
		wantKind(t, r.Steps[0].Err, broker.ErrWrongType, "publish text", "string")
		wantKind(t, r.Steps[1].Err, broker.ErrWrongType, "publish text")
		if e, ok := errors.AsType[*broker.Error](r.Steps[2].Err); !ok || e.Stream != "full" {
			t.Errorf("torn: %v", r.Steps[2].Err)
		}
		left := pendingOf(t, b)
		if len(left) != 3 || lengthOf(t, b, replies) != 3 {
			t.Errorf("pending %v, %d replies", left, lengthOf(t, b, replies))
		}
	})
}

// maxedOut makes a stream that takes no more entries: its last id is the
// highest there is.
func maxedOut(key string) *goredisXAddArgs {
	return &goredisXAddArgs{Stream: key, ID: broker.MaxID.String(), Values: []string{"a", "b"}}
}

func TestSettleUnderOutOfMemory(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			b := open(t, s)
			ids := fill(t, b, 6)
			read(t, b, "c", 10)
			if err := s.Client().ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
				t.Fatal(err)
			}
			r := settle(t, b, &broker.Settlement{
				Owner: owner("c"), Acks: ids[:1], Steps: []broker.Step{reply(ids[1]), reply(ids[2])},
				Waits: []broker.Wait{{ID: ids[3], Timed: true, After: time.Second, Error: "boom"}},
			})
			for _, step := range r.Steps {
				if step.Status != broker.Refused {
					t.Errorf("%+v", step)
				}
				wantKind(t, step.Err, broker.ErrOutOfMemory, "publish "+replies)
			}
			if r.Waits[0] != broker.Done {
				t.Errorf("the wait is %v", r.Waits[0])
			}
			if left := pendingOf(t, b); len(left) != 5 {
				t.Errorf("%d pending", len(left))
			}
			if r, err := b.Records(t.Context(), stream, group, ids[3:4]); err != nil || r[0].Error != "boom" {
				t.Errorf("record %+v, %v", r, err)
			}
			admitted, err := b.Admit(t.Context(), broker.AdmitRequest{Owner: owner("c"), MinIdle: time.Second, MaxAttempts: 5,
				Entries: []broker.Redelivery{{ID: ids[4], Deliveries: 2}}})
			if err != nil || admitted[0].Verdict != broker.Run {
				t.Errorf("admitted %+v, %v", admitted, err)
			}
			_, err = b.Add(t.Context(), []broker.Add{message(stream, field("a", "b"))})
			wantKind(t, err, broker.ErrOutOfMemory)
			if n, err := b.Add(t.Context(), []broker.Add{message(stream, field("a", "b")), message(stream, field("a", "b"))}); len(n) != 0 {
				t.Errorf("added %v", n)
			} else {
				wantKind(t, err, broker.ErrOutOfMemory, "add payments")
			}
			if _, err := b.Probe(t.Context()); err != nil {
				t.Errorf("probe: %v", err)
			}
		})
	}
}

// recorded writes a record for each entry.
func recorded(t *testing.T, b *redis.Broker, ids []broker.ID) {
	t.Helper()
	waits := &broker.Settlement{Owner: owner("c")}
	for _, id := range ids {
		waits.Waits = append(waits.Waits, broker.Wait{ID: id, Error: "again"})
	}
	settle(t, b, waits)
}

// wantRecords says of which entries there are records.
func wantRecords(t *testing.T, b *redis.Broker, ids []broker.ID, kept ...bool) {
	t.Helper()
	records, err := b.Records(t.Context(), stream, group, ids)
	if err != nil {
		t.Fatal(err)
	}
	for i := range ids {
		if (records[i].Error != "") != kept[i] {
			t.Errorf("record %d: %+v", i, records[i])
		}
	}
}

// TestSettleForgetsAll: what was claimed goes with its records, in whatever way it
// goes.
func TestSettleForgetsAll(t *testing.T) {
	everyVersion(t, func(t *testing.T, _ *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 5)
		read(t, b, "c", 10)
		recorded(t, b, ids)
		settle(t, b, &broker.Settlement{Owner: owner("c"), Acks: ids[:1], Forget: ids[:4], Steps: []broker.Step{
			reply(ids[1]), {ID: ids[2], Publish: []broker.Add{wideTo(replies)}}, reply(ids[3]),
		}})
		wantRecords(t, b, ids, false, false, false, false, true)
	})
}

func TestSettleForgets(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 4)
		read(t, b, "c", 10)
		recorded(t, b, ids)
		settle(t, b, &broker.Settlement{Owner: owner("c"), Acks: ids[:2], Steps: []broker.Step{reply(ids[2]), reply(ids[3])},
			Forget: []broker.ID{ids[0], ids[2]}})
		wantRecords(t, b, ids, false, true, false, true)
	})
}

func TestSettleWithMoreFieldsThanAScriptTakes(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 4)
		read(t, b, "c", 10)
		var fields []broker.Field
		for i := range 10_000 {
			fields = append(fields, field(fmt.Sprint(i), strings.Repeat("v", i%7)))
		}
		s.Client().Set(t.Context(), "text", "x", 0)
		wide := func(i int, to string) broker.Step {
			return broker.Step{ID: ids[i], Publish: []broker.Add{message(to, fields...)}}
		}
		settlement := &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{wide(0, replies), reply(ids[1]), wide(2, "text"), wide(3, replies)}}
		for _, want := range [][]broker.Status{
			{broker.Done, broker.Done, broker.Refused, broker.Done},
			{broker.NotOwned, broker.NotOwned, broker.Refused, broker.NotOwned},
		} {
			for i, r := range settle(t, b, settlement).Steps {
				if r.Status != want[i] {
					t.Errorf("step %d: %+v, want %v", i, r, want[i])
				}
			}
		}
		out, err := b.Range(t.Context(), replies, broker.ID{}, broker.MaxID, 10)
		if err != nil || len(out) != 3 {
			t.Fatalf("%d replies, %v", len(out), err)
		}
		wideOut := 0
		for _, e := range out {
			if slices.Equal(e.Fields, fields) {
				wideOut++
			}
		}
		if wideOut != 2 {
			t.Errorf("%d wide replies", wideOut)
		}
		if added, err := b.Add(t.Context(), []broker.Add{message("w", fields...), message("w", fields[:1]...), message("w", fields...)}); err != nil || len(added) != 3 {
			t.Errorf("added %v, %v", added, err)
		}
	})
}

func TestSettleInALostGroup(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 2)
		read(t, b, "c", 10)
		s.Client().XGroupDestroy(t.Context(), stream, group)
		_, err := b.Settle(t.Context(), &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{reply(ids[0])}})
		wantKind(t, err, broker.ErrNoGroup, "settle payments/ledger")
		if n := lengthOf(t, b, replies); n != 0 {
			t.Errorf("%d replies", n)
		}
		_, err = b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1})
		wantKind(t, err, broker.ErrNoGroup)
		_, err = b.Renew(t.Context(), owner("c"), ids)
		wantKind(t, err, broker.ErrNoGroup)
	})
}

// A server that was restarted, or whose scripts were flushed, knows none.
func TestScriptsAreLoadedAgain(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			b := open(t, s)
			ids := fill(t, b, 600)
			read(t, b, "c", 1000)
			for i := range 3 {
				if err := s.Client().ScriptFlush(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				settlement := &broker.Settlement{Owner: owner("c"), Acks: ids[:1], Waits: []broker.Wait{{ID: ids[599]}}}
				for _, id := range ids[1+i*100 : 101+i*100] {
					settlement.Steps = append(settlement.Steps, reply(id))
				}
				for _, r := range settle(t, b, settlement).Steps {
					if r.Status != broker.Done {
						t.Fatalf("%+v", r)
					}
				}
			}
			if n := lengthOf(t, b, replies); n != 300 {
				t.Errorf("%d replies", n)
			}
			s.Client().ScriptFlush(t.Context())
			if held, err := b.Renew(t.Context(), owner("c"), ids); err != nil || held[598] != broker.Held {
				t.Errorf("renew: %v", err)
			}
			s.Client().ScriptFlush(t.Context())
			if took, err := b.TakeOver(t.Context(), owner("d"), "c", ids); err != nil || len(took.Deliveries) != 299 {
				t.Errorf("took over %d, %v", len(took.Deliveries), err)
			}
		})
	}
}
