package lua

import (
	"context"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipeline/engine/value"
	"pipeline/sandbox/sandboxtest"
)

// TestIntegersAgainstBig compares arithmetic on numbers of any size with
// math/big. Plain numbers stay small enough for their results to be exact.
func TestIntegersAgainstBig(t *testing.T) {
	in := compile(t, spec(`
function handle(e)
  local a, b = e.a, e.b
  return { int.add(a, b), int.sub(a, b), int.mul(a, b), int.div(a, b), int.mod(a, b), a < b, a <= b, a == b, a > b, a >= b, a ~= b, -a, tostring(a) }
end`, "handle"))
	number := rapid.Custom(func(t *rapid.T) *big.Int {
		n := new(big.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 1, 20).Draw(t, "bytes"))
		if rapid.Bool().Draw(t, "negative") {
			n.Neg(n)
		}
		return n
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := number.Draw(t, "a"), number.Draw(t, "b")
		if rapid.IntRange(0, 4).Draw(t, "equal") == 0 {
			b.Set(a)
		}
		if b.Sign() == 0 {
			b.SetInt64(7)
		}
		q, r := new(big.Int).DivMod(a, b, new(big.Int))
		if r.Sign() != 0 && b.Sign() < 0 {
			// Go's rest is never negative; Lua's has the divisor's sign.
			q.Sub(q, big.NewInt(1))
			r.Add(r, b)
		}
		c := a.Cmp(b)
		truth := strconv.FormatBool
		want := strings.Join([]string{
			new(big.Int).Add(a, b).String(), new(big.Int).Sub(a, b).String(), new(big.Int).Mul(a, b).String(), q.String(), r.String(),
			truth(c < 0), truth(c <= 0), truth(c == 0), truth(c > 0), truth(c >= 0), truth(c != 0),
			new(big.Int).Neg(a).String(), `"` + a.String() + `"`,
		}, ",")
		out, _ := in.Call(context.Background(), sandboxtest.Delivery(`{"a":`+a.String()+`,"b":`+b.String()+`}`))
		if got := sandboxtest.Show(out); got != "["+want+"]" {
			t.Fatalf("%s and %s:\ngot  %s\nwant [%s]", a, b, got, want)
		}
	})
}

// document draws a JSON value whose numbers every engine writes the same.
func document(depth int) *rapid.Generator[value.Value] {
	leaves := []*rapid.Generator[value.Value]{
		rapid.Just(value.Value{}),
		rapid.Map(rapid.Bool(), value.NewBool),
		rapid.Map(rapid.String(), value.NewString),
		rapid.Map(rapid.Int64(), value.FromInt),
		rapid.Map(rapid.StringMatching(`-?[1-9][0-9]{15,40}`), value.NewNumber),
		rapid.Map(rapid.Float64Range(-1e30, 1e30), func(f float64) value.Value { v, _ := value.FromFloat(f); return v }),
	}
	if depth == 0 {
		return rapid.OneOf(leaves...)
	}
	inner := document(depth - 1)
	return rapid.OneOf(append(leaves,
		rapid.Map(rapid.SliceOfN(inner, 0, 5), value.NewArray),
		rapid.Map(rapid.MapOfN(rapid.String(), inner, 0, 5), func(m map[string]value.Value) value.Value {
			var members []value.Value
			for name, v := range m {
				members = append(members, v.Named(name))
			}
			return value.NewObject(members)
		}),
	)...)
}

// TestBodiesComeBack passes bodies through a script in ways that build its
// table and ways that do not.
func TestBodiesComeBack(t *testing.T) {
	in := compile(t, spec(`
function handle(e, ctx)
  if type(e.b) == "table" and ctx.attempt == 1 then
    local copy = {}
    for k, v in pairs(e) do copy[k] = v end
    return copy
  end
  return json.decode(json.encode(e))
end`, "handle"))
	rapid.Check(t, func(t *rapid.T) {
		b, rest := document(3).Draw(t, "b"), document(2).Draw(t, "rest")
		body := value.NewObject([]value.Value{b.Named("b"), rest.Named("rest")})
		want, err := value.AppendJSON(nil, &body)
		if err != nil {
			t.Fatal(err)
		}
		d := sandboxtest.Delivery(string(want))
		d.Attempt = rapid.IntRange(1, 2).Draw(t, "attempt")
		out, _ := in.Call(context.Background(), d)
		if got := sandboxtest.Show(out); got != string(want) {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}
