package value

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
)

func TestAppendRefuses(t *testing.T) {
	object := func(name string, v Value) Value { return NewObject([]Value{v.Named(name)}) }
	deep := NewArray(nil)
	for range MaxDepth {
		deep = NewArray([]Value{deep})
	}
	cases := map[string]struct {
		v    Value
		want string
	}{
		"text": {NewString("\xff"), `the value is not UTF-8: byte 0 of the text; a stream with codec "bytes" carries any bytes`},
		"text inside": {object("a", NewArray([]Value{NewBool(true), object("b c", NewString("ab\xc3"))})),
			`a[1]["b c"] is not UTF-8: byte 2 of the text; a stream with codec "bytes" carries any bytes`},
		"name":            {object("x", object("\xff", Value{})), `x["\xff"] has a name that is not UTF-8`},
		"number":          {object("n", NewNumber("01")), `n is not a JSON number: "01"`},
		"empty number":    {NewNumber(""), `the value is not a JSON number: ""`},
		"twice":           {NewObject([]Value{NewBool(true).Named("b"), Value{}.Named("a"), Value{}.Named("b")}), `b occurs twice in its object`},
		"twice in a row":  {NewObject([]Value{Value{}.Named("a"), Value{}.Named("a")}), `a occurs twice in its object`},
		"too deep":        {deep, strings.Repeat("[0]", MaxDepth) + ` is nested more than 128 levels deep`},
		"a very long key": {object(strings.Repeat("k", 1000), NewNumber("x")), `["` + strings.Repeat("k", maxStep) + `"…] is not a JSON number: "x"`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dst, err := AppendJSON([]byte("kept"), &c.v)
			if string(dst) != "kept" {
				t.Errorf("dst became %q", dst)
			}
			if e, ok := errors.AsType[*EncodeError](err); !ok || e.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestAppendSortsManyMembers(t *testing.T) {
	const n = 100
	members := make([]Value, n)
	for i := range n {
		members[i] = FromInt(int64(i)).Named(string(rune(0x61+(n-i)%26)) + strconv.Itoa(n-i))
	}
	v := NewObject(members)
	got, err := AppendJSON(nil, &v)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]int
	if err := json.Unmarshal(got, &m); err != nil {
		t.Fatal(err)
	}
	want, err := json.Marshal(m) // sorts by name
	if err != nil || string(got) != string(want) {
		t.Errorf("got %s\nwant %s, %v", got, want, err)
	}
}

func TestAppendAllocatesNothing(t *testing.T) {
	v := NewObject([]Value{NewBool(false).Named("suspicious"), NewNumber("7").Named("payment_id")})
	buf := make([]byte, 0, 100)
	allocs := testing.AllocsPerRun(100, func() {
		if _, err := AppendJSON(buf, &v); err != nil {
			t.Fatal(err)
		}
	})
	if allocs != 0 {
		t.Errorf("%v allocations for an unsorted object, want none", allocs)
	}
}

func BenchmarkAppendJSON(b *testing.B) {
	sorted := NewObject([]Value{NewNumber("123").Named("payment_id"), NewBool(false).Named("suspicious")})
	unsorted := NewObject([]Value{NewBool(false).Named("suspicious"), NewNumber("123").Named("payment_id")})
	for name, v := range map[string]*Value{"sorted": &sorted, "unsorted": &unsorted} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			buf := make([]byte, 0, 100)
			for b.Loop() {
				if _, err := AppendJSON(buf, v); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	b.Run("encoding-json", func(b *testing.B) {
		b.ReportAllocs()
		v := map[string]any{"payment_id": json.Number("123"), "suspicious": false}
		for b.Loop() {
			if _, err := json.Marshal(v); err != nil {
				b.Fatal(err)
			}
		}
	})
}
