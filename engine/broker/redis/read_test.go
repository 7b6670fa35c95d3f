package redis_test

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

func TestReadBringsFieldsAsTheyAre(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		every := make([]byte, 256)
		for i := range every {
			every[i] = byte(i)
		}
		want := [][]broker.Field{
			{field("a", "1"), field("a", "2"), field("", ""), field("b", "")},
			{field(string(every), string(every)), field("crlf", "\r\n$5\r\n*3\r\n")},
			{field("big", string(make([]byte, 300_000)))},
		}
		if _, err := b.CreateGroup(t.Context(), stream, group, "0"); err != nil {
			t.Fatal(err)
		}
		for _, fields := range want {
			if _, err := b.Add(t.Context(), []broker.Add{message(stream, fields...)}); err != nil {
				t.Fatal(err)
			}
		}
		got := read(t, b, "c", 10)
		if len(got) != len(want) {
			t.Fatalf("read %d entries", len(got))
		}
		for i := range want {
			if !slices.Equal(got[i].Fields, want[i]) || got[i].Idle != 0 || got[i].Deliveries != 0 {
				t.Errorf("entry %d came as %.200q", i, fmt.Sprint(got[i]))
			}
		}
		entries, err := b.Range(t.Context(), stream, broker.ID{}, broker.MaxID, 10)
		if err != nil || !slices.EqualFunc(entries, got, func(e broker.Entry, d broker.Delivery) bool {
			return reflect.DeepEqual(e, d.Entry)
		}) {
			t.Errorf("range differs from read: %v", err)
		}
	})
}

func TestReadManyInOneBatch(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 2500)
		var got []broker.ID
		for _, want := range []int{1000, 1000, 500, 0} {
			d := read(t, b, "c", 1000)
			if len(d) != want {
				t.Fatalf("read %d, want %d", len(d), want)
			}
			for i := range d {
				if n := fmt.Sprint(len(got) + i); d[i].Fields[0].Value != n {
					t.Fatalf("entry %s holds %v", n, d[i].Fields)
				}
			}
			got = append(got, idsOf(d)...)
		}
		if !slices.Equal(got, ids) {
			t.Error("ids differ from those that Add returned")
		}
	})
}

func TestReadBlocksUntilAnEntryComes(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		fill(t, b, 0)
		blocked := make(chan []broker.Delivery)
		go func() {
			d, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 5, Block: soon})
			if err != nil {
				t.Error(err)
			}
			blocked <- d
		}()
		waitBlocked(t, s, 1)
		fill(t, b, 1)
		if d := <-blocked; len(d) != 1 {
			t.Errorf("read %d entries", len(d))
		}
		if d, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 5, Block: time.Millisecond}); err != nil || len(d) != 0 {
			t.Errorf("an empty read brought %v, %v", d, err)
		}
	})
}

// waitBlocked waits until so many clients of the test's database are blocked.
func waitBlocked(t *testing.T, s *redistest.Server, want int) {
	t.Helper()
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); {
		if blockedReads(t, s) == want {
			return
		}
	}
	t.Fatalf("no %d blocked clients", want)
}

// blockedReads is how many clients of the test's database are blocked.
func blockedReads(t *testing.T, s *redistest.Server) (n int) {
	t.Helper()
	for line := range splitLines(s.Client().ClientList(t.Context()).Val()) {
		if contains(line, fmt.Sprintf("db=%d ", s.DB)) && contains(line, "flags=b") {
			n++
		}
	}
	return n
}

func TestReadEndsWhenCanceled(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		fill(t, b, 0)
		for range 3 { // the connection is used again
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() {
				_, err := b.Read(ctx, broker.ReadRequest{Owner: owner("c"), Count: 5, Block: time.Hour})
				ended <- err
			}()
			waitBlocked(t, s, 1)
			cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Error(err)
				}
			case <-time.After(soon):
				t.Fatal("a canceled read went on")
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := b.Read(ctx, broker.ReadRequest{Owner: owner("c"), Count: 5, Block: time.Hour})
		wantKind(t, err, broker.ErrUnavailable)
	})
}

func TestClaimingRead(t *testing.T) {
	t.Run("8.6", func(t *testing.T) {
		b := open(t, redistest.Shared(t, "8.6"))
		ids := fill(t, b, 3)
		if n := len(read(t, b, "gone", 2)); n != 2 {
			t.Fatal(n)
		}
		if err := b.Release(t.Context(), owner("gone"), ids[:2], 48*time.Hour); err != nil {
			t.Fatal(err)
		}
		d, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 10, MinIdle: time.Minute, Block: time.Second})
		if err != nil || !slices.Equal(idsOf(d), ids) {
			t.Fatalf("read %v, %v", d, err)
		}
		if d[0].Deliveries != 0 || d[0].Idle < time.Hour || d[2].Idle != 0 {
			t.Errorf("released entries came as %v", d)
		}
		for range 2 {
			if d, err = b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 10, MinIdle: time.Nanosecond, Block: soon}); err != nil {
				t.Fatal(err)
			}
		}
		if len(d) != 3 || d[0].Deliveries < 2 {
			t.Errorf("claimed again as %v", d)
		}
	})
	t.Run("7.0", func(t *testing.T) {
		b := open(t, redistest.Shared(t, "7.0"))
		fill(t, b, 1)
		_, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 10, MinIdle: time.Minute})
		wantKind(t, err, broker.ErrUnsupported, "read payments/ledger", "8.4.0")
	})
}
