package codec

import (
	"errors"
	"strings"
	"testing"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

var (
	stringType = &spec.Type{Kind: spec.TypeString}
	numberType = &spec.Type{Kind: spec.TypeNumber}
	boolType   = &spec.Type{Kind: spec.TypeBool}
	anyType    = &spec.Type{Kind: spec.TypeAny}
)

func listOf(t *spec.Type) *spec.Type { return &spec.Type{Kind: spec.TypeList, Elem: t} }
func mapOf(t *spec.Type) *spec.Type  { return &spec.Type{Kind: spec.TypeMap, Elem: t} }
func object(attrs ...spec.Attr) *spec.Type {
	return &spec.Type{Kind: spec.TypeObject, Attrs: attrs}
}
func required(name string, t *spec.Type) spec.Attr { return spec.Attr{Name: name, Type: t} }
func optional(name string, t *spec.Type, preset string) spec.Attr {
	return spec.Attr{Name: name, Type: t, Optional: true, Default: preset}
}

// payment is the type of the worked example.
var payment = object(required("account", stringType), required("amount_cents", numberType), required("id", numberType))

func stream(c spec.Codec, t *spec.Type) *spec.Stream {
	return &spec.Stream{Label: "s", Name: "s.key", Codec: c, Entry: t, Body: spec.DefaultBody, MaxEntrySize: 1000}
}

// fields makes fields of "name", "value" pairs.
func fields(pairs ...string) []Field {
	var out []Field
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, Field{Name: pairs[i], Value: pairs[i+1]})
	}
	return out
}

func payload(body string) []Field { return fields("_payload", body) }

func newDecoder(t testing.TB, s *spec.Stream) *Decoder {
	t.Helper()
	d, err := NewDecoder(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDecode(t *testing.T) {
	defaults := object(
		optional("currency", stringType, `"EUR"`),
		optional("note", stringType, ""),
		required("id", numberType),
		optional("opts", object(optional("fast", boolType, "true")), `{}`),
		optional("lines", listOf(object(required("sku", stringType), optional("count", numberType, "1"))), ""),
		optional("rates", mapOf(object(optional("vat", numberType, "19"))), ""),
	)
	cases := map[string]struct {
		stream *spec.Stream
		fields []Field
		want   string
	}{
		"json": {stream(spec.CodecJSON, payment), payload(`{"id":18446744073709551615,"account":"a","amount_cents":1.50}`),
			`{"account":"a","amount_cents":1.50,"id":18446744073709551615}`},
		"more members than declared":   {stream(spec.CodecJSON, payment), payload(`{"x":[null],"id":1,"account":"a","amount_cents":2,"y":"z"}`), `{"account":"a","amount_cents":2,"id":1,"x":[null],"y":"z"}`},
		"no type":                      {stream(spec.CodecJSON, nil), payload(`[1,"a",null]`), `[1,"a",null]`},
		"any accepts null":             {stream(spec.CodecJSON, object(required("a", anyType))), payload(`{"a":null}`), `{"a":null}`},
		"fields of an entry by hand":   {stream(spec.CodecJSON, payment), fields("id", "7", "account", "acct-1", "amount_cents", "1200001"), `{"account":"acct-1","amount_cents":1200001,"id":7}`},
		"undeclared fields are text":   {stream(spec.CodecJSON, payment), fields("id", "7", "account", "1", "amount_cents", "2", "n", "3", "b", "true"), `{"account":"1","amount_cents":2,"b":"true","id":7,"n":"3"}`},
		"headers are no body":          {stream(spec.CodecJSON, payment), fields("h:id", "9", "id", "7", "account", "1", "h:x", "y", "amount_cents", "2"), `{"account":"1","amount_cents":2,"id":7}`},
		"fields without a type":        {stream(spec.CodecJSON, nil), fields("a", "1", "b", ""), `{"a":"1","b":""}`},
		"fields of a map":              {stream(spec.CodecJSON, mapOf(numberType)), fields("a", "1", "b", "2e3"), `{"a":1,"b":2e3}`},
		"the body field goes first":    {stream(spec.CodecJSON, payment), fields("id", "x", "_payload", `{"id":1,"account":"a","amount_cents":2}`), `{"account":"a","amount_cents":2,"id":1}`},
		"fields codec":                 {stream(spec.CodecFields, object(required("paid", boolType), required("lines", listOf(numberType)), required("who", object()))), fields("paid", "true", "lines", "[1,2]", "who", `{"b":1,"a":2}`, "raw", "x"), `{"lines":[1,2],"paid":true,"raw":"x","who":{"a":2,"b":1}}`},
		"fields codec takes _payload":  {stream(spec.CodecFields, nil), payload(`{"a":1}`), `{"_payload":"{\"a\":1}"}`},
		"text":                         {stream(spec.CodecText, nil), payload("héllo\n"), `"héllo\n"`},
		"empty text":                   {stream(spec.CodecText, stringType), payload(""), `""`},
		"bytes":                        {stream(spec.CodecBytes, nil), payload("abc"), `"abc"`},
		"default of what is absent":    {stream(spec.CodecJSON, defaults), payload(`{"id":1}`), `{"currency":"EUR","id":1,"opts":{"fast":true}}`},
		"default of what is null":      {stream(spec.CodecJSON, defaults), payload(`{"id":1,"currency":null,"note":null,"lines":null}`), `{"currency":"EUR","id":1,"lines":null,"note":null,"opts":{"fast":true}}`},
		"no default of what is there":  {stream(spec.CodecJSON, defaults), payload(`{"id":1,"currency":"","opts":{"fast":false}}`), `{"currency":"","id":1,"opts":{"fast":false}}`},
		"defaults inside":              {stream(spec.CodecJSON, defaults), payload(`{"id":1,"opts":{"z":0},"lines":[{"sku":"a"},{"sku":"b","count":2}],"rates":{"de":{},"fr":{"vat":20}}}`), `{"currency":"EUR","id":1,"lines":[{"count":1,"sku":"a"},{"count":2,"sku":"b"}],"opts":{"fast":true,"z":0},"rates":{"de":{"vat":19},"fr":{"vat":20}}}`},
		"defaults of fields":           {stream(spec.CodecFields, defaults), fields("id", "1"), `{"currency":"EUR","id":1,"opts":{"fast":true}}`},
		"fields that are not declared": {stream(spec.CodecFields, object(optional("a", numberType, ""))), fields("b", ""), `{"b":""}`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var body Body
			if err := newDecoder(t, c.stream).Decode(c.fields, &value.Arena{}, &body); err != nil {
				t.Fatal(err)
			}
			got, err := value.AppendJSON(nil, &body.Value)
			if err != nil || string(got) != c.want {
				t.Errorf("got  %s, %v\nwant %s", got, err, c.want)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	nested := object(required("items", listOf(object(required("price", numberType)))), optional("tags", mapOf(stringType), ""))
	cases := map[string]struct {
		stream *spec.Stream
		fields []Field
		want   string
		reason string
	}{
		"no json":               {stream(spec.CodecJSON, payment), payload(`{"id":1,`), `the body is no JSON: line 1 column 9: expected a member name in double quotes, found the end of the input`, ReasonInvalid},
		"empty body":            {stream(spec.CodecJSON, payment), payload(``), `the body is no JSON: line 1 column 1: expected a JSON value, found the end of the input`, ReasonInvalid},
		"no object":             {stream(spec.CodecJSON, payment), payload(`[1]`), `the body: expected an object, found a list`, ReasonInvalid},
		"missing":               {stream(spec.CodecJSON, payment), payload(`{"id":1,"account":"a"}`), `amount_cents: expected a number, found nothing`, ReasonInvalid},
		"null":                  {stream(spec.CodecJSON, payment), payload(`{"id":null,"account":"a","amount_cents":1}`), `id: expected a number, found null`, ReasonInvalid},
		"wrong kind":            {stream(spec.CodecJSON, payment), payload(`{"id":1,"account":"a","amount_cents":"12"}`), `amount_cents: expected a number, found a string`, ReasonInvalid},
		"number for a string":   {stream(spec.CodecJSON, payment), payload(`{"id":1,"account":5,"amount_cents":12}`), `account: expected a string, found a number`, ReasonInvalid},
		"deep inside":           {stream(spec.CodecJSON, nested), payload(`{"items":[{"price":1},{"price":{}}]}`), `items[1].price: expected a number, found an object`, ReasonInvalid},
		"null in a list":        {stream(spec.CodecJSON, listOf(numberType)), payload(`[1,null]`), `[1]: expected a number, found null`, ReasonInvalid},
		"odd name":              {stream(spec.CodecJSON, nested), payload(`{"items":[],"tags":{"a\u001bb":false}}`), `tags["a\x1bb"]: expected a string, found a bool`, ReasonInvalid},
		"twice":                 {stream(spec.CodecJSON, payment), payload(`{"amount_cents":1,"amount_cents":2}`), `the body is no JSON: line 1 column 19: expected each member name once, found "amount_cents" again`, ReasonInvalid},
		"too large":             {stream(spec.CodecJSON, payment), payload(strings.Repeat("[", 1001)), `the body has 1001 bytes, max_entry_size allows 1000`, ReasonTooLarge},
		"too large fields":      {stream(spec.CodecJSON, payment), fields("id", strings.Repeat("9", 999)), `the body has 1001 bytes, max_entry_size allows 1000`, ReasonTooLarge},
		"too large text":        {stream(spec.CodecText, nil), payload(strings.Repeat("\xff", 1001)), `the body has 1001 bytes, max_entry_size allows 1000`, ReasonTooLarge},
		"two bodies":            {stream(spec.CodecJSON, nil), fields("_payload", "1", "_payload", "1"), `_payload: expected each field once, found it twice`, ReasonInvalid},
		"a field twice":         {stream(spec.CodecJSON, payment), fields("id", "1", "account", "a", "amount_cents", "1", "amount_cents", "2"), `amount_cents: expected each field once, found it twice`, ReasonInvalid},
		"fields codec twice":    {stream(spec.CodecFields, nil), fields("a", "1", "a", "1"), `a: expected each field once, found it twice`, ReasonInvalid},
		"field no number":       {stream(spec.CodecJSON, payment), fields("id", "1", "account", "a", "amount_cents", "12,50"), `amount_cents: expected a number, found a text of 5 bytes that is none`, ReasonInvalid},
		"field leading zero":    {stream(spec.CodecJSON, payment), fields("id", "007", "account", "a", "amount_cents", "1"), `id: expected a number, found a text of 3 bytes that is none`, ReasonInvalid},
		"field space":           {stream(spec.CodecJSON, payment), fields("id", " 7", "account", "a", "amount_cents", "1"), `id: expected a number, found a text of 2 bytes that is none`, ReasonInvalid},
		"field empty":           {stream(spec.CodecJSON, payment), fields("id", "", "account", "a", "amount_cents", "1"), `id: expected a number, found an empty text`, ReasonInvalid},
		"field missing":         {stream(spec.CodecJSON, payment), fields("id", "1"), `account: expected a string, found nothing`, ReasonInvalid},
		"field no bool":         {stream(spec.CodecFields, object(required("b", boolType))), fields("b", "True"), `b: expected true or false, found a text of 4 bytes that is none`, ReasonInvalid},
		"field no list":         {stream(spec.CodecFields, object(required("l", listOf(numberType)))), fields("l", "1,2"), `l: expected a list as JSON, found a text that is none`, ReasonInvalid},
		"field list of texts":   {stream(spec.CodecFields, object(required("l", listOf(numberType)))), fields("l", `["1"]`), `l[0]: expected a number, found a string`, ReasonInvalid},
		"field not utf-8":       {stream(spec.CodecJSON, nil), fields("a", "\xff"), `a: expected a text in UTF-8, found other bytes`, ReasonInvalid},
		"field name not utf-8":  {stream(spec.CodecJSON, nil), fields("\xff", ""), `["\xff"]: expected a text in UTF-8, found other bytes`, ReasonInvalid},
		"fields but a list":     {stream(spec.CodecJSON, listOf(numberType)), fields("a", "1"), `the body: expected a list, found an object`, ReasonInvalid},
		"only headers":          {stream(spec.CodecJSON, payment), fields("h:a", "1"), `the entry has no field "_payload" and no fields of its own but headers`, ReasonBodyMissing},
		"nothing":               {stream(spec.CodecJSON, nil), nil, `the entry has no field "_payload" and no fields of its own but headers`, ReasonBodyMissing},
		"fields codec headers":  {stream(spec.CodecFields, nil), fields("h:a", "1"), `the entry has no fields but headers`, ReasonBodyMissing},
		"text without its body": {stream(spec.CodecText, nil), fields("a", "b"), `the entry has no field "_payload", and a text cannot be made of its other fields`, ReasonBodyMissing},
		"text not utf-8":        {stream(spec.CodecText, nil), payload("\xff"), `the body: expected a text in UTF-8, found other bytes; codec "bytes" carries any`, ReasonInvalid},
		"text of another type":  {stream(spec.CodecText, numberType), payload("5"), `the body: expected a number, found a string`, ReasonInvalid},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var body Body
			err := newDecoder(t, c.stream).Decode(c.fields, &value.Arena{}, &body)
			if err == nil {
				t.Fatal("no error")
			}
			if err.Error() != c.want {
				t.Errorf("got  %s\nwant %s", err, c.want)
			}
			if got := InvalidReason(err); got != c.reason {
				t.Errorf("reason %s, want %s", got, c.reason)
			}
		})
	}
}

// What a body holds must not show in messages: they are logged.
func TestErrorsDoNotShowBodies(t *testing.T) {
	const secret = "DE89370400440532013000"
	d := newDecoder(t, stream(spec.CodecJSON, object(required("id", numberType))))
	for _, f := range [][]Field{
		payload(`{"id":"` + secret + `"}`), payload(`{"id":` + secret + `}`), payload(`{"a":"` + secret + `"}`),
		payload(secret), fields("id", secret), fields("iban", secret), payload(`{"a" ` + secret), payload(`"\u` + secret),
	} {
		var body Body
		if err := d.Decode(f, &value.Arena{}, &body); err == nil || strings.Contains(err.Error(), secret[:6]) {
			t.Errorf("%v: %v", f, err)
		}
	}
}

func TestInvalidErrorSaysWhere(t *testing.T) {
	var body Body
	d := newDecoder(t, stream(spec.CodecJSON, nil))
	err := d.Decode(payload("{\n \"a\": x}"), &value.Arena{}, &body)
	invalid, ok := errors.AsType[*InvalidError](err)
	if !ok || invalid.Offset != 8 || invalid.Line != 2 || invalid.Column != 7 {
		t.Errorf("got %#v", err)
	}
	d = newDecoder(t, stream(spec.CodecJSON, numberType))
	err = d.Decode(payload("true"), &value.Arena{}, &body)
	if invalid, ok = errors.AsType[*InvalidError](err); !ok || invalid.Offset != -1 {
		t.Errorf("got %#v", err)
	}
}

func TestHeaders(t *testing.T) {
	d := newDecoder(t, stream(spec.CodecJSON, nil))
	f := fields("h:b", "1", "_payload", "{", "h:", "empty", "h:a", "\x00\xff", "h:b", "2", "H:c", "no header")
	var body Body
	if err := d.Decode(f, &value.Arena{}, &body); err == nil {
		t.Fatal("no error")
	}
	want := fields("b", "1", "", "empty", "a", "\x00\xff", "b", "2")
	if len(body.Headers) != len(want) {
		t.Fatalf("got %q", body.Headers)
	}
	for i := range want {
		if body.Headers[i] != want[i] {
			t.Errorf("header %d: got %q, want %q", i, body.Headers[i], want[i])
		}
	}
	if text, ok := body.Header("b"); !ok || text != "1" {
		t.Errorf("got %q, %v; the first one counts", text, ok)
	}
	if _, ok := body.Header("c"); ok {
		t.Error("the prefix has another case, it marks no header")
	}
	if err := d.Decode(payload("1"), &value.Arena{}, &body); err != nil || len(body.Headers) != 0 {
		t.Errorf("headers of the entry before: %q, %v", body.Headers, err)
	}
}

func TestRaw(t *testing.T) {
	d := newDecoder(t, stream(spec.CodecJSON, nil))
	var body Body
	if err := d.Decode(fields("h:x", "", "_payload", " 1 "), &value.Arena{}, &body); err != nil || body.Raw != " 1 " {
		t.Errorf("got %q, %v", body.Raw, err)
	}
	if err := d.Decode(fields("a", "1"), &value.Arena{}, &body); err != nil || body.Raw != "" {
		t.Errorf("got %q, %v", body.Raw, err)
	}
}

func TestNamedBodyField(t *testing.T) {
	s := stream(spec.CodecJSON, nil)
	s.Body = "data"
	var body Body
	if err := newDecoder(t, s).Decode(fields("_payload", "x", "data", "[1]"), &value.Arena{}, &body); err != nil || body.Value.Len() != 1 {
		t.Errorf("got %v, %v", body.Value.Kind(), err)
	}
}

func TestManyFieldsAreCheap(t *testing.T) {
	s := stream(spec.CodecFields, nil)
	s.MaxEntrySize = 1 << 30
	many := make([]Field, 200_000)
	for i := range many {
		many[i].Name = strings.Repeat("x", i%5) + value.CanonicalNumber(numberText(i))
	}
	many[len(many)-1].Name = many[0].Name
	var body Body
	err := newDecoder(t, s).Decode(many, &value.Arena{}, &body)
	if err == nil || !strings.Contains(err.Error(), "each field once") {
		t.Errorf("got %v", err)
	}
}

func numberText(i int) string {
	v := value.FromInt(int64(i))
	return v.Text()
}

func TestNewDecoderRefuses(t *testing.T) {
	cases := map[string]struct {
		stream *spec.Stream
		want   string
	}{
		"codec":      {stream("xml", nil), `there is no codec "xml"`},
		"type":       {stream(spec.CodecJSON, listOf(&spec.Type{Kind: "date"})), `there is no type "date"`},
		"twice":      {stream(spec.CodecJSON, object(required("a", nil), required("a", nil))), `attribute a is declared twice`},
		"default":    {stream(spec.CodecJSON, object(optional("a", numberType, `"x"`))), `default of attribute a: the body: expected a number, found a string`},
		"bad json":   {stream(spec.CodecJSON, object(optional("a", numberType, `{`))), `default of attribute a: json line 1`},
		"no default": {stream(spec.CodecJSON, object(optional("a", nil, `{`))), `default of attribute a`},
	}
	for name, c := range cases {
		if _, err := NewDecoder(c.stream); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", name, err, c.want)
		}
	}
}
