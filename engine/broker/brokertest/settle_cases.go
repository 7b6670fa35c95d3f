package brokertest

import (
	"fmt"
	"slices"
	"strings"

	"pipeline/engine/broker"
)

var ackCases = []testCase{
	{"take entries out of the pending list", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		k.ack("a", ids[0], ids[2])
		k.same(k.pendingOf("a"), ids[1:2])
		equal(k, "length", len(k.entries(k.stream)), 3)
	}},
	{"are not fenced: the first finished outcome wins", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.takeOver("b", "a", ids[0])
		k.ack("a", ids[0])
		equal(k, "pending", len(k.pending()), 0)
	}},
	{"of unknown entries do nothing", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids[:1])
		k.ack("a", ids[1], broker.ID{Ms: 1})
		k.same(k.pendingOf("a"), ids[:1])
		k.deliver("a", ids[1:])
	}},
	{"twice do nothing more", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.ack("a", ids[0])
		k.ack("a", ids[0])
		equal(k, "pending", k.info().Pending, 0)
	}},
	{"in thousands", nil, func(k *kit) {
		ids := k.fill(5000)
		k.deliver("a", ids)
		k.ack("a", ids...)
		equal(k, "pending", k.info().Pending, 0)
	}},
	{"drop the records that are to be forgotten", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		for _, id := range ids {
			k.wait(broker.Wait{ID: id, Error: "e"}, broker.Done)
		}
		k.settle(&broker.Settlement{Owner: k.owner("a"), Acks: ids, Forget: ids[:1]})
		equal(k, "record", k.record(ids[0]), broker.Record{})
		equal(k, "error of the other", k.record(ids[1]).Error, "e")
	}},
	{"drop no record but those that are named", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		for _, id := range ids {
			k.wait(broker.Wait{ID: id, Error: "e"}, broker.Done)
		}
		k.settle(&broker.Settlement{Owner: k.owner("a"), Acks: ids[:1], Forget: ids[1:]}) // as many as there are, and another
		equal(k, "error of the first", k.record(ids[0]).Error, "e")
	}},
	{"of nothing are fine", nil, func(k *kit) {
		k.fill(1)
		k.settle(&broker.Settlement{Owner: k.owner("a")})
	}},
}

// steps settles steps of one consumer.
func (k *kit) steps(consumer string, steps ...broker.Step) []broker.StepResult {
	k.Helper()
	return k.settle(&broker.Settlement{Owner: k.owner(consumer), Steps: steps}).Steps
}

func (k *kit) status(r broker.StepResult, want broker.Status) {
	k.Helper()
	if r.Status != want || (r.Err != nil) != (want == broker.Refused || want == broker.Torn) {
		k.Fatalf("the step ended as %+v, want status %v", r, want)
	}
}

// published asserts the values of the field n in a stream.
func (k *kit) published(stream string, want ...string) {
	k.Helper()
	var got []string
	for _, e := range k.entries(stream) {
		got = append(got, e.Fields[0].Value)
	}
	if !slices.Equal(got, want) {
		k.Fatalf("%s holds %q, want %q", stream, got, want)
	}
}

var stepCases = []testCase{
	{"publish and acknowledge", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		out := k.key("replies")
		r := k.steps("a", broker.Step{ID: ids[0], Publish: []broker.Add{message(out, "n", "x")}})
		k.status(r[0], broker.Done)
		k.published(out, "x")
		k.same(k.pendingOf("a"), ids[1:])
	}},
	{"publish several messages to several streams, in order", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		out, other := k.key("replies"), k.key("audit")
		r := k.steps("a", broker.Step{ID: ids[0], Publish: []broker.Add{
			message(out, "n", "1"), message(other, "n", "2"), message(out, "n", "3"), message(out, "n", "4", "more", "5"),
		}})
		k.status(r[0], broker.Done)
		k.published(out, "1", "3", "4")
		k.published(other, "2")
	}},
	{"without a message are a fenced acknowledgement", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.takeOver("b", "a", ids[1])
		r := k.steps("a", broker.Step{ID: ids[0]}, broker.Step{ID: ids[1]})
		k.status(r[0], broker.Done)
		k.status(r[1], broker.NotOwned)
		k.same(k.pendingOf("b"), ids[1:])
		equal(k, "pending", len(k.pending()), 1)
	}},
	{"publish nothing for what is held by another", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.takeOver("b", "a", ids[0])
		out := k.key("replies")
		k.status(k.steps("a", broker.Step{ID: ids[0], Publish: []broker.Add{message(out, "n", "old")}})[0], broker.NotOwned)
		k.published(out)
		k.status(k.steps("b", broker.Step{ID: ids[0], Publish: []broker.Add{message(out, "n", "new")}})[0], broker.Done)
		k.published(out, "new")
	}},
	{"publish nothing for what is acknowledged", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.ack("a", ids[0])
		out := k.key("replies")
		k.status(k.steps("a", broker.Step{ID: ids[0], Publish: []broker.Add{message(out, "n", "x")}})[0], broker.NotOwned)
		k.published(out)
	}},
	{"publish nothing for what was never delivered", nil, func(k *kit) {
		ids := k.fill(1)
		out := k.key("replies")
		k.status(k.steps("a", broker.Step{ID: ids[0], Publish: []broker.Add{message(out, "n", "x")}})[0], broker.NotOwned)
		k.published(out)
		k.deliver("a", ids)
	}},
	{"sent again publish nothing twice", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		out := k.key("replies")
		s := &broker.Settlement{Owner: k.owner("a"), Acks: ids[2:]}
		for i, id := range ids[:2] {
			s.Steps = append(s.Steps, broker.Step{ID: id, Publish: []broker.Add{message(out, "n", fmt.Sprint(i))}})
		}
		for _, want := range []broker.Status{broker.Done, broker.NotOwned, broker.NotOwned} {
			for _, r := range k.settle(s).Steps {
				k.status(r, want)
			}
		}
		k.published(out, "0", "1")
		equal(k, "pending", k.info().Pending, 0)
	}},
	{"publish byte for byte, in order, with duplicates", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		out, want := k.key("replies"), awkward()
		k.steps("a", broker.Step{ID: ids[0], Publish: []broker.Add{{Stream: out, Fields: want}}})
		if got := k.entries(out); len(got) != 1 || !slices.Equal(got[0].Fields, want) {
			k.Fatalf("published %q, want %q", got, want)
		}
	}},
	{"publish more fields than a script passes on", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		out := k.key("replies")
		wide := broker.Add{Stream: out}
		for i := range 6000 {
			wide.Fields = append(wide.Fields, broker.Field{Name: fmt.Sprint("f", i), Value: fmt.Sprint(i)})
		}
		steps := []broker.Step{
			{ID: ids[0], Publish: []broker.Add{message(out, "n", "before")}},
			{ID: ids[1], Publish: []broker.Add{wide}},
			{ID: ids[2], Publish: []broker.Add{message(out, "n", "after")}},
		}
		for _, want := range []broker.Status{broker.Done, broker.NotOwned} {
			for _, r := range k.steps("a", steps...) {
				k.status(r, want)
			}
		}
		got := k.entries(out)
		equal(k, "published", len(got), 3)
		if !slices.ContainsFunc(got, func(e broker.Entry) bool { return slices.Equal(e.Fields, wide.Fields) }) {
			k.Fatal("the wide message is not as it was sent")
		}
	}},
	{"publish large messages", nil, func(k *kit) {
		ids := k.fill(4)
		k.deliver("a", ids)
		out := k.key("replies")
		var steps []broker.Step
		for i, id := range ids {
			steps = append(steps, broker.Step{ID: id, Publish: []broker.Add{message(out, "n", strings.Repeat(fmt.Sprint(i), 300_000))}})
		}
		for _, r := range k.steps("a", steps...) {
			k.status(r, broker.Done)
		}
		for i, e := range k.entries(out) {
			equal(k, "size", len(e.Fields[0].Value), 300_000)
			equal(k, "first byte", e.Fields[0].Value[0], byte('0'+i))
		}
	}},
	{"in hundreds, some of them not owned", nil, func(k *kit) {
		ids := k.fill(600)
		k.deliver("a", ids)
		k.takeOver("b", "a", ids[100], ids[599])
		out := k.key("replies")
		var steps []broker.Step
		for i, id := range ids {
			steps = append(steps, broker.Step{ID: id, Publish: []broker.Add{message(out, "n", fmt.Sprint(i))}})
		}
		for i, r := range k.steps("a", steps...) {
			want := broker.Done
			if i == 100 || i == 599 {
				want = broker.NotOwned
			}
			k.status(r, want)
		}
		equal(k, "published", len(k.entries(out)), 598)
		k.same(k.pendingOf("b"), []broker.ID{ids[100], ids[599]})
		equal(k, "pending", len(k.pending()), 2)
	}},
	{"find their entries among many others", nil, func(k *kit) {
		ids := k.fill(50)
		k.deliver("a", ids)
		out := k.key("replies")
		for _, r := range k.steps("a",
			broker.Step{ID: ids[0], Publish: []broker.Add{message(out, "n", "0")}},
			broker.Step{ID: ids[49], Publish: []broker.Add{message(out, "n", "49")}}) {
			k.status(r, broker.Done)
		}
		k.published(out, "0", "49")
		equal(k, "pending", len(k.pending()), 48)
	}},
	{"to a key of another type are refused, the others go on", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		out, bad := k.key("replies"), k.key("text")
		k.SetString(bad)
		r := k.steps("a",
			broker.Step{ID: ids[0], Publish: []broker.Add{message(out, "n", "0")}},
			broker.Step{ID: ids[1], Publish: []broker.Add{message(bad, "n", "1")}},
			broker.Step{ID: ids[2], Publish: []broker.Add{message(out, "n", "2")}})
		k.status(r[0], broker.Done)
		k.status(r[1], broker.Refused)
		k.fails(r[1].Err, broker.ErrWrongType, bad)
		k.status(r[2], broker.Done)
		k.published(out, "0", "2")
		k.same(k.pendingOf("a"), ids[1:2])
	}},
	{"with a later message to a key of another type write nothing", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		out, bad := k.key("replies"), k.key("text")
		k.SetString(bad)
		r := k.steps("a", broker.Step{ID: ids[0], Publish: []broker.Add{message(out, "n", "0"), message(bad, "n", "1")}})
		k.status(r[0], broker.Refused)
		k.fails(r[0].Err, broker.ErrWrongType, bad)
		k.published(out)
		k.same(k.pendingOf("a"), ids)
	}},
	{"refused can be sent again", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		bad := k.key("text")
		k.SetString(bad)
		step := broker.Step{ID: ids[0], Publish: []broker.Add{message(bad, "n", "1")}}
		k.status(k.steps("a", step)[0], broker.Refused)
		k.Delete(bad)
		k.status(k.steps("a", step)[0], broker.Done)
		k.published(bad, "1")
	}},
	{"whose first message is no entry are refused", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		out := k.key("replies")
		r := k.steps("a",
			broker.Step{ID: ids[0], Publish: []broker.Add{{Stream: out}, message(out, "n", "0")}},
			broker.Step{ID: ids[1], Publish: []broker.Add{message(out, "n", "1")}})
		k.status(r[0], broker.Refused)
		k.status(r[1], broker.Done)
		k.published(out, "1")
		k.same(k.pendingOf("a"), ids[:1])
	}},
	{"whose later message is no entry are torn and acknowledged", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		out := k.key("replies")
		r := k.steps("a",
			broker.Step{ID: ids[0], Publish: []broker.Add{message(out, "n", "0"), {Stream: out}, message(out, "n", "never")}},
			broker.Step{ID: ids[1], Publish: []broker.Add{message(out, "n", "1")}})
		k.status(r[0], broker.Torn)
		k.status(r[1], broker.Done)
		k.published(out, "0", "1")
		equal(k, "pending", k.info().Pending, 0)
	}},
	{"to their own stream append a copy", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		r := k.steps("a", broker.Step{ID: ids[0], Publish: []broker.Add{message(k.stream, "n", "copy")}})
		k.status(r[0], broker.Done)
		k.published(k.stream, "0", "copy")
		got := k.read("a", 10)
		equal(k, "new entries", len(got), 1)
		equal(k, "field", got[0].Fields[0].Value, "copy")
	}},
	{"of an entry without a body publish all the same", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.DeleteEntries(k.stream, ids[0])
		out := k.key("replies")
		k.status(k.steps("a", broker.Step{ID: ids[0], Publish: []broker.Add{message(out, "n", "x")}})[0], broker.Done)
		k.published(out, "x")
		equal(k, "pending", k.info().Pending, 0)
	}},
	{"trim where they publish, approximately", nil, func(k *kit) {
		ids := k.fill(900)
		k.deliver("a", ids)
		out := k.key("replies")
		var steps []broker.Step
		for i, id := range ids {
			m := message(out, "n", fmt.Sprint(i))
			m.MaxLen = 200
			steps = append(steps, broker.Step{ID: id, Publish: []broker.Add{m}})
		}
		k.steps("a", steps...)
		got := k.entries(out)
		if len(got) < 200 || len(got) > 400 || got[len(got)-1].Fields[0].Value != "899" {
			k.Fatalf("%d entries are left of about 200", len(got))
		}
	}},
	{"drop the records that are to be forgotten", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		for _, id := range ids {
			k.wait(broker.Wait{ID: id, Error: "e"}, broker.Done)
		}
		k.takeOver("b", "a", ids[1])
		out := k.key("replies")
		k.settle(&broker.Settlement{Owner: k.owner("a"), Forget: ids[:2], Steps: []broker.Step{
			{ID: ids[0], Publish: []broker.Add{message(out, "n", "0")}}, {ID: ids[1]}, {ID: ids[2]},
		}})
		equal(k, "record", k.record(ids[0]), broker.Record{})
		equal(k, "error of the one that was lost", k.record(ids[1]).Error, "e")
		equal(k, "error of the one that is kept", k.record(ids[2]).Error, "e")
	}},
	{"beside acknowledgements and waits", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		out := k.key("replies")
		r := k.settle(&broker.Settlement{
			Owner: k.owner("a"), Acks: ids[:1],
			Steps: []broker.Step{{ID: ids[1], Publish: []broker.Add{message(out, "n", "1")}}},
			Waits: []broker.Wait{{ID: ids[2], Error: "e"}},
		})
		k.status(r.Steps[0], broker.Done)
		equal(k, "wait", r.Waits[0], broker.Done)
		k.same(k.pendingOf("a"), ids[2:])
	}},
}
