package batch

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/value"
)

// Batch is what one read brought. Its items stay where they are until the last
// one is settled; then the batch is used again.
type Batch struct {
	Items []Item
	// Arena holds the decoded bodies.
	Arena value.Arena
	// headers holds the entries' headers: see Headers.
	headers []codec.Field
	// Order lists the items lane by lane; shares are pieces of it.
	Order []int32
	// Swept: a sweep brought it and not a read.
	Swept bool
	// Alone: its items run one at a time, see Item.Alone.
	Alone bool
	// Old: it may hold entries that are older than some that came before it.
	Old bool
	// At is when it came, Epoch in which of the server's epochs.
	At    time.Time
	Epoch uint64

	open atomic.Int32
	// low and high are the first and the last id of its items.
	low, high broker.ID
}

// Share is the part of a batch that one lane works on, in order.
type Share struct {
	Batch *Batch
	// Index are positions in Batch.Items.
	Index []int32
}

// Len is the number of items.
func (s Share) Len() int { return len(s.Index) }

// At is item i of the share.
func (s Share) At(i int) *Item { return &s.Batch.Items[s.Index[i]] }

var pool = sync.Pool{New: func() any { return new(Batch) }}

// keep bounds what is pooled, so that one huge read does not pin its memory.
const keep = 4096

// keepHeaders bounds the headers that are.
const keepHeaders = 4 * keep

// Get returns an empty batch with room for n items.
func Get(n int) *Batch {
	b := pool.Get().(*Batch)
	if cap(b.Items) < n {
		b.Items = make([]Item, 0, n)
	}
	return b
}

// Grow appends an item and returns it, zeroed.
func (b *Batch) Grow() *Item {
	b.Items = b.Items[:len(b.Items)+1]
	return &b.Items[len(b.Items)-1]
}

// Headers is where item i has room for its headers: Decode appends to them. The
// items ask one after another, and give what they took to Took.
func (b *Batch) Headers() []codec.Field { return b.headers[len(b.headers):] }

// Took keeps the headers that an item has appended to what Headers gave, and
// returns them; n items are to follow. Where there was no room for them there is
// for those of the next ones, were they all like this one: within bounds, since one
// with thousands of headers says nothing of the others.
func (b *Batch) Took(headers []codec.Field, n int) []codec.Field {
	used := len(b.headers)
	if room := cap(b.headers) - used; len(headers) <= room {
		b.headers = b.headers[:used+len(headers)]
	} else {
		b.headers = make([]codec.Field, 0, min(n*len(headers), keepHeaders))
	}
	return slices.Clip(headers)
}

// Open counts the items as unsettled. Call it once, when the batch is full.
func (b *Batch) Open() {
	b.open.Store(int32(len(b.Items)))
	b.low, b.high = broker.ID{}, broker.ID{}
	for i := range b.Items {
		id := b.Items[i].Delivery.ID
		if i == 0 {
			b.low = id
		}
		b.low, b.high = broker.Earlier(b.low, id), broker.Later(b.high, id)
	}
}

// Done counts n items as settled and reports whether they were the last ones.
func (b *Batch) Done(n int) bool { return b.open.Add(int32(-n)) == 0 }

// Put gives the batch back. Nothing of it may be used any more.
func Put(b *Batch) {
	if cap(b.Items) > keep {
		return
	}
	clear(b.Items)
	b.Items, b.Swept, b.Alone, b.Old = b.Items[:0], false, false, false
	clear(b.headers)
	b.headers = b.headers[:0]
	if cap(b.headers) > keepHeaders {
		b.headers = nil
	}
	b.Arena.Reset()
	pool.Put(b)
}
