package value

import (
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

func parse(t interface {
	Helper()
	Fatalf(string, ...any)
}, src string) *Value {
	t.Helper()
	v, err := ParseJSON(src, nil)
	if err != nil {
		t.Fatalf("%s: %v", src, err)
	}
	return &v
}

func TestEqual(t *testing.T) {
	cases := []struct {
		a, b string
		want bool
	}{
		{`null`, `null`, true},
		{`null`, `false`, false},
		{`true`, `true`, true},
		{`true`, `false`, false},
		{`1`, `1.0`, true},
		{`1`, `"1"`, false},
		{`18446744073709551615`, `18446744073709551616`, false},
		{`"a"`, `"\u0061"`, true},
		{`[1,2]`, `[2,1]`, false},
		{`[1,2]`, `[1,2,3]`, false},
		{`[]`, `{}`, false},
		{`{"a":1,"b":[2.0]}`, `{"b":[2],"a":1e0}`, true},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":null}`, `{}`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
	}
	for _, c := range cases {
		a, b := parse(t, c.a), parse(t, c.b)
		if Equal(a, b) != c.want || Equal(b, a) != c.want {
			t.Errorf("%s and %s: got %v", c.a, c.b, !c.want)
		}
	}
}

// values draws trees as the engine meets them.
func values() *rapid.Generator[Value] {
	scalar := rapid.OneOf(
		rapid.Just(Value{}),
		rapid.Map(rapid.Bool(), NewBool),
		rapid.Map(rapid.String(), NewString),
		rapid.Map(numbers(), NewNumber),
	)
	var tree func(depth int) *rapid.Generator[Value]
	tree = func(depth int) *rapid.Generator[Value] {
		if depth == 0 {
			return scalar
		}
		array := rapid.Map(rapid.SliceOfN(tree(depth-1), 0, 4), NewArray)
		object := rapid.Map(rapid.MapOfN(rapid.String(), tree(depth-1), 0, 20), func(m map[string]Value) Value {
			var members []Value
			for name, v := range m {
				members = append(members, v.Named(name))
			}
			return NewObject(members)
		})
		return rapid.OneOf(scalar, array, object)
	}
	return tree(3)
}

func TestRoundTrip(t *testing.T) {
	var arena Arena
	rapid.Check(t, func(t *rapid.T) {
		v := values().Draw(t, "v")
		text, err := AppendJSON(nil, &v)
		if err != nil {
			t.Fatal(err)
		}
		arena.Reset()
		back, err := ParseJSON(string(text), &arena)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, err := AppendJSON(nil, &back)
		if err != nil || string(again) != string(text) {
			t.Fatalf("%s became %s, %v", text, again, err)
		}
		mixed := shuffled(v)
		if !Equal(&v, &back) || !Equal(&back, &mixed) {
			t.Fatalf("%s is not equal to itself", text)
		}
		if text2, _ := AppendJSON(nil, &mixed); string(text2) != string(text) {
			t.Fatalf("the order of members shows: %s and %s", text, text2)
		}
	})
}

func shuffled(v Value) Value {
	if v.count == 0 {
		return v
	}
	kids := make([]Value, v.count)
	for i, kid := range v.kids() {
		kids[i] = shuffled(kid)
	}
	if v.kind == Object {
		rand.Shuffle(len(kids), func(i, j int) { kids[i], kids[j] = kids[j], kids[i] })
	}
	v.hold(kids)
	return v
}
