package codec

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// typed draws a type and a value of it.
func typed(depth int) *rapid.Generator[struct {
	t *spec.Type
	v value.Value
}] {
	type pair = struct {
		t *spec.Type
		v value.Value
	}
	return rapid.Custom(func(t *rapid.T) pair {
		kinds := []spec.TypeKind{spec.TypeString, spec.TypeNumber, spec.TypeBool, spec.TypeAny}
		if depth > 0 {
			kinds = append(kinds, spec.TypeList, spec.TypeMap, spec.TypeObject)
		}
		switch kind := rapid.SampledFrom(kinds).Draw(t, "kind"); kind {
		case spec.TypeString:
			return pair{stringType, value.NewString(rapid.String().Draw(t, "string"))}
		case spec.TypeNumber:
			return pair{numberType, value.NewNumber(rapid.StringMatching(`-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,9})?`).Draw(t, "number"))}
		case spec.TypeBool:
			return pair{boolType, value.NewBool(rapid.Bool().Draw(t, "bool"))}
		case spec.TypeAny:
			return pair{anyType, value.NewString(rapid.String().Draw(t, "any"))}
		case spec.TypeObject:
			var attrs []spec.Attr
			var members []value.Value
			for i, p := range rapid.SliceOfN(typed(depth-1), 1, 5).Draw(t, "attrs") {
				name := string(rune('a' + i))
				attrs, members = append(attrs, required(name, p.t)), append(members, p.v.Named(name))
			}
			return pair{object(attrs...), value.NewObject(rapid.Permutation(members).Draw(t, "order"))}
		default:
			p := typed(depth-1).Draw(t, "elem")
			if kind == spec.TypeList {
				return pair{listOf(p.t), value.NewArray([]value.Value{p.v, p.v})}
			}
			return pair{mapOf(p.t), value.NewObject([]value.Value{p.v.Named("one"), p.v.Named("two")})}
		}
	})
}

func TestWhatIsEncodedIsDecoded(t *testing.T) {
	var arena value.Arena
	rapid.Check(t, func(t *rapid.T) {
		p := typed(3).Draw(t, "typed")
		codec := rapid.SampledFrom([]spec.Codec{spec.CodecJSON, spec.CodecFields}).Draw(t, "codec")
		if codec == spec.CodecFields && p.v.Kind() != value.Object {
			codec = spec.CodecJSON
		}
		s := &spec.Stream{Name: "s", Codec: codec, Entry: p.t}
		e, err := NewEncoder(s)
		if err != nil {
			t.Fatal(err)
		}
		d, err := NewDecoder(s)
		if err != nil {
			t.Fatal(err)
		}
		out, err := e.Encode(nil, &Message{Body: &p.v, Key: "k", HasKey: true, Headers: fields("a", "b")})
		if err != nil {
			t.Fatal(err)
		}
		arena.Reset()
		var body Body
		if err := d.Decode(out, &arena, &body); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		if !value.Equal(&body.Value, &p.v) {
			t.Fatalf("%q is another value", out)
		}
		if key, _ := body.Header(HeaderPartitionKey); key != "k" || len(body.Headers) != 2 {
			t.Fatalf("headers became %q", body.Headers)
		}
	})
}

// Whatever stands in a stream, decoding says yes or gives a line that names a
// known reason, and what it says yes to can be encoded again.
func FuzzDecode(f *testing.F) {
	f.Add("_payload", `{"id":1,"account":"a","amount_cents":2}`, "h:k", "v", uint8(0))
	f.Add("id", "7", "account", "a", uint8(0))
	f.Add("id", "7", "lines", `[{"count":null}]`, uint8(1))
	f.Add("_payload", "\xff", "a", "", uint8(2))
	f.Add("id", "1", "id", "2", uint8(1))
	f.Add("_payload", `{"id":1,"opts":{"fast":null},"lines":[{}]}`, "_payload", "", uint8(3))
	t := object(
		required("id", numberType),
		optional("account", stringType, `"none"`),
		optional("lines", listOf(object(optional("count", numberType, "1"))), ""),
		optional("opts", mapOf(boolType), `{"fast":true}`),
	)
	codecs := []spec.Codec{spec.CodecJSON, spec.CodecFields, spec.CodecText, spec.CodecBytes}
	f.Fuzz(func(tt *testing.T, n1, v1, n2, v2 string, codec uint8) {
		s := stream(codecs[codec%4], t)
		if codec%4 > 1 || codec >= 128 {
			s.Entry = nil
		}
		var body Body
		err := newDecoder(tt, s).Decode(fields(n1, v1, n2, v2), &value.Arena{}, &body)
		if err != nil {
			checkInvalid(tt, err)
			return
		}
		out, err := newEncoder(tt, s).Encode(nil, &Message{Body: &body.Value, Headers: []Field{}})
		if errors.Is(err, ErrTooLarge) {
			return
		}
		if err != nil {
			tt.Fatalf("decoded, but: %v", err)
		}
		var again Body
		if err := newDecoder(tt, s).Decode(out, &value.Arena{}, &again); err != nil || !value.Equal(&again.Value, &body.Value) {
			tt.Fatalf("%q decodes to something else: %v", out, err)
		}
	})
}

func checkInvalid(t *testing.T, err error) {
	_, invalid := errors.AsType[*InvalidError](err)
	if !invalid && InvalidReason(err) == ReasonInvalid {
		t.Fatalf("an error of no known type: %#v", err)
	}
	if text := err.Error(); !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r\x00\x1b") || len(text) > 2000 {
		t.Fatalf("the message is no line: %q", text)
	}
}
