package batch_test

import (
	"reflect"
	"strconv"
	"testing"
	"time"
	"unsafe"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// There is an item for each entry that a consumer holds, and several passes touch
// each: what a field adds here is paid for by every entry, on the hot path. What
// few entries need belongs behind a pointer.
func TestAnItemStaysSmall(t *testing.T) {
	for _, c := range []struct {
		name     string
		is, most uintptr
	}{
		{"Item", unsafe.Sizeof(batch.Item{}), 392},
		{"Outcome", unsafe.Sizeof(batch.Outcome{}), 104},
		{"value.Value", unsafe.Sizeof(value.Value{}), 48},
	} {
		if c.is > c.most {
			t.Errorf("%s takes %d bytes, at most %d were agreed on", c.name, c.is, c.most)
		}
	}
}

// Every field of an outcome that observers are told of comes from the item: one that
// Tell forgets is zero here.
func TestToldIsTheWholeOutcome(t *testing.T) {
	b := batch.Get(1)
	defer batch.Put(b)
	it := b.Grow()
	it.Delivery = broker.Delivery{Entry: broker.Entry{ID: broker.ID{Ms: 1}}, Deliveries: 2}
	it.Key, it.Body.Raw = "k", "{}"
	it.Outcome = batch.Outcome{
		Attempt: 3, Result: observe.ResultDead, Replies: make([]observe.Reply, 1), Began: time.Unix(1, 0), Elapsed: 1, Usage: sandbox.Usage{Instructions: 1, Bytes: 1},
	}
	*it.Outcome.Explain() = batch.Why{
		After: 1, HasAfter: true, Reason: "r", Error: "e", Kind: outcome.FailError, Dead: true, Letter: "l", Logs: make([]sandbox.LogLine, 1),
	}
	told := reflect.ValueOf(it.Told())
	for i := range told.NumField() {
		if told.Field(i).IsZero() {
			t.Errorf("%s is not told", told.Type().Field(i).Name)
		}
	}
	if it.Told().Bytes != len("{}") {
		t.Errorf("a body of %d bytes, want 2", it.Told().Bytes)
	}
}

// Headers come from the batch: no entry costs an allocation for its own. They must not
// reach into each other, however many each entry has.
func TestHeadersOfABatch(t *testing.T) {
	const items = 100
	want := func(i, j int) codec.Field { return codec.Field{Name: strconv.Itoa(i), Value: strconv.Itoa(j)} }
	b := batch.Get(items)
	decode := func(count func(i int) int) {
		for i := range items {
			it := b.Grow()
			headers := b.Headers()
			for j := range count(i) {
				headers = append(headers, want(i, j))
			}
			it.Body.Headers = b.Took(headers, items-1-i)
		}
		for i := range b.Items {
			got := b.Items[i].Body.Headers
			if len(got) != count(i) || cap(got) != len(got) {
				t.Fatalf("item %d has %d headers and room for %d, want %d", i, len(got), cap(got), count(i))
			}
			for j := range got {
				if got[j] != want(i, j) {
					t.Fatalf("header %d of item %d is %v", j, i, got[j])
				}
			}
		}
	}
	decode(func(i int) int { return i % 4 })
	batch.Put(b)

	b = batch.Get(items)
	read := func() {
		for i := range items {
			headers := b.Headers()
			b.Grow().Body.Headers = b.Took(append(headers, codec.Field{}, codec.Field{}), items-1-i)
		}
		batch.Put(b)
		b = batch.Get(items)
	}
	if n := testing.AllocsPerRun(100, read); n >= items/10 {
		t.Errorf("%v allocations for the headers of %d entries", n, items)
	}
}

// TestHeadersOfAnOddEntry: an entry with very many headers, which anybody may send,
// does not have as much room made for each that came with it.
func TestHeadersOfAnOddEntry(t *testing.T) {
	b := batch.Get(1000)
	defer batch.Put(b)
	b.Grow().Body.Headers = b.Took(make([]codec.Field, 5000), 999)
	if room := cap(b.Headers()); room > 1<<16 {
		t.Errorf("there is room for %d headers behind one entry of 5000", room)
	}
	if n := len(b.Items[0].Body.Headers); n != 5000 {
		t.Errorf("it has %d headers", n)
	}
}
