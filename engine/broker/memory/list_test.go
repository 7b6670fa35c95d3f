package memory

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
)

// TestList holds the list to a map and a sort, over runs that grow and shrink
// it through many blocks.
func TestList(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var l list[int]
		model := map[key]int{}
		next := 0
		anyKey := rapid.Custom(func(t *rapid.T) key {
			return key{rapid.Int64Range(-2, 2).Draw(t, "at"), broker.ID{Ms: rapid.Uint64Range(0, 200).Draw(t, "ms")}}
		})
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) { compare(t, &l, model) },
			"append": func(t *rapid.T) {
				for range rapid.IntRange(1, 3*blockSize).Draw(t, "n") {
					next++
					k := key{3, broker.ID{Ms: uint64(next)}}
					l.set(k, next)
					model[k] = next
				}
			},
			"set": func(t *rapid.T) {
				for _, k := range rapid.SliceOfN(anyKey, 1, blockSize).Draw(t, "keys") {
					next++
					l.set(k, next)
					model[k] = next
				}
			},
			"remove": func(t *rapid.T) {
				k := anyKey.Draw(t, "key")
				v, found := l.remove(k)
				want, there := model[k]
				if found != there || v != want {
					t.Fatalf("removed %d, %v of %v, want %d, %v", v, found, k, want, there)
				}
				delete(model, k)
			},
			"remove every nth": func(t *rapid.T) {
				keys := sorted(model)
				n := rapid.IntRange(1, 9).Draw(t, "n")
				for i, k := range keys {
					if i%10 >= n {
						continue
					}
					if v, found := l.remove(k); !found || v != model[k] {
						t.Fatalf("removed %d, %v of %v", v, found, k)
					}
					delete(model, k)
				}
			},
			"look": func(t *rapid.T) {
				k := anyKey.Draw(t, "key")
				v, found := l.get(k)
				if want, there := model[k]; found != there || v != want {
					t.Fatalf("got %d, %v of %v, want %d, %v", v, found, k, want, there)
				}
				at := l.from(k)
				got, _, ok := at.next()
				keys := sorted(model)
				i, _ := slices.BinarySearchFunc(keys, k, order)
				if ok != (i < len(keys)) || ok && got != keys[i] {
					t.Fatalf("from %v came %v, %v", k, got, ok)
				}
			},
		})
	})
}

func order(x, y key) int {
	switch {
	case x.less(y):
		return -1
	case y.less(x):
		return 1
	}
	return 0
}

func sorted(m map[key]int) []key { return slices.SortedFunc(maps.Keys(m), order) }

// compare walks the list, and looks for blocks that are empty or too large.
func compare(t *rapid.T, l *list[int], model map[key]int) {
	keys := sorted(model)
	if l.len() != len(keys) {
		t.Fatalf("%d elements, want %d", l.len(), len(keys))
	}
	first, _, ok := l.first()
	if ok != (len(keys) > 0) || ok && first != keys[0] {
		t.Fatalf("the first is %v, %v", first, ok)
	}
	at := l.from(key{}.min())
	for _, want := range keys {
		if k, v, ok := at.next(); !ok || k != want || v != model[want] {
			t.Fatalf("came to %v = %d, %v; want %v = %d", k, v, ok, want, model[want])
		}
	}
	if k, _, ok := at.next(); ok {
		t.Fatalf("%v comes after the last", k)
	}
	for i, b := range l.blocks {
		if len(b.keys) == 0 || len(b.keys) > blockSize || len(b.keys) != len(b.values) {
			t.Fatalf("block %d holds %d keys and %d values", i, len(b.keys), len(b.values))
		}
	}
}
