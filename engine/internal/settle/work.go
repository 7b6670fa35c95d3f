package settle

import (
	"slices"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/hold"
	"pipeline/engine/observe"
)

// work is what one settlement is built in, kept to be used again.
type work struct {
	shares     []batch.Share
	items      []*batch.Item
	settlement broker.Settlement
	ackItems   []*batch.Item
	stepItems  []*batch.Item
	waitItems  []*batch.Item
	replaced   []*batch.Item
	releases   []*batch.Item
	unfenced   []*batch.Item
	stops      []*batch.Item
	kept       map[*batch.Item]bool
	// lost are those whose leases were lost before anything was sent.
	lost map[*batch.Item]bool
	// refusal is why the first of those that were refused was, refused its id.
	refusal error
	refused broker.ID
	// resent: an answer was lost, so that some of it may have been written before.
	resent bool
	found  found
	// unmarked are entries that an earlier attempt has settled and whose keys they
	// have not marked themselves.
	unmarked []*batch.Item
	// sent is when it was first sent; bury is Settler.Bury.
	sent time.Time
	bury func(*batch.Item)
	// duplicates is how many there were, first the first of them.
	duplicates int
	first      *batch.Item
	outcomes   []observe.Outcome
	pointers   []*batch.Item
	fates      []hold.Fate
}

func (w *work) build(owner broker.Owner, marks broker.Marks, epoch uint64, shares []batch.Share) {
	w.reset(owner)
	w.settlement.Marks = marks
	for _, share := range shares {
		for i := range share.Len() {
			w.add(share.At(i), share.Batch, share.Batch.Epoch != epoch)
		}
	}
	for _, it := range w.ackItems {
		w.settlement.Acks = append(w.settlement.Acks, it.Delivery.ID)
	}
	w.step()
}

// fence makes steps of the acknowledgements, for when they are sent again: who
// answers then may know other entries by their ids.
func (w *work) fence() {
	w.stepItems = append(w.stepItems, w.ackItems...)
	w.ackItems, w.settlement.Acks = w.ackItems[:0], w.settlement.Acks[:0]
	w.step()
}

// step makes the steps of their items, in the order of the ids.
func (w *work) step() {
	w.settlement.Steps = w.settlement.Steps[:0]
	slices.SortFunc(w.stepItems, func(a, b *batch.Item) int { return a.Delivery.ID.Compare(b.Delivery.ID) })
	for _, it := range w.stepItems {
		step := broker.Step{ID: it.Delivery.ID, Publish: it.Action.Publish}
		if it.Action.Mark {
			step.Mark, step.Gone = it.Mark, it.Lease() == batch.BodyGone
		}
		w.settlement.Steps = append(w.settlement.Steps, step)
	}
}

// note writes down what became of the items of which the server has taken what
// was sent.
func (w *work) note() {
	w.fates = w.fates[:0]
	for _, it := range w.items {
		if !w.kept[it] {
			w.fates = append(w.fates, hold.FateOf(it))
		}
	}
}

func (w *work) reset(owner broker.Owner) {
	if w.kept == nil {
		w.kept, w.lost = make(map[*batch.Item]bool), make(map[*batch.Item]bool)
	}
	w.empty()
	w.settlement.Owner = owner
	w.refusal = nil
	w.resent, w.duplicates, w.found = false, 0, found{}
}

// empty lets go of everything that the lists refer to and keeps their room. What lies
// behind the end of a list would otherwise keep the entries, replies and batches of the
// largest settlement of all times in memory.
func (w *work) empty() {
	clear(w.lost)
	s := &w.settlement
	*s = broker.Settlement{Acks: s.Acks[:0], Steps: emptied(s.Steps), Waits: emptied(s.Waits), Forget: s.Forget[:0]}
	for _, items := range []*[]*batch.Item{
		&w.items, &w.ackItems, &w.stepItems, &w.waitItems, &w.replaced, &w.releases, &w.unfenced, &w.stops, &w.unmarked,
	} {
		*items = emptied(*items)
	}
	w.fates, w.first = emptied(w.fates), nil
}

func emptied[T any](list []T) []T {
	clear(list)
	return list[:0]
}

// add puts an item where its action says. A lost lease takes the right to
// everything but a plain acknowledgement: that only says that a handler
// finished, whoever's it was. One that came in another epoch may be of another
// entry than the one that has its id now, and is fenced.
func (w *work) add(it *batch.Item, of *batch.Batch, fence bool) {
	w.items = append(w.items, it)
	lease := it.Lease()
	s := &w.settlement
	if lease == batch.Replaced {
		w.replaced = append(w.replaced, it)
		return
	}
	if lease != batch.Ours {
		w.lost[it] = true
	}
	switch it.Action.Verb {
	case batch.Ack:
		if fence && lease != batch.BodyGone {
			w.stepItems = append(w.stepItems, it)
			break
		}
		w.ackItems = append(w.ackItems, it)
	case batch.Step:
		if lease == batch.BodyGone && !it.Action.Mark {
			w.unfenced = append(w.unfenced, it)
			return
		}
		w.stepItems = append(w.stepItems, it)
	case batch.Wait, batch.Behind:
		if lease == batch.BodyGone && it.Action.Verb == batch.Wait && w.bury != nil {
			w.bury(it)
			w.unfenced = append(w.unfenced, it)
			return
		}
		w.waitItems = append(w.waitItems, it)
		wait := *it.Action.Wait
		wait.Delivery, wait.Ago = it.Delivery.Deliveries+1, max(0, w.sent.Sub(of.At))
		s.Waits = append(s.Waits, wait)
		return
	case batch.Release:
		w.releases = append(w.releases, it)
		return
	case batch.Stop:
		w.stops = append(w.stops, it)
		return
	case batch.Leave:
		return
	}
	if it.Redelivered() || of.Swept { // a copy that waited has no delivery counted
		s.Forget = append(s.Forget, it.Delivery.ID)
	}
}
