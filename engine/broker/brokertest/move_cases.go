package brokertest

import (
	"fmt"
	"slices"

	"pipeline/engine/broker"
)

// move is one entry that goes to a stream as a message with this number.
func move(id broker.ID, to, n string) broker.Move {
	return broker.Move{ID: id, Publish: message(to, "n", n)}
}

// moves takes entries out of the stream and asserts which of them were there.
func (k *kit) moves(want []bool, list ...broker.Move) []broker.Moved {
	k.Helper()
	got, err := k.Broker.Move(k.Context(), broker.MoveRequest{From: k.stream, Moves: list})
	k.ok(err)
	if len(got) != len(want) {
		k.Fatalf("%d moves were answered by %+v", len(list), got)
	}
	for i, m := range got {
		if m.Found != want[i] || m.ID.IsZero() == m.Found {
			k.Fatalf("move %d came to %+v, want it to be there: %v", i, m, want[i])
		}
	}
	return got
}

var moveCases = []testCase{
	{"adds a message and deletes the entry", nil, func(k *kit) {
		ids, to := k.add(k.stream, 3), k.key("other")
		got := k.moves([]bool{true, true}, move(ids[0], to, "a"), move(ids[2], to, "b"))
		k.published(to, "a", "b")
		k.published(k.stream, "1")
		for i, e := range k.entries(to) {
			equal(k, "id", got[i].ID, e.ID)
		}
	}},
	{"byte for byte, in order, with duplicates", nil, func(k *kit) {
		ids, to, want := k.add(k.stream, 1), k.key("other"), awkward()
		k.moves([]bool{true}, broker.Move{ID: ids[0], Publish: broker.Add{Stream: to, Fields: want}})
		if got := k.entries(to); len(got) != 1 || !slices.Equal(got[0].Fields, want) {
			k.Fatalf("moved %q, want %q", got, want)
		}
	}},
	{"once", nil, func(k *kit) {
		ids, to := k.add(k.stream, 2), k.key("other")
		k.moves([]bool{true}, move(ids[0], to, "a"))
		k.moves([]bool{false, true, false}, move(ids[0], to, "a"), move(ids[1], to, "b"), move(ids[1], to, "b"))
		k.published(to, "a", "b")
	}},
	{"nothing of an entry that is gone", nil, func(k *kit) {
		ids, to := k.add(k.stream, 2), k.key("other")
		k.DeleteEntries(k.stream, ids[0])
		k.moves([]bool{false, false, true}, move(ids[0], to, "a"), move(ids[1].Next(), to, "b"), move(ids[1], to, "c"))
		k.published(to, "c")
	}},
	{"nothing of an absent stream", nil, func(k *kit) {
		k.moves([]bool{false}, move(broker.ID{Ms: 1}, k.key("other"), "a"))
		k.moves(nil)
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 10), nil)
	}},
	{"to several streams, and to its own", nil, func(k *kit) {
		ids, other := k.add(k.stream, 3), k.key("other")
		k.moves([]bool{true, true, true}, move(ids[0], other, "a"), move(ids[1], k.stream, "b"), move(ids[2], k.key("third"), "c"))
		k.published(other, "a")
		k.published(k.key("third"), "c")
		k.published(k.stream, "b")
	}},
	{"many at once", nil, func(k *kit) {
		ids, to := k.add(k.stream, 1200), k.key("other")
		list, want := make([]broker.Move, len(ids)), make([]bool, len(ids))
		for i, id := range ids {
			list[i], want[i] = move(id, to, fmt.Sprint(i)), true
		}
		k.moves(want, list...)
		entries := k.entries(to)
		equal(k, "moved", len(entries), len(ids))
		for i, e := range entries {
			equal(k, "number", e.Fields[0].Value, fmt.Sprint(i))
		}
		equal(k, "left", len(k.entries(k.stream)), 0)
	}},
	{"up to a message that is refused", nil, func(k *kit) {
		ids, to, text := k.add(k.stream, 3), k.key("other"), k.key("text")
		k.SetString(text)
		got, err := k.Broker.Move(k.Context(), broker.MoveRequest{
			From: k.stream, Moves: []broker.Move{move(ids[0], to, "a"), move(ids[1], text, "b"), move(ids[2], to, "c")},
		})
		k.fails(err, broker.ErrWrongType, text)
		equal(k, "done", len(got), 1)
		k.published(to, "a")
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 10), ids[1:])
	}},
	{"nothing for a message without a field", nil, func(k *kit) {
		ids := k.add(k.stream, 1)
		_, err := k.Broker.Move(k.Context(), broker.MoveRequest{
			From: k.stream, Moves: []broker.Move{{ID: ids[0], Publish: broker.Add{Stream: k.key("other")}}},
		})
		k.fails(err, nil, "field")
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 10), ids)
	}},
	{"nothing from a key of another type", nil, func(k *kit) {
		k.SetString(k.stream)
		_, err := k.Broker.Move(k.Context(), broker.MoveRequest{From: k.stream, Moves: []broker.Move{move(broker.ID{Ms: 1}, k.key("other"), "a")}})
		k.fails(err, broker.ErrWrongType, k.stream)
		equal(k, "added", len(k.entries(k.key("other"))), 0)
	}},
}

var removeEntryCases = []testCase{
	{"removes what is there", nil, func(k *kit) {
		ids := k.add(k.stream, 4)
		n, err := k.Broker.Remove(k.Context(), k.stream, []broker.ID{ids[1], ids[3], ids[1], ids[3].Next()})
		k.ok(err)
		equal(k, "removed", n, 2)
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 10), []broker.ID{ids[0], ids[2]})
	}},
	{"many at once", nil, func(k *kit) {
		ids := k.add(k.stream, 5000)
		n, err := k.Broker.Remove(k.Context(), k.stream, ids[1:])
		k.ok(err)
		equal(k, "removed", n, 4999)
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 10), ids[:1])
	}},
	{"nothing of an absent stream, and nothing asked for", nil, func(k *kit) {
		for _, ids := range [][]broker.ID{{{Ms: 1}}, nil} {
			n, err := k.Broker.Remove(k.Context(), k.stream, ids)
			k.ok(err)
			equal(k, "removed", n, 0)
		}
	}},
	{"nothing from a key of another type", nil, func(k *kit) {
		k.SetString(k.stream)
		_, err := k.Broker.Remove(k.Context(), k.stream, []broker.ID{{Ms: 1}})
		k.fails(err, broker.ErrWrongType, k.stream)
	}},
}

// back is the ids of a range from its end.
func (k *kit) back(first, last broker.ID, count int) []broker.ID {
	k.Helper()
	entries, err := k.Broker.RangeBack(k.Context(), k.stream, first, last, count)
	k.ok(err)
	ids := make([]broker.ID, len(entries))
	for i := range entries {
		ids[i] = entries[i].ID
		equal(k, "fields", len(entries[i].Fields), 1)
	}
	return ids
}

var rangeBackCases = []testCase{
	{"is the range from its end", nil, func(k *kit) {
		ids := k.add(k.stream, 700)
		k.same(k.back(broker.ID{}, broker.MaxID, 3), []broker.ID{ids[699], ids[698], ids[697]})
		k.same(k.back(ids[1], ids[3], 10), []broker.ID{ids[3], ids[2], ids[1]})
		k.same(k.back(ids[1].Next(), ids[3].Prev(), 10), ids[2:3])
		all := k.back(broker.ID{}, broker.MaxID, 1000)
		slices.Reverse(all)
		k.same(all, ids)
	}},
	{"is empty before the first, and backwards", nil, func(k *kit) {
		ids := k.add(k.stream, 3)
		k.same(k.back(broker.ID{}, ids[0].Prev(), 10), nil)
		k.same(k.back(ids[2], ids[0], 10), nil)
		k.same(k.back(ids[2].Next(), broker.MaxID, 10), nil)
	}},
	{"of an absent stream is empty", nil, func(k *kit) { k.same(k.back(broker.ID{}, broker.MaxID, 10), nil) }},
	{"needs a count", nil, func(k *kit) {
		_, err := k.Broker.RangeBack(k.Context(), k.stream, broker.ID{}, broker.MaxID, 0)
		k.fails(err, nil, "count")
	}},
}
