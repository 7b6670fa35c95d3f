package batch

import (
	"hash/fnv"
	"hash/maphash"
)

// seed makes the assignment of keys to lanes differ between processes, so that
// nobody comes to depend on it.
var seed = maphash.MakeSeed()

// Split arranges the items into one share for each of n lanes, in their order,
// and calls send for every share that is not empty. Items with equal keys come
// to the same lane. Items without a key are spread in runs, starting at lane
// first, so that small reads do not all end at lane 0. fixed is that of LaneOf.
func (b *Batch) Split(n, first int, fixed bool, send func(lane int, s Share)) {
	// Once the last share is sent the batch may be another's, so that only the
	// copies of its slices are used.
	items := b.Items
	if cap(b.Order) < len(items) {
		b.Order = make([]int32, len(items))
	}
	order := b.Order[:len(items)]
	b.Order = order
	if n == 1 {
		for i := range items {
			order[i] = int32(i)
		}
		send(0, Share{b, order})
		return
	}
	lanes := make([]int32, len(items))
	starts := make([]int32, n+1)
	for i := range items {
		l := int32(LaneOf(items[i].Key, n, fixed))
		if items[i].Key == "" {
			l = int32((first + i*n/len(items)) % n)
		}
		lanes[i] = l
		starts[l+1]++
	}
	for l := range n {
		starts[l+1] += starts[l]
	}
	next := make([]int32, n)
	copy(next, starts)
	for i, l := range lanes {
		order[next[l]] = int32(i)
		next[l]++
	}
	for l := range n {
		if part := order[starts[l]:starts[l+1]]; len(part) > 0 {
			send(l, Share{b, part})
		}
	}
}

// LaneOf is the lane of a key among n. A fixed one is the same in every process;
// otherwise processes differ, and nobody can choose keys that meet in one lane.
func LaneOf(key string, n int, fixed bool) int {
	if fixed {
		h := fnv.New64a()
		_, _ = h.Write([]byte(key)) // never fails
		return int(h.Sum64() % uint64(n))
	}
	return int(maphash.String(seed, key) % uint64(n))
}
