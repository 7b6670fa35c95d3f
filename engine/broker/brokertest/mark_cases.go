package brokertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pipeline/engine/broker"
)

// marks are those of most cases; long is longer than any case takes.
var marks = broker.Marks{Set: "order", Window: time.Hour}

// marked looks up keys.
func (k *kit) marked(m broker.Marks, keys ...string) []broker.Mark {
	k.Helper()
	found, err := k.Broker.Marked(k.Context(), broker.MarkedRequest{Stream: k.stream, Group: k.group, Marks: m, Keys: keys})
	k.ok(err)
	if len(found) != len(keys) {
		k.Fatalf("%d keys were answered by %+v", len(keys), found)
	}
	return found
}

// by asserts which entries marked the keys; the zero id for none.
func (k *kit) by(m broker.Marks, keys []string, want ...broker.ID) {
	k.Helper()
	for i, mark := range k.marked(m, keys...) {
		if mark.By != want[i] || mark.Found() != (want[i] != broker.ID{}) {
			k.Fatalf("key %q is marked by %+v, want %v", keys[i], mark, want[i])
		}
	}
}

// mark settles steps of one consumer that mark keys.
func (k *kit) mark(consumer string, m broker.Marks, steps ...broker.Step) []broker.StepResult {
	k.Helper()
	return k.settle(&broker.Settlement{Owner: k.owner(consumer), Steps: steps, Marks: m}).Steps
}

// statuses asserts how steps ended.
func (k *kit) statuses(got []broker.StepResult, want ...broker.Status) {
	k.Helper()
	for i := range got {
		k.status(got[i], want[i])
	}
}

var markCases = []testCase{
	{"are set with an acknowledgement", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		k.by(marks, []string{"k1"}, broker.ID{})
		k.statuses(k.mark("a", marks, broker.Step{ID: ids[0], Mark: "k1"}, broker.Step{ID: ids[1]}), broker.Done, broker.Done)
		k.by(marks, []string{"k2", "k1", "k1"}, broker.ID{}, ids[0], ids[0])
		k.same(k.pendingOf("a"), ids[2:])
		if at := k.marked(marks, "k1")[0].At; at.Before(time.UnixMilli(int64(ids[0].Ms))) {
			k.Fatalf("marked at %v, before the entry %v was added", at, ids[0])
		}
	}},
	{"make the next one a duplicate, which is acknowledged and publishes nothing", nil, func(k *kit) {
		ids := k.fill(2)
		out := k.key("replies")
		k.deliver("a", ids)
		for i, want := range []broker.Status{broker.Done, broker.Duplicate} {
			r := k.mark("a", marks, broker.Step{ID: ids[i], Mark: "k", Publish: []broker.Add{message(out, "n", fmt.Sprint(i))}})
			k.statuses(r, want)
			if want == broker.Duplicate && r[0].Mark.By != ids[0] {
				k.Fatalf("the duplicate is one of %+v, want %v", r[0].Mark, ids[0])
			}
		}
		k.published(out, "0")
		equal(k, "pending", len(k.pending()), 0)
		k.by(marks, []string{"k"}, ids[0])
	}},
	{"make duplicates within one settlement", nil, func(k *kit) {
		ids := k.fill(4)
		out := k.key("replies")
		k.deliver("a", ids)
		var steps []broker.Step
		for i, key := range []string{"k", "other", "k", "k"} {
			steps = append(steps, broker.Step{ID: ids[i], Mark: key, Publish: []broker.Add{message(out, "n", fmt.Sprint(i))}})
		}
		k.statuses(k.mark("a", marks, steps...), broker.Done, broker.Done, broker.Duplicate, broker.Duplicate)
		k.published(out, "0", "1")
		equal(k, "pending", len(k.pending()), 0)
	}},
	{"are not set where the entry is another's, and do not acknowledge it", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.takeOver("b", "a", ids[0])
		k.statuses(k.mark("a", marks, broker.Step{ID: ids[0], Mark: "k"}), broker.NotOwned)
		k.by(marks, []string{"k"}, broker.ID{})
		k.statuses(k.mark("a", marks, broker.Step{ID: ids[1], Mark: "k"}), broker.Done)
		r := k.mark("a", marks, broker.Step{ID: ids[0], Mark: "k"})
		k.statuses(r, broker.NotOwned)
		equal(k, "mark of another entry", r[0].Mark, nil)
		k.same(k.pendingOf("b"), ids[:1])
		k.statuses(k.mark("b", marks, broker.Step{ID: ids[0], Mark: "k"}), broker.Duplicate)
	}},
	{"tell a step that is sent again that it was done", nil, func(k *kit) {
		ids := k.fill(2)
		out := k.key("replies")
		k.deliver("a", ids)
		s := []broker.Step{{ID: ids[0], Mark: "k", Publish: []broker.Add{message(out, "n", "x")}}, {ID: ids[1], Mark: "k"}}
		k.statuses(k.mark("a", marks, s...), broker.Done, broker.Duplicate)
		r := k.mark("a", marks, s...)
		k.statuses(r, broker.NotOwned, broker.NotOwned)
		equal(k, "own mark", r[0].Mark.By, ids[0])
		equal(k, "another's mark", r[1].Mark, nil)
		k.published(out, "x")
	}},
	{"are not set where nothing could be published", nil, func(k *kit) {
		ids := k.fill(2)
		text := k.key("text")
		k.SetString(text)
		k.deliver("a", ids)
		bad := broker.Step{ID: ids[0], Mark: "k", Publish: []broker.Add{message(text, "n", "x")}}
		k.statuses(k.mark("a", marks, bad, broker.Step{ID: ids[1], Mark: "other"}), broker.Refused, broker.Done)
		k.by(marks, []string{"k", "other"}, broker.ID{}, ids[1])
		k.same(k.pendingOf("a"), ids[:1])
	}},
	{"find a duplicate though its messages could not be published", nil, func(k *kit) {
		ids := k.fill(2)
		text := k.key("text")
		k.SetString(text)
		k.deliver("a", ids)
		k.mark("a", marks, broker.Step{ID: ids[0], Mark: "k"})
		bad := broker.Step{ID: ids[1], Mark: "k", Publish: []broker.Add{message(text, "n", "x")}}
		k.statuses(k.mark("a", marks, bad), broker.Duplicate)
		equal(k, "pending", len(k.pending()), 0)
	}},
	{"are set where a later message was refused", nil, func(k *kit) {
		ids := k.fill(2)
		out := k.key("replies")
		k.deliver("a", ids)
		torn := broker.Step{ID: ids[0], Mark: "k", Publish: []broker.Add{message(out, "n", "x"), {Stream: out}}}
		k.statuses(k.mark("a", marks, torn), broker.Torn)
		k.statuses(k.mark("a", marks, broker.Step{ID: ids[1], Mark: "k"}), broker.Duplicate)
		k.published(out, "x")
	}},
	{"drop the record of a duplicate, too", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.wait(broker.Wait{ID: ids[1], Error: "e"}, broker.Done)
		steps := []broker.Step{{ID: ids[0], Mark: "k"}, {ID: ids[1], Mark: "k"}}
		r := k.settle(&broker.Settlement{Owner: k.owner("a"), Steps: steps, Marks: marks, Forget: ids[1:]})
		k.statuses(r.Steps, broker.Done, broker.Duplicate)
		equal(k, "record", k.record(ids[1]), broker.Record{})
	}},
	{"outlive the group and the stream", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.mark("a", marks, broker.Step{ID: ids[0], Mark: "k"})
		k.DestroyGroup(k.stream, k.group)
		k.by(marks, []string{"k"}, ids[0])
		k.create("0")
		k.deliver("b", ids)
		r := k.mark("b", marks, broker.Step{ID: ids[0], Mark: "k"})
		k.statuses(r, broker.Duplicate)
		equal(k, "marked by itself", r[0].Mark.By, ids[0])
		k.Delete(k.stream)
		k.by(marks, []string{"k"}, ids[0])
		k.Flush()
		k.by(marks, []string{"k"}, broker.ID{})
	}},
	{"are those of one group and one set", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.mark("a", marks, broker.Step{ID: ids[0], Mark: "k"})
		other := broker.Marks{Set: "order:0", Window: time.Hour}
		k.by(other, []string{"k"}, broker.ID{})
		k.statuses(k.mark("a", other, broker.Step{ID: ids[1], Mark: "k"}), broker.Done)
		k.group = "fraud"
		k.by(marks, []string{"k"}, broker.ID{})
		k.by(other, []string{"k"}, broker.ID{})
	}},
	{"take any key, and tell long ones apart", nil, func(k *kit) {
		long := strings.Repeat("k", 5000)
		digest := "sha256:" + strings.Repeat("0", 64)
		keys := []string{" ", "a:b", "\x00\xff\r\n", "ключ", "0", long, long + "x", digest, strings.Repeat("e", 64), strings.Repeat("e", 65)}
		ids := k.fill(len(keys))
		k.deliver("a", ids)
		for i, key := range keys {
			k.statuses(k.mark("a", marks, broker.Step{ID: ids[i], Mark: key}), broker.Done)
		}
		k.by(marks, keys, ids...)
	}},
	{"in thousands", nil, func(k *kit) {
		ids := k.fill(3000)
		k.deliver("a", ids)
		steps := make([]broker.Step, len(ids))
		keys := make([]string, len(ids))
		for i, id := range ids {
			keys[i] = fmt.Sprint("key ", i/2)
			steps[i] = broker.Step{ID: id, Mark: keys[i]}
		}
		for i, r := range k.mark("a", marks, steps...) {
			k.status(r, []broker.Status{broker.Done, broker.Duplicate}[i%2])
		}
		for i, mark := range k.marked(marks, keys...) {
			equal(k, "marked by", mark.By, ids[i-i%2])
		}
		equal(k, "pending", len(k.pending()), 0)
	}},
	{"refuse a message that is too wide for one step", nil, func(k *kit) {
		ids := k.fill(2)
		out := k.key("replies")
		k.deliver("a", ids)
		publish := []broker.Add{{Stream: out, Fields: wide()}}
		r := k.mark("a", marks, broker.Step{ID: ids[0], Mark: "k", Publish: publish}, broker.Step{ID: ids[1], Publish: publish})
		k.statuses(r, broker.Refused, broker.Done)
		k.fails(r[0].Err, broker.ErrUnsupported, "2450")
		k.by(marks, []string{"k"}, broker.ID{})
		k.same(k.pendingOf("a"), ids[:1])
	}},
	{"refuse what makes no sense", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		for _, s := range []broker.Settlement{
			{Steps: []broker.Step{{ID: ids[0], Mark: "k"}}},
			{Steps: []broker.Step{{ID: ids[0], Mark: "k"}}, Marks: broker.Marks{Set: "s"}},
			{Steps: []broker.Step{{ID: ids[0], Mark: "k"}}, Marks: broker.Marks{Window: time.Hour}},
			{Steps: []broker.Step{{ID: ids[0], Gone: true}}, Marks: marks},
		} {
			s.Owner = k.owner("a")
			_, err := k.Broker.Settle(k.Context(), &s)
			k.fails(err, nil)
		}
		for _, r := range []broker.MarkedRequest{{Marks: marks, Keys: []string{""}}, {Keys: []string{"k"}}} {
			r.Stream, r.Group = k.stream, k.group
			_, err := k.Broker.Marked(k.Context(), r)
			k.fails(err, nil)
		}
		k.same(k.pendingOf("a"), ids)
	}},
}

var markTimeCases = []testCase{
	{"end with the window", nil, inTime(100*time.Millisecond, func(k *kit) {
		ids := k.fill(3)
		short := broker.Marks{Set: "short", Window: k.span(500 * time.Millisecond)}
		k.deliver("a", ids)
		k.mark("a", short, broker.Step{ID: ids[0], Mark: "k"})
		k.mark("a", marks, broker.Step{ID: ids[1], Mark: "k"})
		k.Advance(short.Window)
		k.by(short, []string{"k"}, broker.ID{})
		k.by(marks, []string{"k"}, ids[1])
		k.statuses(k.mark("a", short, broker.Step{ID: ids[2], Mark: "k"}), broker.Done)
		k.by(short, []string{"k"}, ids[2])
	})},
	{"last the window, neither less nor more, wherever in the rotation they were set", nil, func(k *kit) {
		const step = 130 * time.Millisecond
		m := broker.Marks{Set: "turning", Window: 3 * step}
		ids := k.fill(14)
		k.deliver("a", ids)
		var before, after []time.Time
		for i, id := range ids {
			before = append(before, k.serverTime())
			k.statuses(k.mark("a", m, broker.Step{ID: id, Mark: fmt.Sprint("k", i)}), broker.Done)
			after = append(after, k.serverTime())
			k.Advance(step)
			for j := range before {
				asked := k.serverTime()
				found := k.marked(m, fmt.Sprint("k", j))[0].Found()
				answered := k.serverTime()
				// A server's clock counts whole milliseconds.
				if found && asked.Sub(after[j]) > m.Window || !found && answered.Sub(before[j]) < m.Window-time.Millisecond {
					k.Fatalf("key %d, marked between %v and %v: found %v between %v and %v", j, before[j], after[j], found, asked, answered)
				}
			}
		}
	}},
}

var goneCases = []testCase{
	{"are done without a fence, once", nil, func(k *kit) {
		ids := k.fill(2)
		out := k.key("replies")
		k.deliver("a", ids)
		k.ack("a", ids[0])
		s := broker.Step{ID: ids[0], Mark: "k", Gone: true, Publish: []broker.Add{message(out, "n", "x")}}
		k.statuses(k.mark("a", marks, s), broker.Done)
		r := k.mark("a", marks, s)
		k.statuses(r, broker.Duplicate)
		equal(k, "marked by itself", r[0].Mark.By, ids[0])
		k.published(out, "x")
		k.statuses(k.mark("a", marks, broker.Step{ID: ids[1], Mark: "k"}), broker.Duplicate)
		equal(k, "pending", len(k.pending()), 0)
	}},
	{"are duplicates of what was marked", nil, func(k *kit) {
		ids := k.fill(2)
		out := k.key("replies")
		k.deliver("a", ids)
		k.ack("a", ids[0])
		gone := broker.Step{ID: ids[0], Mark: "k", Gone: true, Publish: []broker.Add{message(out, "n", "x")}}
		k.statuses(k.mark("a", marks, broker.Step{ID: ids[1], Mark: "k"}), broker.Done)
		k.statuses(k.mark("a", marks, gone), broker.Duplicate)
		k.published(out)
	}},
	{"beside others of a batch", nil, func(k *kit) {
		ids := k.fill(4)
		k.deliver("a", ids)
		k.ack("a", ids[1], ids[2])
		k.statuses(k.mark("a", marks,
			broker.Step{ID: ids[0], Mark: "k0"}, broker.Step{ID: ids[1], Mark: "k1", Gone: true},
			broker.Step{ID: ids[2], Mark: "k2"}, broker.Step{ID: ids[3], Mark: "k1"},
		), broker.Done, broker.Done, broker.NotOwned, broker.Duplicate)
		k.by(marks, []string{"k0", "k1", "k2"}, ids[0], ids[1], broker.ID{})
	}},
}

// serverTime is the time of the server.
func (k *kit) serverTime() time.Time {
	s := &side{kit: k}
	return s.now()
}

// markedState is what is marked of the keys of a comparison.
func (s *side) markedState(group string) string {
	var w strings.Builder
	for _, m := range []broker.Marks{longMarks, shortMarks} {
		found, err := s.Broker.Marked(s.Context(), broker.MarkedRequest{Stream: s.stream, Group: group, Marks: m, Keys: slices.Clone(comparedKeys)})
		for i, mark := range found {
			if mark.Found() {
				fmt.Fprintf(&w, "%q marked by %s, %s; ", short(fields(comparedKeys[i], "")), s.id(mark.By), s.touched(s.now(), s.now().Sub(mark.At)))
			}
		}
		fmt.Fprintln(&w, m.Set, kindOf(s, err))
	}
	return w.String()
}

// The marks and keys of a comparison. What is marked for a millisecond is
// forgotten at the next operation.
var (
	longMarks    = broker.Marks{Set: "long", Window: time.Hour}
	shortMarks   = broker.Marks{Set: "short", Window: time.Millisecond}
	comparedKeys = []string{"k", "other", "\x00\xff", strings.Repeat("k", 100)}
)
