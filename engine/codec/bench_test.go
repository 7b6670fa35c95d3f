package codec

import (
	"encoding/json"
	"testing"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

const paymentJSON = `{"id":123,"account":"acct-000123","amount_cents":4200,"currency":"EUR","memo":"invoice 2026-11 payment ref 00000123"}`

var paymentEntry = fields("_payload", paymentJSON, "h:redis-partition-key", "acct-000123")

func TestHotPathAllocatesNothing(t *testing.T) {
	d := newDecoder(t, stream(spec.CodecJSON, payment))
	byHand := fields("id", "7", "account", "acct-1", "amount_cents", "1200001")
	key, err := CompileKey(entry("account"))
	if err != nil {
		t.Fatal(err)
	}
	number, err := CompileKey(entry("id"))
	if err != nil {
		t.Fatal(err)
	}
	when, err := CompileBool(op(entry("amount_cents"), spec.OpGreater, lit("1000000")))
	if err != nil {
		t.Fatal(err)
	}
	var arena value.Arena
	var body Body
	env := &Env{Entry: &body.Value}
	for _, f := range [][]Field{paymentEntry, byHand} {
		allocs := testing.AllocsPerRun(100, func() {
			arena.Reset()
			if err := d.Decode(f, &arena, &body); err != nil {
				t.Fatal(err)
			}
			if k, err := key.Eval(env); k == "" || err != nil {
				t.Fatal(k, err)
			}
			if k, err := number.Eval(env); k == "" || err != nil {
				t.Fatal(k, err)
			}
			if _, err := when.Eval(env); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%v allocations, want none", allocs)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	b.Run("payment", func(b *testing.B) {
		d := newDecoder(b, stream(spec.CodecJSON, payment))
		var arena value.Arena
		var body Body
		b.ReportAllocs()
		for b.Loop() {
			arena.Reset()
			if err := d.Decode(paymentEntry, &arena, &body); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding-json", func(b *testing.B) {
		src := []byte(paymentJSON)
		b.ReportAllocs()
		for b.Loop() {
			var v struct {
				ID          json.Number `json:"id"`
				Account     string      `json:"account"`
				AmountCents json.Number `json:"amount_cents"`
			}
			if err := json.Unmarshal(src, &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkCheckAndKey(b *testing.B) {
	d := newDecoder(b, stream(spec.CodecJSON, payment))
	key, err := CompileKey(entry("account"))
	if err != nil {
		b.Fatal(err)
	}
	env := &Env{Entry: parse(b, paymentJSON)}
	b.ReportAllocs()
	for b.Loop() {
		if err := d.shape.check(env.Entry); err != nil {
			b.Fatal(err)
		}
		if _, err := key.Eval(env); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCondition(b *testing.B) {
	when, err := CompileBool(op(entry("amount_cents"), spec.OpGreater, lit("1000000")))
	if err != nil {
		b.Fatal(err)
	}
	env := &Env{Entry: parse(b, paymentJSON)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := when.Eval(env); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	e := newEncoder(b, stream(spec.CodecJSON, screened))
	m := &Message{Body: parse(b, `{"payment_id":123,"suspicious":false}`), Key: "acct-000123", HasKey: true}
	buf := make([]Field, 0, 4)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.Encode(buf, m); err != nil {
			b.Fatal(err)
		}
	}
}
