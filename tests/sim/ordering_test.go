package sim

import (
	"slices"
	"time"

	"pipeline/engine/broker"
	"pipeline/sandbox"
)

// ordering checks the promise "one key, one order, inside one living consumer": of
// the entries of a key that have come to a consumer and have not started, the
// lower ids start first. An entry that comes after a later one of its key has
// started cannot be ordered any more. It also checks that nothing runs again that
// the consumer has settled since it came.
type ordering struct {
	// now is the time.
	now func() time.Time
	// moment counts what happens.
	moment int
	// arrived is when each entry came to each consumer last, ended at which moment
	// it was settled there.
	arrived map[holding]arrival
	ended   map[holding]int
	// before is when it came before that, if it did.
	before map[holding]arrival
	// picked is when what a consumer has chosen to run had come to it, while its start
	// is written down. It may come once more meanwhile, where its group was lost.
	picked map[holding]arrival
	// started are the starts of each key in each consumer.
	started map[lane][]begun
	// reads counts what was read, first is when each entry came to each consumer that
	// it has not started since: what comes once more while it is held there is left as
	// it is.
	reads int
	first map[holding]first
	// checked are what a consumer was given, read by read, together with entries that
	// it has to ask the server about before any of them is queued.
	checked map[broker.Owner][]checked
}

// first is when an entry came, and by which read.
type first struct {
	arrival

	read int
}

// checked is one read of which something is asked about.
type checked struct {
	read int
	ids  []broker.ID
}

// holding is an entry at a consumer.
type holding struct {
	consumer string
	id       broker.ID
}

// arrival is when an entry came.
type arrival struct {
	moment int
	time   time.Time
}

// begun is one run of an entry: what it was that came, and when it was chosen to be started.
// From the third delivery on a start is written down first, which takes its time:
// when such an entry was chosen is not known.
type begun struct {
	id     broker.ID
	came   arrival
	at     time.Time
	chosen bool
}

func (o *ordering) init(now func() time.Time) {
	o.now, o.arrived, o.ended = now, map[holding]arrival{}, map[holding]int{}
	o.before, o.picked = map[holding]arrival{}, map[holding]arrival{}
	o.started, o.checked, o.first = map[lane][]begun{}, map[broker.Owner][]checked{}, map[holding]first{}
}

// came is told of what a read, a claim or a sweep brought.
func (o *ordering) came(owner broker.Owner, ds []broker.Delivery) {
	o.moment++
	asks := false
	var ids []broker.ID
	for i := range ds {
		ids = append(ids, ds[i].ID)
		asks = asks || ds[i].Deliveries > 0 || len(ds[i].Fields) == 0
	}
	o.reads++
	o.arrive(owner, ids, o.reads)
	if asks {
		o.checked[owner] = append(o.checked[owner], checked{o.reads, ids})
	}
}

// asked is told that a consumer has asked the server about entries: those that came
// with them are queued now, and those of earlier reads were before.
func (o *ordering) asked(owner broker.Owner, about []broker.ID) {
	o.moment++
	for i, c := range o.checked[owner] {
		if slices.ContainsFunc(c.ids, func(id broker.ID) bool { return slices.Contains(about, id) }) {
			o.checked[owner] = o.checked[owner][i:]
			o.arrive(owner, c.ids, c.read)
			return
		}
	}
}

func (o *ordering) arrive(owner broker.Owner, ids []broker.ID, read int) {
	for _, id := range ids {
		h := holding{owner.Consumer, id}
		if last, again := o.arrived[h]; again && last.time.Before(o.now()) {
			o.before[h] = last
		}
		o.arrived[h] = arrival{o.moment, o.now()}
		if f, held := o.first[h]; !held || f.read == read {
			o.first[h] = first{o.arrived[h], read}
		}
	}
}

// begins is told that a consumer has starts of entries written down.
func (o *ordering) begins(owner broker.Owner, ids []broker.ID) {
	for _, id := range ids {
		h := holding{owner.Consumer, id}
		if _, again := o.picked[h]; !again {
			o.picked[h] = o.arrived[h]
		}
	}
}

// begun is told what came of that, unless it is asked for again.
func (o *ordering) begun(owner broker.Owner, ids []broker.ID, holdings []broker.Holding, err error) {
	for i, id := range ids {
		if err != nil && !broker.Transient(err) || err == nil && holdings[i] == broker.HeldByOther {
			delete(o.picked, holding{owner.Consumer, id})
		}
	}
}

// starts is told that an entry runs that was started at a time, and chosen then or before, and returns what is
// wrong with that.
func (o *ordering) starts(l lane, d *sandbox.Delivery, id broker.ID, at, chosenAt time.Time) string {
	o.moment++
	h := holding{l.consumer, id}
	came, picked := o.picked[h]
	if delete(o.picked, h); !picked {
		came = o.arrived[h]
	}
	if came.time.After(at) { // it came once more after it was chosen: its group was lost
		came = o.before[h]
	}
	defer func() {
		queued := came
		if f, ok := o.first[h]; ok && f.moment < came.moment {
			queued = f.arrival
		}
		delete(o.first, h)
		o.started[l] = append(o.started[l], begun{id, queued, chosenAt, d.Deliveries < broker.Recorded})
		for owner, reads := range o.checked {
			for i := range reads {
				if owner.Consumer == l.consumer {
					reads[i].ids = without(reads[i].ids, id)
				}
			}
		}
	}()
	if o.ended[h] > o.arrived[h].moment {
		return "again: it was settled since it came"
	}
	for _, s := range o.started[l] {
		if id.Less(s.id) && (came.moment <= s.came.moment || s.chosen && came.time.Before(s.at)) {
			return "order: " + s.id.String() + " was started before it"
		}
	}
	return ""
}

func without(ids []broker.ID, id broker.ID) []broker.ID {
	var rest []broker.ID
	for _, other := range ids {
		if other != id {
			rest = append(rest, other)
		}
	}
	return rest
}

// written is told of a settlement that was answered.
func (o *ordering) written(s *broker.Settlement, res *broker.SettleResult) {
	o.moment++
	for _, id := range s.Acks {
		o.ended[holding{s.Consumer, id}] = o.moment
	}
	for i := range s.Steps {
		if res.Steps[i].Status == broker.Done {
			o.ended[holding{s.Consumer, s.Steps[i].ID}] = o.moment
		}
	}
}
