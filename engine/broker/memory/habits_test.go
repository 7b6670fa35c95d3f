package memory_test

import (
	"context"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
)

// What differs between versions of a server and can be seen only on a clock
// that a test moves.

// seen is how long ago a consumer was seen, and whether it exists.
func seen(t *testing.T, b *memory.Broker, consumer string) (time.Duration, bool) {
	t.Helper()
	infos, err := b.ConsumerInfos(t.Context(), stream, group)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range infos {
		if c.Name == consumer {
			return c.Idle, true
		}
	}
	return 0, false
}

func TestAConsumerIsSeenByAClaimThatFindsNoBodyFrom72On(t *testing.T) {
	for version, want := range map[string]time.Duration{"7.0.15": time.Minute, "7.2": 0, memory.DefaultVersion: 0} {
		t.Run(version, func(t *testing.T) {
			b, c, ids := start(t, memory.Options{Version: version}, 1)
			read(t, b, broker.ReadRequest{Owner: owner("a"), Count: 1})
			b.DeleteEntries(stream, ids...)
			c.Advance(time.Minute)
			held, err := b.Renew(t.Context(), owner("a"), ids)
			if err != nil || held[0] != broker.BodyGone {
				t.Fatal(held, err)
			}
			if idle, exists := seen(t, b, "a"); !exists || idle != want {
				t.Fatalf("seen %v ago, exists %v; want %v", idle, exists, want)
			}
		})
	}
}

func TestAnEntryThatIsAgedCountsAsAClaimOfItsConsumer(t *testing.T) {
	b, c, ids := start(t, memory.Options{}, 1)
	read(t, b, broker.ReadRequest{Owner: owner("a"), Count: 1})
	c.Advance(time.Minute)
	if n := b.SetIdle(stream, group, time.Hour, ids...); n != 1 {
		t.Fatal(n)
	}
	if idle, _ := seen(t, b, "a"); idle != 0 {
		t.Fatalf("seen %v ago", idle)
	}
}

// lagKnown is the lag of the group.
func lagKnown(t *testing.T, b *memory.Broker) (int64, bool) {
	t.Helper()
	infos, err := b.GroupInfos(t.Context(), stream)
	if err != nil || len(infos) != 1 {
		t.Fatal(infos, err)
	}
	return infos[0].Lag, infos[0].LagKnown
}

func TestTheLagOfAnEmptyStreamIsKnownFrom80On(t *testing.T) {
	for version, known := range map[string]bool{"7.0.15": false, "7.2": false, "8.0": true, memory.DefaultVersion: true} {
		t.Run(version, func(t *testing.T) {
			b, _, _ := start(t, memory.Options{Version: version}, 2)
			b.DestroyGroup(stream, group)
			b.Flush()
			if _, err := b.CreateGroup(t.Context(), stream, group, broker.MaxID.String()); err != nil {
				t.Fatal(err)
			}
			ids, err := b.Add(t.Context(), numbered(stream, 2))
			if err != nil {
				t.Fatal(err)
			}
			if _, is := lagKnown(t, b); is {
				t.Fatal("a position ahead of the stream can be counted")
			}
			b.DeleteEntries(stream, ids...)
			if lag, is := lagKnown(t, b); lag != 0 || is != known {
				t.Fatalf("lag %d, known %v", lag, is)
			}
		})
	}
}

// Before 7.2 a group that is destroyed ends the reads of other groups that lie before the
// last id of their stream, with nothing, if what they wait for was deleted.
func TestADestroyedGroupEndsReadsOfOthers(t *testing.T) {
	for version, early := range map[string]bool{"7.0.15": true, "7.2.0": false} {
		t.Run(version, func(t *testing.T) {
			b, _, ids := start(t, memory.Options{Version: version}, 1)
			for _, g := range []string{"other", "third"} {
				if _, err := b.CreateGroup(t.Context(), stream, g, "0"); err != nil {
					t.Fatal(err)
				}
			}
			b.DeleteEntries(stream, ids...)
			ctx, cancel := context.WithCancel(t.Context())
			blocked := block(ctx, t, b, broker.ReadRequest{Owner: owner("a"), Count: 1, Block: time.Hour})
			b.DestroyGroup(stream, "other")
			if ended := b.Blocked() == 0; ended != early {
				t.Errorf("the read has ended: %v, want %v", ended, early)
			}
			cancel()
			if a := <-blocked; a.err != nil || len(a.deliveries) != 0 {
				t.Error(a)
			}
		})
	}
}

func TestAddAs(t *testing.T) {
	b, _, ids := start(t, memory.Options{}, 1)
	f := []broker.Field{{Name: "n", Value: "1"}}
	b.SetString("text")
	for name, taken := range map[string]bool{
		"no id":       b.AddAs(stream, broker.ID{}, f),
		"no fields":   b.AddAs(stream, ids[0].Next(), nil),
		"the last id": b.AddAs(stream, ids[0], f),
		"a text":      b.AddAs("text", broker.ID{Ms: 1}, f),
	} {
		if taken {
			t.Errorf("%s was taken", name)
		}
	}
	before := b.Activity()
	if !b.AddAs(stream, ids[0].Next(), f) || b.Activity() == before {
		t.Fatal("the next id was not taken")
	}
	got := read(t, b, broker.ReadRequest{Owner: owner("a"), Count: 5})
	if len(got) != 2 || got[1].ID != ids[0].Next() {
		t.Fatal(got)
	}
	blocked := block(t.Context(), t, b, broker.ReadRequest{Owner: owner("a"), Count: 1, Block: time.Hour})
	if !b.AddAs(stream, broker.MaxID, f) || b.Blocked() != 0 {
		t.Fatal("a blocked read did not wake")
	}
	if a := <-blocked; a.err != nil || len(a.deliveries) != 1 {
		t.Fatal(a)
	}
}
