package codec

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

func newEncoder(t testing.TB, s *spec.Stream) *Encoder {
	t.Helper()
	e, err := NewEncoder(s)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func parse(t testing.TB, src string) *value.Value {
	t.Helper()
	v, err := value.ParseJSON(src, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &v
}

var screened = object(required("payment_id", numberType), required("suspicious", boolType))

func TestEncode(t *testing.T) {
	cases := map[string]struct {
		stream  *spec.Stream
		message Message
		want    []Field
	}{
		"json": {stream(spec.CodecJSON, screened),
			Message{Body: parse(t, `{"suspicious":false,"payment_id":18446744073709551615}`), Key: "acct-1", HasKey: true},
			fields("_payload", `{"payment_id":18446744073709551615,"suspicious":false}`, "h:redis-partition-key", "acct-1")},
		"headers in order": {stream(spec.CodecJSON, nil),
			Message{Body: parse(t, `1`), Headers: fields("z", "1", "content-type", "x", "a", "\x00", "traceparent", "t", "correlation-id", "c", "redis-partition-key", "k")},
			fields("_payload", "1", "h:z", "1", "h:content-type", "x", "h:a", "\x00", "h:traceparent", "t", "h:correlation-id", "c", "h:redis-partition-key", "k")},
		"the first header counts": {stream(spec.CodecJSON, nil),
			Message{Body: parse(t, `1`), Key: "k", HasKey: true, Headers: fields("a", "1", "redis-partition-key", "no", "a", "2")},
			fields("_payload", "1", "h:redis-partition-key", "k", "h:a", "1")},
		"an empty key is one": {stream(spec.CodecJSON, nil), Message{Body: parse(t, `1`), HasKey: true},
			fields("_payload", "1", "h:redis-partition-key", "")},
		"headers of the engine stay": {stream(spec.CodecJSON, nil),
			Message{Body: parse(t, `1`), Headers: fields("x-retry-count", "9", "x-retry-group", "g", "dead-letter-reason", "r", "x", "y")},
			fields("_payload", "1", "h:x", "y")},
		"more members than declared": {stream(spec.CodecJSON, screened), Message{Body: parse(t, `{"suspicious":true,"payment_id":1,"a":[]}`)},
			fields("_payload", `{"a":[],"payment_id":1,"suspicious":true}`)},
		"defaults are the reader's": {stream(spec.CodecJSON, object(optional("a", numberType, "5"))), Message{Body: parse(t, `{}`)}, fields("_payload", `{}`)},
		"fields": {stream(spec.CodecFields, nil),
			Message{Body: parse(t, `{"s":"a\nb","n":1.50,"b":true,"z":null,"l":[1,"x"],"o":{"b":1,"a":2},"e":""}`), Key: "k", HasKey: true},
			fields("b", "true", "e", "", "l", `[1,"x"]`, "n", "1.50", "o", `{"a":2,"b":1}`, "s", "a\nb", "h:redis-partition-key", "k")},
		"text":  {stream(spec.CodecText, nil), Message{Body: parse(t, `"é\n"`)}, fields("_payload", "é\n")},
		"bytes": {stream(spec.CodecBytes, nil), Message{Body: new(value.NewString("\xff\x00"))}, fields("_payload", "\xff\x00")},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before := fields("kept", "kept")
			got, err := newEncoder(t, c.stream).Encode(before, &c.message)
			if err != nil || !slices.Equal(got, append(before, c.want...)) {
				t.Errorf("got  %q, %v\nwant %q", got, err, c.want)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	cases := map[string]struct {
		stream *spec.Stream
		body   *value.Value
		want   string
	}{
		"missing":        {stream(spec.CodecJSON, screened), parse(t, `{"payment_id":1}`), `suspicious: expected a bool, found nothing`},
		"kind":           {stream(spec.CodecJSON, screened), parse(t, `{"payment_id":"1","suspicious":true}`), `payment_id: expected a number, found a string`},
		"too large":      {stream(spec.CodecJSON, nil), new(value.NewString(strings.Repeat("x", 999))), `the body has 1001 bytes, max_entry_size allows 1000`},
		"not utf-8":      {stream(spec.CodecJSON, nil), new(value.NewArray([]value.Value{value.NewString("\xff")})), `[0]: expected what JSON can write, found a value that is not UTF-8: byte 0 of the text; a stream with codec "bytes" carries any bytes`},
		"fields scalar":  {stream(spec.CodecFields, nil), parse(t, `1`), `the body: expected an object, because the codec is "fields", found a number`},
		"fields none":    {stream(spec.CodecFields, nil), parse(t, `{"a":null}`), `the body: expected at least one member that is not null, because the codec is "fields", found none`},
		"fields header":  {stream(spec.CodecFields, nil), parse(t, `{"h:a":1}`), `["h:a"]: expected a name that does not begin with "h:", which marks headers, found one that does`},
		"fields twice":   {stream(spec.CodecFields, nil), new(value.NewObject([]value.Value{value.NewString("1").Named("a"), value.NewString("2").Named("a")})), `a: expected each member name once, found it twice`},
		"fields large":   {stream(spec.CodecFields, nil), new(value.NewObject([]value.Value{value.NewString(strings.Repeat("x", 1000)).Named("a")})), `the body has 1001 bytes, max_entry_size allows 1000`},
		"fields inside":  {stream(spec.CodecFields, nil), new(value.NewObject([]value.Value{value.NewArray([]value.Value{value.NewString("\xff")}).Named("a")})), `a[0]: expected what JSON can write, found a value that is not UTF-8: byte 0 of the text; a stream with codec "bytes" carries any bytes`},
		"text a number":  {stream(spec.CodecText, nil), parse(t, `1`), `the body: expected a string, because the codec is "text", found a number`},
		"bytes a list":   {stream(spec.CodecBytes, nil), parse(t, `[]`), `the body: expected a string, because the codec is "bytes", found a list`},
		"text not utf-8": {stream(spec.CodecText, nil), new(value.NewString("\xff")), `the body: expected a text in UTF-8, found other bytes; codec "bytes" carries any`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before := fields("kept", "kept")
			got, err := newEncoder(t, c.stream).Encode(before, &Message{Body: c.body})
			if err == nil || err.Error() != "encode for stream s.key: "+c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
			if !slices.Equal(got, before) {
				t.Errorf("dst became %q", got)
			}
		})
	}
	_, err := newEncoder(t, stream(spec.CodecJSON, nil)).Encode(nil, &Message{Body: parse(t, "1"), Headers: fields("", "x")})
	if err == nil || !strings.Contains(err.Error(), "empty name") {
		t.Errorf("an empty header name: %v", err)
	}
	_, err = newEncoder(t, stream(spec.CodecText, nil)).Encode(nil, &Message{Body: new(value.NewString(strings.Repeat("x", 1001)))})
	if !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v, want ErrTooLarge", err)
	}
}

func TestEncoderKey(t *testing.T) {
	s := stream(spec.CodecJSON, nil)
	if key, ok, err := newEncoder(t, s).Key(&Env{Entry: parse(t, `{}`)}); key != "" || ok || err != nil {
		t.Errorf("no key declared: got %q, %v, %v", key, ok, err)
	}
	s.Key = entry("account")
	e := newEncoder(t, s)
	for body, want := range map[string]string{`{"account":"a"}`: "a", `{"account":1.0}`: "1", `{}`: "", `{"account":null}`: ""} {
		key, ok, err := e.Key(&Env{Entry: parse(t, body)})
		if key != want || ok != (want != "") || err != nil {
			t.Errorf("%s: got %q, %v, %v", body, key, ok, err)
		}
	}
	if _, _, err := e.Key(&Env{Entry: parse(t, `{"account":[]}`)}); err == nil ||
		err.Error() != `key for stream s.key: entry.account: expected a string, number or bool, found a list` {
		t.Errorf("got %v", err)
	}
	s.Key = &spec.Path{Root: "nowhere"}
	if _, err := NewEncoder(s); err == nil {
		t.Error("an expression that cannot be compiled is accepted")
	}
}
