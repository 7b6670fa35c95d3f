package sim

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
)

// plain is a pipeline with one worker a subscription, and nothing special.
func plain() shape {
	return shape{
		Workers: 1, Batch: 1, Attempts: 3, NewWorkers: 1, NewBatch: 1, NewMinIdle: minIdle, Machines: 1,
	}
}

// on has something go wrong once.
func on(op string, at step, e effect, d time.Duration) act {
	return act{kind: network, network: hitch{At: failpoint{op, at}, Effect: e, Times: 1, For: d}}
}

func after(d time.Duration) act { return act{kind: advance, d: d} }

func publishes(orders ...order) act { return act{kind: publish, entries: orders} }

func killedAt(nth int) act {
	return act{kind: fault, fault: harness.Fault{Kind: harness.Crash, At: harness.BeforeRun, Nth: nth, For: 10 * time.Millisecond}}
}

func lostReply(nth int) act {
	return act{kind: fault, fault: harness.Fault{Kind: harness.LostReply, At: harness.AtSettle, Nth: nth, For: 10 * time.Millisecond}}
}

// three are three entries with which nothing is wrong.
var three = []order{{do: "ack", x: 1}, {do: "ack", x: 1}, {do: "ack", x: 1}}

// past are histories of which the model once said wrongly that something is wrong
// with them, and what it must find there where the product has a fault.
var past = []struct {
	name, version string
	shape         func(*shape)
	acts          []act
	// then is what happens with the fault besides.
	then  []act
	fault func(broker.Broker) broker.Broker
	says  string
}{
	{
		name: "a worker that waits for a server which is back for long", version: "7.0.15",
		shape: func(s *shape) { s.Hold = true },
		acts: []act{
			on("list pending", unanswered, breaks, 0),
			publishes(order{do: "ack", x: 1}), publishes(order{do: "ack", x: 1}), publishes(order{do: "after", x: 2}),
			after(780 * time.Millisecond), {kind: jump, d: 10 * time.Millisecond},
			{kind: away, d: 10 * time.Millisecond}, {kind: away, d: 6500 * time.Millisecond}, after(7800 * time.Millisecond), {kind: restart},
		},
		then:  []act{after(time.Minute), {kind: start}, publishes(order{do: "slow", x: 3}), after(time.Minute)},
		fault: func(b broker.Broker) broker.Broker { return mutant{Broker: b, renew: unrenewed} }, says: "holds it",
	},
	{
		name: "a letter of an entry that is gone, of which nobody heard", version: "8.6.3",
		acts: []act{
			on("publish unfenced", unanswered, breaks, 0),
			publishes(order{do: "slow", x: 1}, order{do: "broken", x: 1}, order{do: "ack", x: 1}), {kind: deletion, n: 1}, after(3800 * time.Millisecond),
		},
		fault: func(b broker.Broker) broker.Broker { return twice{b} }, says: "dead-lettered twice",
	},
	{
		name: "what waits for a retry handed back, and nobody hears of it", version: "8.6.3",
		shape: func(s *shape) { s.Split, s.Hold = true, true },
		acts: []act{
			publishes(order{do: "panic", x: 1}, order{do: "nothing", x: 2, key: 3}), on("settle", unanswered, breaks, 0),
			{kind: setTime, d: -750 * time.Millisecond}, {kind: stop}, {kind: setTime, d: -29500 * time.Millisecond},
		},
		then: []act{
			{kind: start}, publishes(order{do: "panic", x: 1}), {kind: stop}, {kind: setTime, d: -29500 * time.Millisecond}, after(20 * time.Second),
		},
		fault: func(b broker.Broker) broker.Broker { return mutant{Broker: b, admit: admitted} }, says: "before it is due",
	},
	{
		name: "letters handed back behind a withheld reply of its key", version: "8.6.3",
		shape: func(s *shape) { s.Hold, s.Backlog, s.Batch = true, 2, 3 },
		acts: []act{
			{kind: still}, publishes(order{do: "reply"}, order{do: "replies", key: 1}, order{do: "reply", key: 2}, order{do: "dead", key: 2}, order{do: "large", key: 2}),
			after(time.Second), {kind: stop},
		},
		fault: func(b broker.Broker) broker.Broker { return mutant{Broker: b, groups: caughtUp} }, says: "max_backlog is 2",
	},
	{
		name: "answers of several messages that two looks let through", version: "7.0.15",
		shape: func(s *shape) { s.Backlog = 5 },
		acts: []act{
			publishes(order{do: "reply", key: 1}, order{do: "ack", key: 3}, order{do: "after", x: 2}), after(210 * time.Millisecond),
			publishes(order{do: "replies", key: 1}, order{do: "ack", key: 1}, order{do: "reply"}, order{do: "flaky", x: 2, key: 1}), {kind: still},
		},
		then:  []act{publishes(order{do: "replies"}, order{do: "replies"})},
		fault: func(b broker.Broker) broker.Broker { return mutant{Broker: b, groups: caughtUp} }, says: "max_backlog is 5",
	},
	{
		name: "a group that is lost while it is lost", version: "8.6.3",
		acts:  []act{{kind: destroy}, {kind: full}, after(20 * time.Second), {kind: destroy}},
		then:  []act{{kind: room}, publishes(order{do: "ack"}), after(40 * time.Second), {kind: destroy}},
		fault: func(b broker.Broker) broker.Broker { return floorless{b} }, says: "floor: that of group ledger was last written",
	},
	{
		name: "a settlement in parts whose worker dies behind the second", version: "7.0.15",
		shape: func(s *shape) { s.Split, s.Workers, s.Batch, s.Machines = true, 2, 3, 3 },
		acts: []act{
			on("settle", split, stalls, 20*time.Second),
			publishes(order{do: "broken", x: 3, key: 3, mark: 3}, order{do: "nothing", x: 2, mark: 1}, order{do: "reply", x: 2, key: 3, mark: 1}),
			{kind: fault, fault: harness.Fault{Kind: harness.Crash, At: harness.AfterAck, Nth: 2}}, after(21100 * time.Millisecond),
		},
		fault: unpublished, says: "lost",
	},
	{
		name: "a copy that is made and lost within a moment", version: "8.6.3",
		shape: func(s *shape) { s.Split, s.Batch = true, 3 },
		acts: []act{
			publishes(order{do: "ack", x: 1}, order{do: "ack", x: 1}, order{do: "retry", x: 1}, order{do: "slow", x: 1}),
			{kind: flush},
		},
		then:  []act{publishes(order{do: "reply"})},
		fault: unpublished, says: "lost",
	},
	{
		name: "an entry that is chosen, and started after its process stood still", version: "8.6.3",
		acts: []act{
			publishes(order{do: "after", x: 1}), after(10 * time.Millisecond),
			{kind: fault, fault: harness.Fault{Kind: harness.Stall, At: harness.BeforeRun, Nth: 1, For: 10 * time.Millisecond}},
			{kind: stall, d: 1510 * time.Millisecond}, publishes(order{do: "ack", x: 1}),
		},
		then:  []act{publishes(order{do: "reply"})},
		fault: unpublished, says: "lost",
	},
	{
		name: "a duplicate whose answer is lost until its key is forgotten", version: "7.0.15",
		shape: func(s *shape) { s.Window = 5 * time.Second },
		acts: []act{
			lostReply(3),
			publishes(order{do: "ack", x: 1, mark: 1}, order{do: "ack", x: 1, mark: 1}), {kind: stall, d: 7600 * time.Millisecond},
		},
		then:  []act{publishes(order{do: "reply"})},
		fault: unpublished, says: "lost",
	},
	{
		name: "an entry that its own consumer claims while it is held", version: "8.6.3",
		shape: func(s *shape) { s.Workers, s.NewMinIdle = 2, minIdle/2 },
		acts: []act{
			lostReply(1), {kind: start}, lostReply(1), publishes(three...), after(10 * time.Millisecond),
			publishes(slices.Concat(three, three)...), killedAt(1), {kind: room}, {kind: stall, n: 4, d: 830 * time.Millisecond},
			publishes(order{do: "after", x: 1, mark: 5}, order{do: "after", x: 1, mark: 4}, order{do: "after", x: 2, key: 3}, order{do: "large", x: 1, key: 1, mark: 3}),
			{kind: start, n: 3}, {kind: setTime, d: 9500 * time.Millisecond},
		},
		then:  []act{publishes(order{do: "reply"})},
		fault: unpublished, says: "lost",
	},
	{
		name: "an entry that is taken before its consumer hears that it waits", version: "7.0.15",
		shape: func(s *shape) { s.Attempts, s.NewMinIdle, s.Hold = 5, 2*minIdle, true },
		acts: []act{
			{kind: start}, {kind: restart}, lostReply(1), {kind: fault, fault: harness.Fault{Kind: harness.Slow, Nth: 1, For: 10 * time.Millisecond}},
			after(380 * time.Millisecond), killedAt(1), lostReply(1),
			publishes(order{do: "broken", x: 1}, order{do: "slow", x: 1}, order{do: "after", x: 1, key: 2}, order{do: "nothing", x: 1, key: 2},
				order{do: "ack", x: 1}, order{do: "ack", x: 1}),
			{kind: fault, fault: harness.Fault{Kind: harness.Slow, Nth: 4, For: 7900 * time.Millisecond}}, {kind: start}, {kind: kill, n: 3},
			{kind: stall, n: 5, d: 2190 * time.Millisecond}, {kind: start, n: 5}, {kind: setTime, d: 29 * time.Second},
		},
		then:  []act{publishes(order{do: "reply"})},
		fault: unpublished, says: "lost",
	},
}

// unpublished acknowledges what is to be published, and publishes nothing.
func unpublished(b broker.Broker) broker.Broker {
	m := published(func(s *broker.Step) { s.Publish = nil })
	m.Broker = b
	return m
}

// floorless writes no floors, and says that it does.
type floorless struct{ broker.Broker }

func (floorless) SaveFloor(context.Context, string, string) error { return nil }

// twice publishes what nothing fences twice.
type twice struct{ broker.Broker }

func (b twice) Add(ctx context.Context, adds []broker.Add) ([]broker.ID, error) {
	if _, err := b.Broker.Add(ctx, adds); err != nil {
		return nil, err
	}
	return b.Broker.Add(ctx, adds)
}

func TestHistoriesThatWereMisjudged(t *testing.T) {
	for _, c := range past {
		t.Run(c.name, func(t *testing.T) {
			p := &plan{shape: plain(), acts: c.acts, tally: &tally{}}
			if c.shape != nil {
				c.shape(&p.shape)
			}
			if problems, state := play(c.version, p, nil); len(problems) > 0 {
				t.Errorf("%s\n%v%s", strings.Join(problems, "\n"), p, state())
			}
			for _, a := range c.acts {
				if a.kind == network && p.tally.of(a.network.At.String()) == 0 {
					t.Errorf("nothing went wrong %v", a.network.At)
				}
			}
			p.acts = slices.Concat(c.acts, c.then)
			if problems, _ := play(c.version, p, c.fault); !strings.Contains(strings.Join(problems, "\n"), c.says) {
				t.Errorf("with the fault: %q, want %q", problems, c.says)
			}
		})
	}
}
