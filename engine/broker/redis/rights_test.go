package redis_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// asWorker is a broker for a user with these commands on the streams of the
// tests and the keys beside payments.
func asWorker(t *testing.T, s *redistest.Server, name string, commands ...string) *redis.Broker {
	t.Helper()
	acl := []any{"ACL", "SETUSER", name, "on", ">pw", "resetkeys", "-@all"}
	for _, key := range []string{stream, replies} {
		acl = append(acl, "~"+key)
	}
	_, beside := redis.Patterns(stream)
	acl = append(acl, "~"+beside)
	for _, command := range commands {
		acl = append(acl, "+"+command)
	}
	if err := s.Client().Do(t.Context(), acl...).Err(); err != nil {
		t.Fatal(err)
	}
	return openWith(t, redis.Options{URL: fmt.Sprintf("redis://%s:pw@%s", name, s.Addr)})
}

// A user with exactly the documented rights can do everything in a group that
// exists.
func TestRightsSuffice(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			ids := fill(t, open(t, s), 10)
			b := asWorker(t, s, "worker", redis.Rights()...)
			ctx, o := t.Context(), owner("c")
			ok := func(what string, err error) {
				t.Helper()
				if err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			_, err := b.Probe(ctx)
			ok("probe", err)
			if created, err := b.CreateGroup(ctx, stream, group, "0"); created || err != nil {
				t.Errorf("create a group that exists: %v, %v", created, err)
			}
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
			ok("release", b.Release(ctx, o, ids, 48*time.Hour))
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
				_, err = b.Trim(ctx, broker.TrimRequest{Stream: stream, MaxLen: 8, MinID: ids[1], MaxAge: time.Hour, Protect: protect})
				ok("trim", err)
			}
			_, err = b.Records(ctx, stream, group, ids)
			ok("records", err)
			_, _, err = b.Floor(ctx, stream, group)
			ok("floor", err)
			_, err = b.StreamInfo(ctx, stream)
			ok("stream info", err)
			_, err = b.GroupInfos(ctx, stream)
			ok("group infos", err)
			_, err = b.ConsumerInfos(ctx, stream, group)
			ok("consumer infos", err)
			_, err = b.Range(ctx, stream, broker.ID{}, broker.MaxID, 1)
			ok("range", err)
			survey, err := b.Survey(ctx, []broker.Ask{{Stream: stream, Groups: []string{group}}})
			ok("survey", errors.Join(err, survey.Streams[0].Err, survey.Streams[0].Groups[0].Err))
			settle(t, b, &broker.Settlement{Owner: o, Acks: ids})
			gone, err := b.RemoveConsumer(ctx, o)
			ok("remove consumer", err)
			if gone {
				t.Error("a consumer was removed without the right")
			}
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

// Groups are created and consumers removed only by a login that may; for one
// that may not, nothing else changes.
func TestRightsOnGroups(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			worker := asWorker(t, s, "worker", redis.Rights()...)
			creator := asWorker(t, s, "creator", append(redis.Create.Commands(), "get", "set")...)
			cleaner := asWorker(t, s, "cleaner", append(redis.Rights(), "xgroup|delconsumer")...)
			ctx := t.Context()

			_, err := worker.CreateGroup(ctx, stream, group, "0")
			wantKind(t, err, broker.ErrNoPermission, "create group payments/ledger", "absent", "+xgroup|create")
			if n := s.Client().DBSize(ctx).Val(); n != 0 {
				t.Errorf("a refused creation left %d keys", n)
			}
			if created, err := creator.CreateGroup(ctx, stream, group, "0"); !created || err != nil {
				t.Fatalf("%v, %v", created, err)
			}
			if created, err := worker.CreateGroup(ctx, stream, group, "0"); created || err != nil {
				t.Errorf("%v, %v", created, err)
			}

			// A lost group waits for a login that may restore it, at its floor.
			fill(t, worker, 2)
			s.CLI("XGROUP", "DESTROY", stream, group)
			_, _, err = worker.RestoreGroup(ctx, stream, group)
			wantKind(t, err, broker.ErrNoPermission, "restore group payments/ledger", "absent", "+xgroup|create")
			if created, err := creator.CreateGroup(ctx, stream, group, "$"); !created || err != nil {
				t.Fatalf("%v, %v", created, err)
			}
			if d := read(t, worker, "c", 10); len(d) != 2 {
				t.Errorf("read %d entries, want those after the floor", len(d))
			}

			settle(t, worker, &broker.Settlement{Owner: owner("c"), Acks: idsOf(read0(t, worker))})
			if gone, err := worker.RemoveConsumer(ctx, owner("c")); gone || err != nil {
				t.Errorf("%v, %v", gone, err)
			}
			if gone, err := cleaner.RemoveConsumer(ctx, owner("c")); !gone || err != nil {
				t.Errorf("%v, %v", gone, err)
			}
			_, err = cleaner.RemoveConsumer(ctx, broker.Owner{Stream: stream, Group: "absent", Consumer: "c"})
			wantKind(t, err, broker.ErrNoGroup)
		})
	}
}

// read0 is what is pending under the consumer c.
func read0(t *testing.T, b *redis.Broker) []broker.Delivery {
	t.Helper()
	var d []broker.Delivery
	for id := range pendingOf(t, b) {
		d = append(d, broker.Delivery{Entry: broker.Entry{ID: id}})
	}
	return d
}

// everyNeed is everything that this package knows how to check.
func everyNeed() []redis.Need {
	needs := redis.Keyless()
	for u := redis.Consume; u <= redis.Create; u++ {
		needs = append(needs, u.Needs(stream, group)...)
	}
	for _, command := range redis.OptionalRights() {
		needs = append(needs, redis.Need{Command: command, Key: stream})
	}
	return needs
}

// What is denied is found out one by one, for each right that a user may lack,
// and for each key.
func TestDenied(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			needs := everyNeed()
			all := append(redis.Rights(), redis.OptionalRights()...)
			all = append(all, "xgroup|create", "unlink")
			if denied, err := open(t, s).Denied(t.Context(), needs); err != nil || len(denied) != 0 {
				t.Errorf("denied to a user who may do everything: %v, %v", denied, err)
			}
			for i, lacking := range all {
				if lacking == "multi" {
					continue
				}
				b := asWorker(t, s, fmt.Sprintf("worker%d", i), slices.Concat(all[:i], all[i+1:])...)
				denied, err := b.Denied(t.Context(), needs)
				if err != nil || len(denied) == 0 {
					t.Errorf("without %s: %v, %v", lacking, denied, err)
				}
				for _, d := range denied {
					if d.Command != lacking || d.ByKey {
						t.Errorf("without %s: denied %+v", lacking, d)
					}
				}
			}
			b := asWorker(t, s, "untransacted", slices.DeleteFunc(slices.Clone(all), func(c string) bool { return c == "multi" })...)
			_, err := b.Denied(t.Context(), needs)
			wantKind(t, err, broker.ErrNoPermission, "+multi")

			b = asWorker(t, s, "worker", all...)
			elsewhere := redis.Publish.Needs("elsewhere", "")
			denied, err := b.Denied(t.Context(), append(needs, elsewhere...))
			if err != nil || len(denied) != len(elsewhere) {
				t.Fatalf("%v, %v", denied, err)
			}
			for i, d := range denied {
				if d.Need != elsewhere[i] || !d.ByKey {
					t.Errorf("denied %+v, want %+v by its key", d, elsewhere[i])
				}
			}
		})
	}
}

// The check changes nothing, not even where the very keys exist, and not even
// if its commands were run.
func TestDeniedIsHarmless(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			b := open(t, s)
			ids := fill(t, b, 3)
			read(t, b, "c", 2)
			settle(t, b, &broker.Settlement{Owner: owner("c"), Waits: []broker.Wait{{ID: ids[0], Error: "x"}}})
			slot := broker.SlotRequest{Stream: stream, Group: group, Base: "x", Token: "t", TTL: time.Hour}
			if _, err := b.AcquireSlot(t.Context(), slot); err != nil {
				t.Fatal(err)
			}
			before := dumps(t, s)
			if len(before) != 4 {
				t.Fatalf("keys: %v", slices.Sorted(maps.Keys(before)))
			}
			if _, err := b.Denied(t.Context(), everyNeed()); err != nil {
				t.Fatal(err)
			}
			if after := dumps(t, s); !maps.Equal(before, after) {
				t.Error("checking rights changed a key")
			}
			for _, need := range everyNeed() {
				if list := redis.Trial(need); list != nil && need.Command != "client|setname" {
					_ = s.Client().Do(t.Context(), list...).Err()
				}
			}
			if after := dumps(t, s); !maps.Equal(before, after) {
				t.Error("the commands of the check change a key where they are run")
			}
		})
	}
}

// dumps is the content of every key.
func dumps(t *testing.T, s *redistest.Server) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, key := range s.Client().Keys(t.Context(), "*").Val() {
		all[key] = s.Client().Dump(t.Context(), key).Val()
	}
	return all
}

// Whatever a stream is called, its pattern admits it and no other.
func TestPatterns(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			for i, key := range []string{"payments", "a*b", "a?b", "a[bc]", `a\b`, "a b", "^a", "{a}b", "{}x", "a}b", "%RW~a", "\xff\x01", "(a)", "ä"} {
				own, beside := redis.Patterns(key)
				user := fmt.Sprintf("u%d", i)
				if err := s.Client().Do(t.Context(), "ACL", "SETUSER", user, "on", ">pw", "+@all", "~"+own, "~"+beside).Err(); err != nil {
					t.Errorf("%q: %v", key, err)
					continue
				}
				b := openWith(t, redis.Options{URL: fmt.Sprintf("redis://%s:pw@%s", user, s.Addr)})
				needs := slices.Concat(redis.Consume.Needs(key, group), redis.Floors.Needs(key, group), redis.Slots.Needs(key, group), redis.Marks.Needs(key, group))
				if denied, err := b.Denied(t.Context(), needs); err != nil || len(denied) != 0 {
					t.Errorf("%q: %v, %v", key, denied, err)
				}
				for _, other := range []string{key + "x", "axxb", "ab"} {
					needs := redis.Publish.Needs(other, "")
					if denied, err := b.Denied(t.Context(), needs); err != nil || len(denied) != len(needs) {
						t.Errorf("%q admits %q: %v, %v", key, other, denied, err)
					}
				}
			}
		})
	}
}
