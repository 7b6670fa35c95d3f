package sim

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// entry is what the model knows of a published entry.
type entry struct {
	order  order
	id     broker.ID
	fields []broker.Field
	// copies are those that retries made of it.
	copies []broker.ID
	// gone: the server lost it, or somebody deleted it.
	gone bool
	// again is how often each group was lost after it was published: it may be
	// delivered and settled once more for each.
	again map[string]int
}

// known is an entry of the stream: what number it has, and its fields.
type known struct {
	n      int
	fields []broker.Field
}

// interruption is a time in which a worker, or all when it has no name, may not
// have renewed what it held.
type interruption struct {
	worker   string
	from, to time.Time
}

// putBack is a delivery that ended in waiting.
type putBack struct {
	holding

	delivery int64
}

// lane is a key in a consumer.
type lane struct{ consumer, key string }

// model is the trivial model: what was published, what the server has lost, who
// runs what.
type model struct {
	sim     *sim
	entries []*entry
	// known are all entries by id, with their fields: those published, and copies.
	known    map[broker.ID]known
	problems []string
	breaks   []interruption
	reach    reach
	// epoch counts how often the server forgot something.
	epoch int
	// open are the workers that run an entry, or have run it and not settled it.
	open map[place]*harness.Worker
	// acknowledged is who acknowledged an entry last.
	acknowledged map[place]string
	// busy is what each lane runs.
	busy map[lane]int
	// order is in which order entries came to consumers, were started and settled.
	order ordering
	// waiting are the entries of each lane that are retried, lanes the lane in which
	// an entry ran last.
	waiting map[lane]map[broker.ID]bool
	lanes   map[place]lane
	// events is how many were looked at.
	events int
	// earliest is when an entry that waits may run again, by the server's clock.
	earliest map[place]time.Time
	// put are the deliveries of which it was written when that is: what comes again,
	// because the answer was lost, changes nothing.
	put map[putBack]bool
	// said is what its handler said last of an entry that a consumer has.
	// words is the same, and stays when it is void.
	said  map[holding]string
	words map[holding]string
	// stopping is since when workers drain.
	stopping map[string]time.Time
	// unheard are the letters of entries that are gone which the server took and
	// nobody heard of. Nothing fences them, and they are sent until they are heard of:
	// a letter twice is better than none.
	unheard map[place]int
	marks   marks
	starts  starts
	counts  counts
	backlog backlog
	floors  floors
	// saved is what was marked when the server was remembered.
	saved map[placeOfKey][]marking
	// savedFloors is the same of floors.
	savedFloors map[string]broker.ID
}

func (m *model) init(s *sim) {
	m.sim = s
	m.reach.init()
	m.acknowledged = map[place]string{}
	m.open, m.busy = map[place]*harness.Worker{}, map[lane]int{}
	m.order.init(s.Now)
	m.waiting, m.lanes = map[lane]map[broker.ID]bool{}, map[place]lane{}
	m.known = map[broker.ID]known{}
	m.earliest, m.said, m.words = map[place]time.Time{}, map[holding]string{}, map[holding]string{}
	m.put = map[putBack]bool{}
	m.stopping, m.unheard = map[string]time.Time{}, map[place]int{}
	m.marks.init(s)
	m.starts.init(s)
	m.counts.init(s)
	m.backlog.init(s)
	m.floors.init(s)
}

// wrong notes a problem.
func (m *model) wrong(format string, args ...any) {
	m.problems = append(m.problems, fmt.Sprintf("at %v: ", m.sim.Now().Sub(harness.DefaultStart))+fmt.Sprintf(format, args...))
}

// next is the number of the next entry.
func (m *model) next() int { return len(m.entries) }

func (m *model) published(o order, id broker.ID, fields []broker.Field) {
	m.known[id] = known{len(m.entries), fields}
	m.entries = append(m.entries, &entry{order: o, id: id, fields: fields, again: map[string]int{}})
}

// interrupt notes that a worker may not renew for d.
func (m *model) interrupt(worker string, d time.Duration) {
	now := m.sim.Now()
	m.breaks = append(m.breaks, interruption{worker, now, now.Add(d)})
}

// regroup notes that a group was lost.
func (m *model) regroup(group string) {
	m.floors.lost(group)
	m.epoch++
	m.interrupt("", 0)
	for _, e := range m.entries {
		e.again[group]++
	}
}

// lose notes that the server went back to what it remembered, or lost everything.
func (m *model) lose(remembered map[placeOfKey][]marking, floors map[string]broker.ID) {
	m.epoch++
	m.interrupt("", 0)
	m.marks.set, m.floors.at = remembered, floors
}

// elapse notes that the server's clock has come to its time: what was due by then
// stays so when the clock is set back.
func (m *model) elapse() {
	now := m.sim.time()
	for k, at := range m.earliest {
		if !at.After(now) {
			delete(m.earliest, k)
		}
	}
	if now.After(m.marks.latest) {
		m.marks.latest = now
	}
}

// acknowledges checks that what a worker is told was settled is out of the pending
// list, whoever has it.
func (m *model) acknowledges(s *broker.Settlement, res *broker.SettleResult) {
	if m.epoch > 0 {
		return
	}
	check := func(id broker.ID) {
		p, err := m.sim.memory.Pending(context.Background(), s.Stream, s.Group, "", id.Prev(), 1)
		if err == nil && len(p) > 0 && p[0].ID == id {
			m.wrong("entry %v of %s was settled and is still pending", id, s.Group)
		}
	}
	for _, id := range s.Acks {
		check(id)
	}
	for i := range s.Steps {
		if st := res.Steps[i].Status; st == broker.Done || st == broker.Duplicate {
			check(s.Steps[i].ID)
		}
	}
}

// lost is told of a settlement that the server was asked for: what an entry came to
// is void where its consumer has it no more.
func (m *model) lost(s *broker.Settlement, res *broker.SettleResult) {
	for i := range s.Steps {
		if res.Steps[i].Status == broker.NotOwned {
			delete(m.said, holding{s.Consumer, s.Steps[i].ID})
		}
	}
}

// waits is told of what the server has written, whether or not anybody hears: when
// what waits is due, by the server's clock.
func (m *model) waits(s *broker.Settlement, res *broker.SettleResult) {
	for i := range s.Waits {
		w := &s.Waits[i]
		p := putBack{holding{s.Consumer, w.ID}, w.Delivery}
		if !w.Timed || w.Uncount || res.Waits[i] != broker.Done || m.put[p] && w.Delivery > 0 {
			continue
		}
		m.put[p] = true
		m.earliest[place{s.Group, m.number(w.ID)}] = m.sim.time().Truncate(time.Millisecond).Add(w.After)
	}
}

// unanswered is told of what was published without a fence and not answered.
func (m *model) unanswered(adds []broker.Add) {
	for i := range adds {
		if l, ok := codec.ParseDeadLetter(adds[i].Fields); ok {
			id, err := broker.ParseID(l.ID)
			if err != nil {
				m.wrong("a dead letter of no entry: %+v", l)
			}
			m.unheard[place{l.Group, m.number(id)}]++
		}
	}
}

// keyOf is what an entry is marked by.
func (m *model) keyOf(id broker.ID) string {
	n := m.number(id)
	return m.entries[n].order.identity(n)
}

// handsBack checks what a consumer hands back unrun: no earlier entry of the key
// may have run there and not be settled, since others could run it sooner. A drain
// that takes too long gives that up.
func (m *model) handsBack(o broker.Owner, ids []broker.ID) {
	worker := m.counts.worker(o.Consumer)
	if at, stopping := m.stopping[worker]; stopping && m.sim.Now().Sub(at) >= drainTimeout {
		return
	}
	for k, w := range m.open {
		if m.epoch > 0 || k.group != o.Group || w.Name() != worker || m.lanes[k].consumer != o.Consumer || m.excused(worker, m.sim.Now()) {
			continue
		}
		if raw, err := m.sim.memory.Range(context.Background(), "in", m.entries[k.n].id, m.entries[k.n].id, 1); err != nil || len(raw) == 0 {
			continue // what is deleted is settled without being pending
		}
		for _, id := range ids {
			if n := m.number(id); n != k.n && m.entries[n].order.key == m.entries[k.n].order.key && m.entries[k.n].id.Less(id) {
				m.wrong("drain: entry %v of %s is handed back by %s, which has run %v of its key and not settled it",
					id, o.Group, worker, m.entries[k.n].id)
			}
		}
	}
}

// look notes which entries are gone and what workers told.
func (m *model) look() {
	there := map[broker.ID]bool{}
	raw, err := m.sim.Server().Range(context.Background(), "in", broker.ID{}, broker.MaxID, 1<<20)
	if err != nil {
		m.wrong("look: %v", err)
	}
	for _, e := range raw {
		there[e.ID] = true
		m.meet(e)
	}
	for _, e := range m.entries {
		e.gone = e.gone || !there[e.id] || slices.ContainsFunc(e.copies, func(id broker.ID) bool { return !there[id] })
	}
	all := m.sim.Events()
	for _, e := range all[m.events:] {
		m.told(&e)
	}
	m.events = len(all)
	m.backlog.look()
}

// meet learns of an entry that the model did not publish: the copy of one.
func (m *model) meet(e broker.Entry) known {
	if k, ok := m.known[e.ID]; ok {
		return k
	}
	k := known{-1, e.Fields}
	for _, f := range e.Fields {
		if f.Name == spec.DefaultBody {
			// The number comes first, whatever is wrong with the rest.
			_, _ = fmt.Sscanf(f.Value[max(0, strings.IndexByte(f.Value, '{')):], `{"n":%d`, &k.n)
		}
	}
	if k.n < 0 || k.n >= len(m.entries) {
		m.wrong("entry %v is nobody's: %q", e.ID, e.Fields)
		k.n = 0
	}
	m.known[e.ID] = k
	m.entries[k.n].copies = append(m.entries[k.n].copies, e.ID)
	return k
}

// number is the number of the entry with the id.
func (m *model) number(id broker.ID) int {
	if k, ok := m.known[id]; ok {
		return k.n
	}
	raw, err := m.sim.Server().Range(context.Background(), "in", id, id, 1)
	if err != nil || len(raw) == 0 {
		m.wrong("entry %v is nobody's: %v", id, err)
		return 0
	}
	return m.meet(raw[0]).n
}

// told judges what a worker told.
func (m *model) told(e *harness.Event) {
	switch e.Name {
	case observe.EventLeaseLost:
		if !m.excused(e.Worker, e.At) && !m.over(e) {
			m.wrong("robbed: %s: %s", e.Worker, e.Message)
		}
	case observe.EventFailed:
		m.wrong("%s gave up: %v", e.Worker, e.Err)
	case observe.EventReplyTorn:
		m.wrong("torn: %s", e.Message)
	}
}

// over reports whether the lease that a worker lost is that of an entry that is
// gone, which whoever finds it drops, or that another one has acknowledged, who
// had it before: the first finished outcome counts. One that was delivered again
// because its group was lost is settled by whichever of its runs ends first.
func (m *model) over(e *harness.Event) bool {
	id, err := broker.ParseID(idText.FindString(e.Message))
	k, known := m.known[id]
	if err != nil || !known {
		return false
	}
	by := m.acknowledged[place{e.Group, k.n}]
	return m.entries[k.n].gone || m.entries[k.n].again[e.Group] > 0 || by != "" && by != e.Worker
}

// idText is an id in a message.
var idText = regexp.MustCompile(`[0-9]+-[0-9]+`)

// grace is how long after an interruption a worker may find that what it held was
// taken over: min_idle, and one renewal.
const grace = minIdle + minIdle/3 + time.Second

// excused reports whether a worker may have lost a lease: it did not reach the
// server every min_idle.
func (m *model) excused(worker string, at time.Time) bool {
	if m.unreached(worker, at) {
		return true
	}
	for _, w := range m.sim.Workers() {
		if w.Name() != worker {
			continue
		}
		for _, p := range w.Pauses() {
			if !at.Before(p.From) && (p.To.IsZero() || !at.After(p.To.Add(grace))) {
				return true
			}
		}
	}
	for _, b := range m.breaks {
		if (b.worker == "" || b.worker == worker) && !at.Before(b.from) && !at.After(b.to.Add(grace)) {
			return true
		}
	}
	return false
}

// chosen is when a worker chose what it started at a time: before it stood still, where
// it did so in between.
func chosen(w *harness.Worker, started time.Time) time.Time {
	for _, p := range w.Pauses() {
		if !p.To.IsZero() && !started.Before(p.From) && !started.After(p.To) {
			return p.From
		}
	}
	return started
}

// running is told that a handler is called, and returns what is to be called
// when it has returned.
func (s *sim) running(ctx context.Context, d *sandbox.Delivery, k place) (done func()) {
	m, w := &s.model, harness.WorkerOf(ctx)
	id, _ := broker.ParseID(d.ID)
	// One that stood still runs what it has, until it finds that it was taken over. What
	// an entry that is gone came to is written without a settlement.
	if other, ok := m.open[k]; ok && m.epoch == 0 && !m.entries[k.n].gone && other.Alive() && !m.excused(other.Name(), s.Now()) && !m.excused(w.Name(), s.Now()) {
		m.wrong("entry %v of %s runs at %s while %s holds it", id, d.Group, w.Name(), other.Name())
	}
	if at := m.earliest[k]; s.time().Before(at) && m.epoch == 0 && !m.excused(w.Name(), s.Now()) {
		m.wrong("entry %v of %s runs %v before it is due", id, d.Group, at.Sub(s.time()))
	}
	m.open[k] = w
	l := lane{w.Consumer(d.Subscription), d.Key}
	if n, busy := m.busy[l]; busy && m.epoch == 0 {
		m.wrong("entries %d and %d of key %s run at once at %s", n, k.n, d.Key, l.consumer)
	}
	m.busy[l] = k.n
	m.held(l, k, id)
	at := s.LastCall(d.Subscription, id).Time
	if problem := m.order.starts(l, d, id, at, chosen(w, at)); problem != "" {
		m.wrong("%s: entry %v of key %s at %s", problem, id, d.Key, l.consumer)
	}
	return func() {
		if m.busy[l] == k.n {
			delete(m.busy, l)
		}
		if ctx.Err() != nil && m.open[k] == w {
			delete(m.open, k)
		}
	}
}

// settled is told of a settlement that has been answered: what it names is held no
// more, unless it was refused.
func (m *model) settled(worker string, s *broker.Settlement, res *broker.SettleResult) {
	m.counts.heard(s, res)
	over := func(id broker.ID) place {
		k := place{s.Group, m.number(id)}
		delete(m.waiting[m.lanes[k]], id)
		if r, ok := m.open[k]; ok && r.Name() == worker {
			delete(m.open, k)
		}
		return k
	}
	m.order.written(s, res)
	for _, id := range s.Acks {
		m.acknowledged[over(id)] = worker
	}
	for i := range s.Steps {
		if res.Steps[i].Status != broker.Refused {
			over(s.Steps[i].ID)
		}
	}
	for i := range s.Waits {
		w := &s.Waits[i]
		if w.Uncount {
			continue // the delivery is taken back, the entry goes on
		}
		if k := over(w.ID); res.Waits[i] == broker.Done && w.Timed {
			m.await(k, w.ID)
		}
	}
}

// await notes that an entry is retried, unless it was taken over before the answer came.
func (m *model) await(k place, id broker.ID) {
	l := m.lanes[k]
	if by := m.sim.holder(k.group, id); by != "" && by != l.consumer && m.excused(m.counts.worker(l.consumer), m.sim.Now()) {
		return
	}
	if m.waiting[l] == nil {
		m.waiting[l] = map[broker.ID]bool{}
	}
	m.waiting[l][id] = true
}

// came is told of what a read, a claim or a sweep brought. What a consumer may lose it is
// not waiting for any more, however long who took it lets it lie.
func (m *model) came(o broker.Owner, ds []broker.Delivery) {
	m.order.came(o, ds)
	for i := range ds {
		k, ok := m.known[ds[i].ID]
		if !ok {
			continue
		}
		l := m.lanes[place{o.Group, k.n}]
		if m.waiting[l][ds[i].ID] && l.consumer != o.Consumer && m.excused(m.counts.worker(l.consumer), m.sim.Now()) {
			delete(m.waiting[l], ds[i].ID)
		}
	}
}

// held checks, as an entry runs, that no earlier one of its key is retried by the
// same consumer. One that another consumer has taken over is retried there: order
// is promised inside one consumer, and who lost the earlier entry goes on with the
// later ones. Only a consumer that did not renew in time, by the server's clock,
// may lose it.
func (m *model) held(l lane, k place, id broker.ID) {
	delete(m.waiting[m.lanes[k]], id)
	m.lanes[k] = l
	if !m.sim.plan.shape.Hold || m.epoch > 0 {
		return
	}
	for earlier := range m.waiting[l] {
		if !earlier.Less(id) || m.entries[m.number(earlier)].gone {
			continue
		}
		by := m.sim.holder(k.group, earlier)
		switch worker := m.counts.worker(l.consumer); {
		case by == l.consumer:
			m.wrong("hold: entry %v of key %s runs at %s while %v is retried", id, l.key, l.consumer, earlier)
		case by != "" && !m.excused(worker, m.sim.Now()):
			m.wrong("hold: entry %v of key %s runs at %s, from which %s took %v, which is retried", id, l.key, l.consumer, by, earlier)
		}
	}
}

// holder is under whom an entry is pending, empty where it is not.
func (s *sim) holder(group string, id broker.ID) string {
	p, err := s.memory.Pending(context.Background(), "in", group, "", id.Prev(), 1)
	if err != nil || len(p) == 0 || p[0].ID != id {
		return ""
	}
	return p[0].Consumer
}
