package redis

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipeline/engine/broker"
	"pipeline/tests/redistest"
)

// TestPackedIsWhatAServerUnpacks: strings of every length at which the format
// changes, of any bytes, and numbers, come out of a server's own unpacker as
// they went in.
func TestPackedIsWhatAServerUnpacks(t *testing.T) {
	for _, version := range redistest.Versions {
		s := redistest.Shared(t, version)
		a := newArgs()
		defer a.release()
		var want []string
		for _, n := range []int{0, 1, 15, 16, 31, 32, 255, 256, 65535, 65536, 300_000} {
			text := strings.Repeat("\x00\xff\xa0é", n/5+1)[:n]
			a.pack(text)
			want = append(want, text)
		}
		for _, id := range []broker.ID{{}, {Ms: 1, Seq: 2}, {Ms: math.MaxUint64, Seq: math.MaxUint64}, {Ms: 1796020171000, Seq: math.MaxUint64}} {
			a.packID(id)
			want = append(want, id.String())
		}
		var steps []broker.Step
		for i := range maxEntries {
			a.packIDs(len(steps), func(i int) broker.ID { return steps[i].ID })
			var ids []string
			for _, step := range steps {
				ids = append(ids, step.ID.String())
			}
			want = append(want, strings.Join(ids, " "))
			steps = append(steps, broker.Step{ID: broker.ID{Ms: math.MaxUint64, Seq: uint64(i)}})
		}
		for _, n := range []int64{0, 1, 127, 128, 1 << 31, 1 << 53, -1} {
			a.packInt(n)
			want = append(want, strconv.FormatInt(n, 10))
		}
		for i := range 70_000 {
			a.pack(strconv.Itoa(i))
			want = append(want, strconv.Itoa(i))
		}
		a.packed()
		const unpack = `local out = {}
			for i, v in ipairs(cmsgpack.unpack(ARGV[1])) do out[i] = type(v) == 'number' and string.format('%.0f', v) or v end
			return out`
		got, err := s.Client().Eval(t.Context(), unpack, nil, *a.list[0].(*string)).StringSlice()
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d of %d values, %v", version, len(got), len(want), err)
		}
	}
}

// TestArraysDoNotMix: a second array of one call is another argument.
func TestArraysDoNotMix(t *testing.T) {
	a := newArgs()
	defer a.release()
	a.pack("x")
	a.packed()
	a.word("between")
	a.packInt(1)
	a.packInt(2)
	a.packed()
	want := []string{"\xdd\x00\x00\x00\x01\xa1x", "between", "\xdd\x00\x00\x00\x02\x01\x02"}
	for i := range want {
		if got := *a.list[i].(*string); got != want[i] {
			t.Errorf("argument %d: %q instead of %q", i, got, want[i])
		}
	}
}
