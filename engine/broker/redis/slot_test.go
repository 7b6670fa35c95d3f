package redis_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// keys whose braces make a tag, none, or an odd one.
var oddKeys = []string{
	"payments", "{payments}", "a{b}c", "a{b}c{d}", "{}x", "a{}b", "a}b", "a{b", "}{", "{", "}", "{a}b}", "{{a}}", "", " ",
	"x}y{z", "{}{a}", "\x00\xff", "payments.screened", "{{}", "a{}{b}",
}

// singleNode is a cluster of one node.
func singleNode(t *testing.T, version string) *redistest.Server {
	t.Helper()
	return redistest.StartCluster(t, version, 1)[0]
}

func TestSlotAgreesWithTheServer(t *testing.T) {
	t.Parallel()
	s, ctx := singleNode(t, "8.6"), t.Context()
	check := func(t interface{ Errorf(string, ...any) }, key string) {
		want, err := s.Client().ClusterKeySlot(ctx, key).Result()
		if err != nil || int64(redis.Slot(key)) != want {
			t.Errorf("slot of %q is %d, want %d, %v", key, redis.Slot(key), want, err)
		}
	}
	for _, key := range oddKeys {
		check(t, key)
	}
	keys := rapid.StringOfN(rapid.RuneFrom([]rune("{}ab:é")), 0, 12, -1)
	rapid.Check(t, func(t *rapid.T) { check(t, keys.Draw(t, "key")) })
}

// In a cluster the scripts work on our keys too, whatever the stream is called.
func TestCluster(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := singleNode(t, version)
			b := openWith(t, redis.Options{URL: s.URL(), Cluster: true})
			for _, stream := range oddKeys {
				if stream == "" {
					continue
				}
				o := broker.Owner{Stream: stream, Group: "a:b%{c}", Consumer: "c"}
				if _, err := b.CreateGroup(t.Context(), stream, o.Group, "0"); err != nil {
					t.Fatal(err)
				}
				ids, err := b.Add(t.Context(), []broker.Add{message(stream, field("a", "1")), message(stream, field("a", "2")), message("elsewhere", field("a", "3"))})
				if err != nil || len(ids) != 3 {
					t.Fatal(ids, err)
				}
				if d, err := b.Read(t.Context(), broker.ReadRequest{Owner: o, Count: 10}); err != nil || len(d) != 2 {
					t.Fatal(d, err)
				}
				same := message(stream, field("again", "1"))
				r := settle(t, b, &broker.Settlement{Owner: o,
					Steps: []broker.Step{{ID: ids[0], Publish: []broker.Add{same}}, {ID: ids[1], Publish: []broker.Add{same, message("elsewhere {x}", field("a", "b"))}, Mark: "k"}},
					Marks: broker.Marks{Set: "s", Window: time.Minute},
					Waits: []broker.Wait{{ID: ids[1], Error: "x"}},
				})
				if r.Steps[0].Status != broker.Done || r.Steps[1].Status != broker.Refused || r.Waits[0] != broker.Done {
					t.Errorf("%q: %+v", stream, r)
				}
				wantKind(t, r.Steps[1].Err, broker.ErrUnsupported, "slot")
				if records, err := b.Records(t.Context(), stream, o.Group, ids[1:2]); err != nil || records[0].Error != "x" {
					t.Errorf("%q: %+v, %v", stream, records, err)
				}
				if err := b.SaveFloor(t.Context(), stream, o.Group); err != nil {
					t.Errorf("%q: %v", stream, err)
				}
			}
		})
	}
}
