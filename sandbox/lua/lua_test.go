package lua

import (
	"context"
	"testing"

	"pipeline/engine/outcome"
	"pipeline/sandbox"
)

func TestExample(t *testing.T) {
	host := &logged{}
	post := spec(payments, "post_payment")
	post.Grants, post.Host = []sandbox.Grant{{Kind: "log"}}, host
	in := compile(t, post)
	for _, c := range []struct {
		body string
		want outcome.Kind
	}{
		{`{"id":1,"account":"acct-1","amount_cents":5}`, outcome.Ack},
		{`{"id":2,"account":"migrating-1","amount_cents":5}`, outcome.Retry},
	} {
		if out, _ := in.Call(context.Background(), delivery(t, c.body)); out.Kind != c.want {
			t.Errorf("%s: %s, want %s", c.body, show(t, out), c.want)
		}
	}
	if len(host.lines) != 2 || host.lines[1].Level != sandbox.Warn || len(host.lines[1].Attrs) != 2 || host.lines[1].Attrs[1].Value != "2" {
		t.Errorf("log: %+v", host.lines)
	}

	screen := compile(t, spec(payments, "screen_payment"))
	for body, want := range map[string]string{
		`{"id":1,"account":"a","amount_cents":1000001}`:                       `{"payment_id":1,"suspicious":true}`,
		`{"id":18446744073709551615,"account":"a","amount_cents":1}`:          `{"payment_id":18446744073709551615,"suspicious":false}`,
		`{"id":1,"account":"a","amount_cents":18446744073709551615,"more":1}`: `{"payment_id":1,"suspicious":true}`,
	} {
		out, use := screen.Call(context.Background(), delivery(t, body))
		if got := show(t, out); got != want {
			t.Errorf("%s: got %s, want %s", body, got, want)
		}
		if use.Instructions < 5 || use.Instructions > 50 {
			t.Errorf("%s: %d instructions", body, use.Instructions)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	in := compile(b, spec(payments, "screen_payment"))
	d := delivery(b, `{"id":1234567,"account":"acct-000123","amount_cents":1200001,"currency":"EUR","note":"invoice 991823 of the month of May 26"}`)
	b.ReportAllocs()
	for b.Loop() {
		if out, _ := in.Call(context.Background(), d); out.Kind != outcome.Reply {
			b.Fatal(show(b, out))
		}
	}
}

// BenchmarkAck is the floor: a call that reads nothing and builds nothing.
func BenchmarkAck(b *testing.B) {
	in := compile(b, spec("function handle() return ack() end", "handle"))
	d := delivery(b, `{"id":1}`)
	b.ReportAllocs()
	for b.Loop() {
		if out, _ := in.Call(context.Background(), d); out.Kind != outcome.Ack {
			b.Fatal(show(b, out))
		}
	}
}

// BenchmarkWholeBody reads more fields than are read one by one, so that the
// table is built.
func BenchmarkWholeBody(b *testing.B) {
	in := compile(b, spec("function handle(e) for k, v in pairs(e) do end return ack() end", "handle"))
	d := delivery(b, `{"id":1234567,"account":"acct-000123","amount_cents":1200001,"currency":"EUR","note":"invoice 991823 of the month of May 26"}`)
	b.ReportAllocs()
	for b.Loop() {
		if out, _ := in.Call(context.Background(), d); out.Kind != outcome.Ack {
			b.Fatal(show(b, out))
		}
	}
}

// BenchmarkNewInstance is what replacing a broken state costs.
func BenchmarkNewInstance(b *testing.B) {
	h, err := Compile(spec(payments, "screen_payment"))
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		in, err := h.NewInstance(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		in.Close()
	}
}

// BenchmarkPayment is a call with the three fields of the worked example's body,
// decoded before, its time limit included.
func BenchmarkPayment(b *testing.B) {
	in := compile(b, spec(payments, "screen_payment"))
	d := delivery(b, `{"id":1234567,"account":"acct-000123","amount_cents":1200001}`)
	b.ReportAllocs()
	for b.Loop() {
		if out, _ := in.Call(context.Background(), d); out.Kind != outcome.Reply {
			b.Fatal(show(b, out))
		}
	}
}
