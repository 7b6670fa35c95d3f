package broker_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
)

func TestParseID(t *testing.T) {
	for _, c := range []struct {
		in   string
		want broker.ID
		ok   bool
	}{
		{"0-0", broker.ID{}, true},
		{"5", broker.ID{Ms: 5}, true},
		{"1700000000000-7", broker.ID{Ms: 1700000000000, Seq: 7}, true},
		{"18446744073709551615-18446744073709551615", broker.MaxID, true},
		{"18446744073709551616-0", broker.ID{}, false},
		{"", broker.ID{}, false},
		{"-", broker.ID{}, false},
		{"1-", broker.ID{}, false},
		{"-1", broker.ID{}, false},
		{"1-2-3", broker.ID{}, false},
		{"$", broker.ID{}, false},
	} {
		got, err := broker.ParseID(c.in)
		if (err == nil) != c.ok || got != c.want {
			t.Errorf("ParseID(%q) = %v, %v", c.in, got, err)
		}
	}
}

func TestIDOrder(t *testing.T) {
	part := rapid.OneOf(rapid.Uint64(), rapid.SampledFrom([]uint64{0, 1, math.MaxUint64}))
	rapid.Check(t, func(t *rapid.T) {
		id := broker.ID{Ms: part.Draw(t, "ms"), Seq: part.Draw(t, "seq")}
		if back, err := broker.ParseID(id.String()); err != nil || back != id {
			t.Fatalf("%v came back as %v, %v", id, back, err)
		}
		if id != broker.MaxID && (!id.Less(id.Next()) || id.Next().Prev() != id) {
			t.Fatalf("%v: next is %v, whose previous is %v", id, id.Next(), id.Next().Prev())
		}
		if !id.IsZero() && (!id.Prev().Less(id) || id.Prev().Next() != id) {
			t.Fatalf("%v: previous is %v", id, id.Prev())
		}
	})
}
