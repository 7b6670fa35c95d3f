package sim

import (
	"slices"
	"strings"

	"pipeline/engine/broker"
	"pipeline/engine/observe"
)

// counts checks what workers count against what the server has written for them:
// neither more nor less, but for what a worker wrote and never heard of.
type counts struct {
	sim *sim
	// workers are the workers by the tokens of their consumers.
	workers map[string]string
	// open is what the server has written for a consumer that has not heard of it,
	// over what it has heard of.
	open map[holding]observe.Result
	over map[counted]int
	// unheard is what a worker wrote and was not answered at first.
	unheard map[counted]int
	// again are consumers that send a settlement again.
	again map[broker.Owner]bool
	// stale is what it was told is not its own any more.
	stale map[counted]int
}

// counted is a result of a worker in a subscription.
type counted struct {
	worker, subscription string
	result               observe.Result
}

// dead counts dead letters, beside the results that they have.
const dead observe.Result = "dead letters"

func (c *counts) init(s *sim) {
	c.sim, c.workers = s, map[string]string{}
	c.open, c.over = map[holding]observe.Result{}, map[counted]int{}
	c.unheard, c.stale = map[counted]int{}, map[counted]int{}
	c.again = map[broker.Owner]bool{}
}

func (c *counts) named(worker, token string) { c.workers[token] = worker }

// worker is whose consumer that is.
func (c *counts) worker(consumer string) string {
	return c.workers[consumer[strings.LastIndexByte(consumer, '.')+1:]]
}

// subscription is the label of the subscription of a consumer, which all sessions
// of the simulation's have as the first part of their names.
func (c *counts) key(consumer string, result observe.Result) counted {
	label, _, _ := strings.Cut(consumer, "-")
	return counted{c.worker(consumer), label, result}
}

// written is told of what the server has written, whether or not anybody hears.
func (c *counts) written(s *broker.Settlement, res *broker.SettleResult) {
	c.each(s, res, func(id broker.ID, result observe.Result) {
		h := holding{s.Consumer, id}
		if _, twice := c.open[h]; !twice {
			c.open[h] = result
		}
	})
}

// heard is told of a settlement that was answered.
func (c *counts) heard(s *broker.Settlement, res *broker.SettleResult) {
	c.each(s, res, func(id broker.ID, result observe.Result) {
		delete(c.open, holding{s.Consumer, id})
		c.count(c.over, s.Consumer, result)
	})
	unwritten := func(id broker.ID, said ...observe.Result) {
		h := holding{s.Consumer, id}
		switch result, ok := c.open[h]; {
		case ok:
			c.count(c.unheard, s.Consumer, result) // it may be taken for what it was, or for stale
			for _, word := range said {
				if result == observe.ResultDuplicate && word != result { // or for what it would have been, since its key is forgotten
					c.count(c.unheard, s.Consumer, word)
				}
			}
			delete(c.open, h)
		case c.again[s.Owner]: // it may take for its own what somebody else has settled
			for _, result := range said {
				c.count(c.unheard, s.Consumer, result)
			}
		}
		c.stale[c.key(s.Consumer, observe.ResultStale)]++
	}
	for i := range s.Steps {
		if res.Steps[i].Status == broker.NotOwned {
			id := s.Steps[i].ID
			said := []observe.Result{c.result(s.Group, &s.Steps[i], c.sim.model.words[holding{s.Consumer, id}])}
			if s.Steps[i].Mark != "" && said[0] != observe.ResultDuplicate {
				said = append(said, observe.ResultDuplicate) // where its key is marked, for another entry
			}
			unwritten(id, said...)
		}
	}
	for i := range s.Waits {
		if res.Waits[i] == broker.NotOwned {
			unwritten(s.Waits[i].ID, observe.ResultStale)
		}
	}
	delete(c.again, s.Owner)
}

func (c *counts) count(of map[counted]int, consumer string, result observe.Result) {
	kind, letter := strings.CutPrefix(string(result), "letter ")
	of[c.key(consumer, observe.Result(kind))]++
	if letter {
		of[c.key(consumer, dead)]++
	}
}

// each tells what was written as which result. A dead letter has "letter " before
// it.
func (c *counts) each(s *broker.Settlement, res *broker.SettleResult, tell func(broker.ID, observe.Result)) {
	said := func(id broker.ID) string { return c.sim.model.said[holding{s.Consumer, id}] }
	for _, id := range s.Acks {
		switch word := said(id); word {
		case "ack", "drop":
			tell(id, observe.Result(word))
		default:
			tell(id, observe.ResultForeignRetry)
		}
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		switch res.Steps[i].Status {
		case broker.Duplicate:
			tell(step.ID, observe.ResultDuplicate)
		case broker.Done, broker.Torn:
			tell(step.ID, c.result(s.Group, step, said(step.ID)))
		case broker.NotOwned, broker.Refused, broker.Gone:
		}
	}
	for i := range s.Waits {
		w := &s.Waits[i]
		switch {
		case res.Waits[i] != broker.Done, w.Uncount, w.Delivery == 0: // it is put or handed back
		case c.sim.model.backlog.unwritten(s, w): // there was no room for it when the worker left
		case w.Asked:
			tell(w.ID, observe.ResultRetry)
		default:
			tell(w.ID, observe.ResultFailed)
		}
	}
}

// result is what a step that was done is counted as.
func (c *counts) result(group string, step *broker.Step, said string) observe.Result {
	if len(step.Publish) == 0 {
		switch {
		case said == "ack" || said == "drop":
			return observe.Result(said)
		case c.foreign(group, step.ID):
			return observe.ResultForeignRetry
		}
		return observe.ResultDuplicate
	}
	switch step.Publish[0].Stream {
	case "out":
		return observe.ResultReply
	case "in":
		return observe.ResultRetry
	}
	at := slices.IndexFunc(step.Publish[0].Fields, func(f broker.Field) bool { return f.Name == "h:dead-letter-reason" })
	switch step.Publish[0].Fields[at].Value {
	case "rejected":
		return "letter dead"
	case "failed":
		return "letter failed"
	}
	return "letter invalid"
}

// foreign reports whether an entry is the copy that a retry in another group made.
func (c *counts) foreign(group string, id broker.ID) bool {
	c.sim.model.number(id) // so that it is known
	return slices.ContainsFunc(c.sim.model.known[id].fields, func(f broker.Field) bool { return f.Name == "h:x-retry-group" && f.Value != group })
}

// begins is told of starts that a worker has asked for: what it does not hold any
// more, or cannot be asked about, is stale there.
func (c *counts) begins(o broker.Owner, ids []broker.ID, holdings []broker.Holding, err error) {
	for i := range ids {
		if err != nil && !broker.Transient(err) || err == nil && holdings[i] == broker.HeldByOther {
			c.stale[c.key(o.Consumer, observe.ResultStale)]++
		}
	}
}

// results are those that are compared.
var results = []observe.Result{
	observe.ResultAck, observe.ResultRetry, observe.ResultReply, observe.ResultDead, observe.ResultDrop, observe.ResultFailed,
	observe.ResultInvalid, observe.ResultForeignRetry, observe.ResultDuplicate, dead,
}

// judge compares the counters of all workers.
func (c *counts) judge() {
	for h, result := range c.open { // whoever wrote it heard nothing more
		c.count(c.unheard, h.consumer, result)
	}
	told := map[string]int{}
	for _, e := range c.sim.Events() {
		switch e.Name {
		case observe.EventDuplicate:
			told[e.Worker] += e.Count
		case observe.EventLeaseLost: // its handler is called off
			c.stale[counted{e.Worker, e.Subscription, observe.ResultStale}] += e.Count
		}
	}
	for _, w := range c.sim.Workers() {
		duplicates := 0
		for _, sub := range w.Snapshot().Subscriptions {
			for _, result := range results {
				k := counted{w.Name(), sub.Label, result}
				got := int(sub.Settled[result])
				if result == dead {
					got = int(sub.Dead)
				}
				if got < c.over[k] || got > c.over[k]+c.unheard[k] {
					c.sim.model.wrong("counters: %s counts %d %s in %s; it heard of %d and wrote %d unheard",
						w.Name(), got, result, sub.Label, c.over[k], c.unheard[k])
				}
			}
			if got, most := int(sub.Settled[observe.ResultStale]), c.stale[counted{w.Name(), sub.Label, observe.ResultStale}]; got > most {
				c.sim.model.wrong("counters: %s counts %d stale in %s; it was told of %d", w.Name(), got, sub.Label, most)
			}
			duplicates += int(sub.Settled[observe.ResultDuplicate])
		}
		if told[w.Name()] != duplicates && !w.Crashed() {
			c.sim.model.wrong("counters: %s counts %d duplicates and told of %d", w.Name(), duplicates, told[w.Name()])
		}
	}
}
