package abi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
	"pipeline/sandbox/sandboxtest"
)

func TestEnvelope(t *testing.T) {
	d := sandboxtest.Delivery(`{"id":18446744073709551615,"b":[1.50,"é"]}`)
	d.Headers = []outcome.Header{{Name: "a b", Value: "1"}, {Name: "a b", Value: "2"}, {Name: "bin", Value: "\xff"}, {Name: "\xff", Value: "lost"}}
	d.Idle, d.Deliveries = 1500*time.Millisecond, 3
	body := `{"body":{"b":[1.50,"é"],"id":18446744073709551615}`
	tail := `,"id":"1700000000000-0","stream":"payments","group":"ledger","subscription":"s","key":"acct-1",` +
		`"headers":{"a b":"2"},"headers_base64":{"bin":"/w=="},"deliveries":3,"attempt":1,"max_attempts":5,"idle_ms":1500,"now_ms":1700000000500}`
	tests := map[string]struct {
		change func()
		want   string
	}{
		"a value":              {func() {}, body + tail},
		"a text":               {func() { d.Kind, d.Raw = sandbox.BodyText, "a\"b" }, `{"body":"a\"b"` + tail},
		"no text":              {func() { d.Kind, d.Raw = sandbox.BodyText, "a\xff" }, `{"body_base64":"Yf8="` + tail},
		"bytes":                {func() { d.Kind, d.Raw = sandbox.BodyBytes, "ab" }, `{"body_base64":"YWI="` + tail},
		"no bytes":             {func() { d.Kind, d.Raw = sandbox.BodyBytes, "" }, `{"body_base64":""` + tail},
		"a odd key":            {func() { d.Key = "\xfe" }, body + strings.Replace(tail, `"key":"acct-1"`, `"key_base64":"/g=="`, 1)},
		"another stream":       {func() { d.Stream = "p\"" }, body + strings.Replace(tail, `"payments"`, `"p\""`, 1)},
		"another group":        {func() { d.Group = "audit" }, body + strings.Replace(tail, `"ledger"`, `"audit"`, 1)},
		"another subscription": {func() { d.Subscription = "t" }, body + strings.Replace(tail, `"subscription":"s"`, `"subscription":"t"`, 1)},
		"no headers":           {func() { d.Headers = nil }, ""},
		"not a value":          {func() { v := value.NewString("\xff"); d.Body = &v }, "error"},
	}
	plain := *d
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var e Envelope
			*d = plain
			if _, err := e.Append(nil, d); err != nil { // which must not show in the next
				t.Fatal(err)
			}
			test.change()
			got, err := e.Append(nil, d)
			if test.want == "error" {
				if err == nil {
					t.Errorf("got %s", got)
				}
				return
			}
			if err != nil || !json.Valid(got) || test.want != "" && string(got) != test.want {
				t.Errorf("got  %s %v\nwant %s", got, err, test.want)
			}
		})
	}
}

// TestManyHeaders keeps of each name the last, in time that grows with their
// number.
func TestManyHeaders(t *testing.T) {
	var headers []outcome.Header
	for i := range 100_000 {
		headers = append(headers, outcome.Header{Name: fmt.Sprint("h", i%50_000), Value: fmt.Sprint(i)})
	}
	start := time.Now()
	var got map[string]string
	if err := json.Unmarshal(AppendHeaders(nil, headers, func(string) bool { return true }), &got); err != nil {
		t.Fatal(err)
	}
	if len(got) != 50_000 || got["h0"] != "50000" || got["h49999"] != "99999" {
		t.Errorf("%d headers, %s, %s", len(got), got["h0"], got["h49999"])
	}
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestRaw(t *testing.T) {
	d := sandboxtest.Delivery(`{"id":1}`)
	if got, err := AppendRaw(nil, d); err != nil || string(got) != `{"id":1}` {
		t.Errorf("the fields of an entry: %s %v", got, err)
	}
	d.Raw = ` {"id": 1} `
	if got, err := AppendRaw(nil, d); err != nil || string(got) != d.Raw {
		t.Errorf("a body: %s %v", got, err)
	}
}

func TestDecode(t *testing.T) {
	tests := map[string]struct{ text, want, fails string }{
		"ack":            {text: `{"action":"ack"}`, want: "ack"},
		"nulls":          {text: ` {"replies":null,"reason":null,"after_ms":null,"action":"ack"} `, want: "ack"},
		"empty":          {text: `{"action":"drop","reason":"","replies":[]}`, want: "drop"},
		"retry":          {text: `{"action":"retry","after_ms":1.5e3,"reason":"later"}`, want: "retry after 1.5s: later"},
		"retry at once":  {text: `{"action":"retry","after_ms":0}`, want: "retry after 0s"},
		"dead":           {text: `{"action":"dead","reason":"no such account"}`, want: "dead: no such account"},
		"reply":          {text: `{"action":"reply","replies":[{"body":{"b":1,"a":18446744073709551615}}]}`, want: `reply {"a":18446744073709551615,"b":1}`},
		"replies":        {text: `{"action":"reply","replies":[{"to":"x","body":null,"key":"","headers":{"b":"2","a":"1"}},{"to":null,"key":null,"headers":null,"body":[]}]}`, want: `reply x null key "" a=1 b=2 []`},
		"bytes":          {text: `{"action":"reply","replies":[{"body_base64":"aGk="}]}`, want: `reply "hi"`},
		"misspelt":       {text: `{"action":"reply","replys":[]}`, fails: `it has the key "replys", which does not exist`},
		"unknown action": {text: `{"action":"commit"}`, fails: `"action" is "commit"; it is one of ack`},
		"no action":      {text: `{"replies":[]}`, fails: `"action" is missing`},
		"not an object":  {text: `3`, fails: "not an object but a number"},
		"not JSON":       {text: `{"action":}`, fails: "it is not JSON"},
		"twice":          {text: `{"action":"ack","action":"dead"}`, fails: "it is not JSON"},
		"ack and more":   {text: `{"action":"ack","replies":[{"body":1}]}`, fails: `"replies" are for the action "reply", and "action" is "ack"`},
		"ack with why":   {text: `{"action":"ack","reason":"x"}`, fails: `"reason" is for the actions`},
		"dead later":     {text: `{"action":"dead","after_ms":1}`, fails: `"after_ms" is for the action "retry"`},
		"half a ms":      {text: `{"action":"retry","after_ms":0.5}`, fails: "whole number of milliseconds"},
		"nothing":        {text: `{"action":"reply"}`, fails: `"replies" is missing or empty`},
		"no body":        {text: `{"action":"reply","replies":[{"body":1},{"to":"x"}]}`, fails: `replies[1]: it needs "body"`},
		"no route":       {text: `{"action":"reply","replies":[{"body":1,"to":""}]}`, fails: `"to" is empty`},
		"odd header":     {text: `{"action":"reply","replies":[{"body":1,"headers":{"n":1}}]}`, fails: `the header "n" is a number`},
		"odd key":        {text: `{"action":"reply","replies":[{"body":1,"key":5}]}`, fails: `"key" is a number; it is a string`},
	}
	var d Decoder
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, err := d.Decode(test.text)
			if test.fails != "" {
				if err == nil || !strings.Contains(err.Error(), test.fails) {
					t.Errorf("got %v, want %s", err, test.fails)
				}
				return
			}
			if got := show(out); err != nil || got != test.want {
				t.Errorf("got  %s %v\nwant %s", got, err, test.want)
			}
		})
	}
}

func show(out outcome.Outcome) string {
	s := out.Kind.String()
	if out.HasAfter {
		s += " after " + out.After.String()
	}
	if out.Reason != "" {
		s += ": " + out.Reason
	}
	for i := range out.Replies {
		m := &out.Replies[i]
		if m.To != "" {
			s += " " + m.To
		}
		body, err := value.AppendJSON(nil, &m.Body)
		if err != nil {
			return err.Error()
		}
		s += " " + string(body)
		if m.HasKey {
			s += ` key "` + m.Key + `"`
		}
		for _, h := range m.Headers {
			s += " " + h.Name + "=" + h.Value
		}
	}
	return s
}

func TestFromCode(t *testing.T) {
	for code, want := range map[uint32]outcome.Kind{0: outcome.Ack, 1: outcome.Retry, 2: outcome.Dead, 3: outcome.Drop} {
		if out, err := FromCode(code); err != nil || out.Kind != want {
			t.Errorf("%d: %v %v", code, out.Kind, err)
		}
	}
	if _, err := FromCode(4); err == nil {
		t.Error("the code 4 is taken")
	}
}

// TestReplyCrosses sends any JSON through a reply.
func TestReplyCrosses(t *testing.T) {
	var d Decoder
	rapid.Check(t, func(t *rapid.T) {
		body, err := json.Marshal(map[string]any{"a": rapid.String().Draw(t, "text"), "b": rapid.Int64().Draw(t, "number"), "c": []bool{rapid.Bool().Draw(t, "bool")}})
		if err != nil {
			t.Fatal(err)
		}
		out, err := d.Decode(`{"action":"reply","replies":[{"body":` + string(body) + `}]}`)
		if err != nil {
			t.Fatal(err)
		}
		want, err := value.ParseJSON(string(body), nil)
		if err != nil || !value.Equal(&out.Replies[0].Body, &want) {
			t.Fatalf("%v; %v", out.Replies[0].Body, err)
		}
	})
}

// FuzzDecode reads any result.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{`{"action":"ack"}`, `{"action":"retry","after_ms":1e2,"reason":"x"}`, `{"action":"reply","replies":[{"to":"a","body":{"x":[1]},"key":"k","headers":{"h":"v"}},{"body_base64":"aGk="}]}`} {
		f.Add(s)
	}
	for _, body := range []string{
		`{"b":1,"a":"\n"}`, ` 1 `, ``, `1},{"body":2`, `1,"to":"x"`, `1,"body":2`, `{"a":1,"a":2}`, "\"\xff\"", `"}]}`,
		strings.Repeat("[", 125) + strings.Repeat("]", 125), strings.Repeat("[", 126) + strings.Repeat("]", 126),
		strings.Repeat(`{"a":`, 126) + "1" + strings.Repeat("}", 126), `"` + strings.Repeat("[", 200) + `"`,
	} {
		f.Add(plainHead + body + plainTail)
	}
	var d, slow Decoder
	f.Fuzz(func(t *testing.T, text string) {
		out, err := d.Decode(text)
		if other, fails := slow.read(text); fmt.Sprint(fails) != fmt.Sprint(err) || show(other) != show(out) {
			t.Fatalf("%q: got %s %v, want %s %v", text, show(out), err, show(other), fails)
		}
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		if out.Kind == outcome.None || out.Kind == outcome.Failed || (out.Kind == outcome.Reply) != (len(out.Replies) > 0) {
			t.Errorf("%q: %+v", text, out)
		}
	})
}
