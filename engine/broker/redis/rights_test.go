package redis_test

import (
	"fmt"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// A user with exactly the documented rights can do everything.
func TestRightsSuffice(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			acl := []any{"ACL", "SETUSER", "worker", "on", ">pw", "-@all", "~" + stream, "~" + replies, "~{payments}:pipeline:*"}
			for _, command := range redis.Rights() {
				acl = append(acl, "+"+command)
			}
			if err := s.Client().Do(t.Context(), acl...).Err(); err != nil {
				t.Fatal(err)
			}
			b := openWith(t, redis.Options{URL: fmt.Sprintf("redis://worker:pw@%s", s.Addr)})
			ctx, o := t.Context(), owner("c")
			ok := func(what string, err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err := b.Probe(ctx)
			ok("probe", err)
			ids := fill(t, b, 10)
			_, err = b.Read(ctx, broker.ReadRequest{Owner: o, Count: 10, Block: 10 * time.Millisecond})
			ok("read", err)
			_, err = b.TakeOver(ctx, o, "c", ids)
			ok("take over", err)
			_, err = b.AutoClaim(ctx, broker.AutoClaimRequest{Owner: o, Count: 10})
			ok("claim", err)
			r := settle(t, b, &broker.Settlement{Owner: o, Acks: ids[:2], Forget: ids[:3], Steps: []broker.Step{reply(ids[2])},
				Waits: []broker.Wait{{ID: ids[3], Timed: true, After: time.Hour, Asked: true, Error: "x"}}})
			if r.Steps[0].Status != broker.Done || r.Waits[0] != broker.Done {
				t.Errorf("%+v", r)
			}
			_, err = b.Admit(ctx, broker.AdmitRequest{Owner: o, MaxAttempts: 5, Entries: []broker.Redelivery{{ID: ids[3], Deliveries: 1}, {ID: ids[4], Deliveries: 5}}})
			ok("admit", err)
			_, err = b.Renew(ctx, o, ids)
			ok("renew", err)
			ok("release", b.Release(ctx, o, ids))
			slot := broker.SlotRequest{Stream: stream, Group: group, Base: "x", Token: "t", TTL: time.Minute}
			_, err = b.AcquireSlot(ctx, slot)
			ok("acquire slot", err)
			_, err = b.AcquireSlot(ctx, slot)
			ok("acquire slot again", err)
			_, err = b.RenewSlot(ctx, slot, 0)
			ok("renew slot", err)
			ok("release slot", b.ReleaseSlot(ctx, slot, 0))
			ok("save floor", b.SaveFloor(ctx, stream, group))
			_, _, err = b.RestoreGroup(ctx, stream, group)
			ok("restore", err)
			for _, protect := range []bool{true, false} {
				_, err = b.Trim(ctx, broker.TrimRequest{Stream: stream, MaxLen: 8, MinID: ids[1], Protect: protect})
				ok("trim", err)
			}
			_, err = b.Records(ctx, stream, group, ids)
			ok("records", err)
			_, err = b.StreamInfo(ctx, stream)
			ok("stream info", err)
			_, err = b.GroupInfos(ctx, stream)
			ok("group infos", err)
			_, err = b.ConsumerInfos(ctx, stream, group)
			ok("consumer infos", err)
			_, err = b.Range(ctx, stream, broker.ID{}, broker.MaxID, 1)
			ok("range", err)
			settle(t, b, &broker.Settlement{Owner: o, Acks: ids})
			_, err = b.RemoveConsumer(ctx, o)
			ok("remove consumer", err)
			ok("save floor of nothing", b.SaveFloor(ctx, stream, group))
			var wide []broker.Field
			for range 3000 {
				wide = append(wide, field("a", "b"))
			}
			more, err := b.Add(ctx, []broker.Add{message(stream, wide...)})
			ok("add wide", err)
			read(t, b, "c", 1)
			if r := settle(t, b, &broker.Settlement{Owner: o, Steps: []broker.Step{{ID: more[0], Publish: []broker.Add{message(replies, wide...)}}}}); r.Steps[0].Status != broker.Done {
				t.Errorf("wide: %+v", r)
			}
		})
	}
}
