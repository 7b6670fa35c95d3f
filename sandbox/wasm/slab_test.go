package wasm

import (
	"strings"
	"testing"
)

// TestSlab makes strings of one buffer that is written to again each time.
func TestSlab(t *testing.T) {
	var s slab
	var got, want []string
	view := make([]byte, 0, 2*slabSize)
	for i := range 3000 {
		part := strings.Repeat(string(rune('a'+i%26)), i*37%(maxInSlab+40))
		view = append(view[:0], part...)
		got, want = append(got, s.text(view)), append(want, part)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("text %d became %q, it was %q", i, got[i], want[i])
		}
	}
}

func TestSlabAllocatesLittle(t *testing.T) {
	var s slab
	view := make([]byte, 80)
	if n := testing.AllocsPerRun(1000, func() { s.text(view) }); n != 0 {
		t.Errorf("%v allocations for a text", n)
	}
	before := s.b.Len()
	if s.text(make([]byte, maxInSlab+1)); s.b.Len() != before {
		t.Error("a long text lies among the others, which would keep it")
	}
}
