package memory

import (
	"slices"
	"sort"

	"pipeline/engine/broker"
)

// key orders a list: by time and then by id. Lists by id leave the time at 0;
// a list by time has the order among equal times in place of the id.
type key struct {
	at int64
	id broker.ID
}

func byID(id broker.ID) key { return key{id: id} }

func (k key) less(o key) bool {
	if k.at != o.at {
		return k.at < o.at
	}
	if k.id.Ms != o.id.Ms {
		return k.id.Ms < o.id.Ms
	}
	return k.id.Seq < o.id.Seq
}

// blockSize is how many elements a block holds. Removing from the middle of a
// block moves half of it; finding a block takes a binary search over blocks.
const blockSize = 128

// list is a sorted map in blocks. Appending and removing from the front, which
// is nearly all that streams do, touch one block; everything else is a binary
// search and a move within a block.
type list[T any] struct {
	blocks []*block[T]
	size   int
}

type block[T any] struct {
	keys   []key
	values []T
}

// place is a position in a list: the element at it, or the gap before it.
type place struct{ block, at int }

func (l *list[T]) len() int { return l.size }

// find is the place of the first element that is not before k, and whether it
// is k. The place may be one past the last element of the last block.
func (l *list[T]) find(k key) (place, bool) {
	last := len(l.blocks) - 1
	if last < 0 {
		return place{}, false
	}
	i := last
	switch {
	case last == 0 || !k.less(l.blocks[last].keys[0]):
	case k.less(l.blocks[1].keys[0]):
		i = 0
	default:
		i = sort.Search(last, func(i int) bool { return k.less(l.blocks[i+1].keys[0]) })
	}
	keys := l.blocks[i].keys
	at := search(keys, k)
	if at == len(keys) {
		if i < last {
			return place{i + 1, 0}, l.blocks[i+1].keys[0] == k
		}
		return place{i, at}, false
	}
	return place{i, at}, keys[at] == k
}

// search is the index of the first key that is not before k. The two ends are
// looked at first: that is where streams work.
func search(keys []key, k key) int {
	n := len(keys)
	if n == 0 || !keys[0].less(k) {
		return 0
	}
	if keys[n-1].less(k) {
		return n
	}
	low, high := 1, n-1
	for low < high {
		middle := int(uint(low+high) >> 1)
		if keys[middle].less(k) {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

func (l *list[T]) get(k key) (value T, found bool) {
	p, found := l.find(k)
	if found {
		value = l.blocks[p.block].values[p.at]
	}
	return value, found
}

// set inserts k or replaces its value.
func (l *list[T]) set(k key, v T) {
	if n := len(l.blocks); n > 0 {
		if b := l.blocks[n-1]; len(b.keys) < blockSize && b.keys[len(b.keys)-1].less(k) {
			b.keys, b.values = append(b.keys, k), append(b.values, v)
			l.size++
			return
		}
	}
	p, found := l.find(k)
	if found {
		l.blocks[p.block].values[p.at] = v
		return
	}
	l.insert(p, k, v)
	l.size++
}

func (l *list[T]) insert(p place, k key, v T) {
	if len(l.blocks) == 0 {
		l.blocks = append(l.blocks, &block[T]{keys: []key{k}, values: []T{v}})
		return
	}
	b := l.blocks[p.block]
	if len(b.keys) >= blockSize {
		if p.block == len(l.blocks)-1 && p.at == len(b.keys) {
			next := &block[T]{keys: make([]key, 0, blockSize), values: make([]T, 0, blockSize)}
			next.keys, next.values = append(next.keys, k), append(next.values, v)
			l.blocks = append(l.blocks, next)
			return
		}
		p = l.split(p)
		b = l.blocks[p.block]
	}
	b.keys = slices.Insert(b.keys, p.at, k)
	b.values = slices.Insert(b.values, p.at, v)
}

// split halves the block of p and returns where p is now.
func (l *list[T]) split(p place) place {
	b := l.blocks[p.block]
	half := len(b.keys) / 2
	next := &block[T]{keys: slices.Clone(b.keys[half:]), values: slices.Clone(b.values[half:])}
	clear(b.values[half:])
	b.keys, b.values = b.keys[:half], b.values[:half]
	l.blocks = slices.Insert(l.blocks, p.block+1, next)
	if p.at > half {
		return place{p.block + 1, p.at - half}
	}
	return p
}

func (l *list[T]) remove(k key) (value T, found bool) {
	p, found := l.find(k)
	if !found {
		return value, false
	}
	b := l.blocks[p.block]
	value = b.values[p.at]
	if p.at == 0 {
		var zero T
		b.values[0] = zero
		b.keys, b.values = b.keys[1:], b.values[1:]
	} else {
		b.keys = slices.Delete(b.keys, p.at, p.at+1)
		b.values = slices.Delete(b.values, p.at, p.at+1)
	}
	l.size--
	l.mend(p.block)
	return value, true
}

// mend removes a block that is empty and joins one that is nearly so with its
// neighbour.
func (l *list[T]) mend(i int) {
	b := l.blocks[i]
	switch {
	case len(b.keys) == 0 && i == 0:
		l.blocks[0] = nil
		l.blocks = l.blocks[1:]
	case len(b.keys) == 0:
		l.blocks = slices.Delete(l.blocks, i, i+1)
	case len(b.keys) < blockSize/4 && i+1 < len(l.blocks) && len(l.blocks[i+1].keys) < blockSize/4:
		next := l.blocks[i+1]
		next.keys = slices.Concat(b.keys, next.keys)
		next.values = slices.Concat(b.values, next.values)
		l.blocks = slices.Delete(l.blocks, i, i+1)
	}
}

// cursor walks a list upwards. The list must not be changed meanwhile.
type cursor[T any] struct {
	l *list[T]
	p place
}

// from is a cursor at the first element that is not before k.
func (l *list[T]) from(k key) cursor[T] {
	p, _ := l.find(k)
	return cursor[T]{l, p}
}

// next returns the element under the cursor and moves on; ok is false at the
// end.
func (c *cursor[T]) next() (k key, v T, ok bool) {
	for c.p.block < len(c.l.blocks) {
		b := c.l.blocks[c.p.block]
		if c.p.at < len(b.keys) {
			k, v = b.keys[c.p.at], b.values[c.p.at]
			c.p.at++
			return k, v, true
		}
		c.p = place{c.p.block + 1, 0}
	}
	return key{}, v, false
}

// previous returns the element before the cursor and moves back to it; ok is
// false at the beginning.
func (c *cursor[T]) previous() (k key, v T, ok bool) {
	for {
		if c.p.at > 0 {
			c.p.at--
			b := c.l.blocks[c.p.block]
			return b.keys[c.p.at], b.values[c.p.at], true
		}
		if c.p.block == 0 {
			return key{}, v, false
		}
		c.p.block--
		c.p.at = len(c.l.blocks[c.p.block].keys)
	}
}

func (l *list[T]) first() (k key, v T, ok bool) {
	if l.size == 0 {
		return key{}, v, false
	}
	b := l.blocks[0]
	return b.keys[0], b.values[0], true
}
