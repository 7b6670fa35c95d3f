package memory_test

import (
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	stream = "payments"
	group  = "ledger"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func owner(consumer string) broker.Owner {
	return broker.Owner{Stream: stream, Group: group, Consumer: consumer}
}

func numbered(to string, n int) []broker.Add {
	adds := make([]broker.Add, n)
	for i := range adds {
		adds[i] = broker.Add{Stream: to, Fields: []broker.Field{{Name: "n", Value: strconv.Itoa(i)}}}
	}
	return adds
}

// start returns a broker on a virtual clock with a group and n entries.
func start(t testing.TB, o memory.Options, n int) (*memory.Broker, *clock.Virtual, []broker.ID) {
	t.Helper()
	c := clock.NewVirtual(epoch)
	b := memory.New(c, o)
	t.Cleanup(func() { _ = b.Close() })
	if _, err := b.CreateGroup(t.Context(), stream, group, "0"); err != nil {
		t.Fatal(err)
	}
	ids, err := b.Add(t.Context(), numbered(stream, n))
	if err != nil || len(ids) != n {
		t.Fatalf("added %d of %d: %v", len(ids), n, err)
	}
	return b, c, ids
}

func read(t testing.TB, b *memory.Broker, r broker.ReadRequest) []broker.Delivery {
	t.Helper()
	d, err := b.Read(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return d
}
