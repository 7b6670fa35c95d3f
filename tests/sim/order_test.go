package sim

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// order is what an entry tells its handlers to do. Both groups get it.
type order struct {
	do  string
	x   int
	key int
	// mark is what it has in common with others whose mark is below manyMarks; with
	// others, nothing.
	mark int
}

// manyMarks is how many keys there are that several entries may have.
const manyMarks = 3

// doings are what handlers can be told to do.
var doings = []string{
	"ack", "ack", "reply", "reply", "reply", "replies", "drop", "dead", "retry", "after", "fail", "flaky", "panic", "nothing",
	"slow", "broken", "large", "binary",
}

func drawOrder(t *rapid.T) order {
	return order{
		do: one(t, doings, "do"), x: between(t, 1, 3, "x"), key: between(t, 0, 3, "key"),
		mark: between(t, 0, 2*manyMarks-1, "mark"),
	}
}

// maxEntrySize is that of the stream; a "large" entry is larger.
const maxEntrySize = 200

// fields is the entry as it is published, with number n.
func (o order) fields(n int) []broker.Field {
	body := fmt.Sprintf(`{"n":%d,"do":%q,"x":%d,"k":%q}`, n, o.do, o.x, o.marked(n))
	key := "key-" + strconv.Itoa(o.key)
	fields := []broker.Field{{Name: "h:redis-partition-key", Value: key}, {Name: spec.DefaultBody, Value: body}}
	switch o.do {
	case "broken":
		fields[1].Value = body[:len(body)-1]
	case "large":
		fields[1].Value += strings.Repeat(" ", maxEntrySize)
	case "binary":
		// What JSON cannot be, with fields that repeat, are empty and no text.
		fields[1].Value = "\x00\xff" + body
		fields = append(fields, broker.Field{Name: "a", Value: "1"}, broker.Field{Name: "a"}, broker.Field{Name: "\xfe", Value: "\x00"})
	}
	return fields
}

// marked is the entry's key for idempotency.
func (o order) marked(n int) string {
	if o.mark < manyMarks {
		return "m" + strconv.Itoa(o.mark)
	}
	return "u" + strconv.Itoa(n)
}

// identity is the same, empty where the entry cannot be read.
func (o order) identity(n int) string {
	if l := o.letter(); l == "invalid" || l == "too_large" {
		return ""
	}
	return o.marked(n)
}

// replies is how many replies the entry has once it succeeds.
func (o order) replies() int {
	switch o.do {
	case "reply", "retry", "after", "flaky", "panic", "slow":
		return 1
	case "replies":
		return 3
	}
	return 0
}

// letter is the reason of its dead letter, where that is how it ends.
func (o order) letter() string {
	switch o.do {
	case "dead":
		return "rejected"
	case "fail", "nothing":
		return "failed"
	case "broken", "binary":
		return "invalid"
	case "large":
		return "too_large"
	}
	return ""
}

// handle is the handler of all subscriptions of a group.
func (s *sim) handle(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
	n := number(d.Body, "n")
	k := place{d.Group, n}
	defer s.running(ctx, d, k)()
	s.runs[k]++
	id, _ := broker.ParseID(d.ID)
	h := holding{harness.WorkerOf(ctx).Consumer(d.Subscription), id}
	s.model.said[h] = "failed" // unless it comes to something
	said := s.carryOut(ctx, d, k)
	s.model.said[h] = said.Kind.String()
	s.model.words[h] = said.Kind.String()
	return said
}

func (s *sim) carryOut(ctx context.Context, d *sandbox.Delivery, k place) outcome.Outcome {
	x := number(d.Body, "x")
	switch d.Body.Get("do").Text() {
	case "ack":
		return outcome.Outcome{Kind: outcome.Ack}
	case "replies":
		return s.reply(k, 3)
	case "drop":
		return outcome.Outcome{Kind: outcome.Drop, Reason: "told to"}
	case "dead":
		return outcome.Outcome{Kind: outcome.Dead, Reason: "told to"}
	case "retry":
		if s.runs[k] <= x {
			return outcome.Outcome{Kind: outcome.Retry, Reason: "told to"}
		}
	case "after":
		if s.runs[k] <= x {
			return outcome.Outcome{Kind: outcome.Retry, HasAfter: true, After: time.Duration(x) * 700 * time.Millisecond}
		}
	case "fail":
		return outcome.Fail(outcome.FailError, "told to")
	case "flaky":
		if s.runs[k] <= min(x, 2) { // the fewest attempts are three
			return outcome.Fail(outcome.FailError, "told to")
		}
	case "panic":
		if s.runs[k] == 1 {
			panic("told to")
		}
	case "nothing":
		return outcome.Outcome{}
	case "slow":
		if harness.Sleep(ctx, time.Duration(x)*minIdle*4/5) != nil {
			return outcome.Fail(outcome.FailCanceled, "called off")
		}
	}
	return s.reply(k, 1)
}

// reply is an outcome with count replies that say whose they are.
func (s *sim) reply(k place, count int) outcome.Outcome {
	said := outcome.Outcome{Kind: outcome.Reply}
	for i := range count {
		body, err := value.ParseJSON(fmt.Sprintf(`{"g":%q,"n":%d,"i":%d}`, k.group, k.n, i), new(value.Arena))
		if err != nil {
			panic(err)
		}
		said.Replies = append(said.Replies, outcome.Message{Body: body})
	}
	return said
}

// number is a member of a body as an integer.
func number(v *value.Value, name string) int {
	n, err := strconv.Atoi(v.Get(name).Text())
	if err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	return n
}
