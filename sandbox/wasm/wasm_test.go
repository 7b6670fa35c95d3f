package wasm

import (
	"context"
	"testing"

	"pipeline/engine/outcome"
	"pipeline/sandbox"
	"pipeline/sandbox/sandboxtest"
	"pipeline/sandbox/sandboxtest/wat"
)

func spec(code []byte) sandbox.Spec {
	return sandbox.Spec{Label: "h", Source: sandbox.Source{Name: "h.wasm", Code: code}, Function: "handle"}
}

func compile(t testing.TB, s sandbox.Spec) sandbox.Instance {
	t.Helper()
	h, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	in, err := h.NewInstance(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return in
}

// summing adds up its input and acknowledges the entry.
var summing = wat.Handler("i32 i32", `
	block
		loop
			local.get 2 local.get 1 i32.ge_u br_if 1
			local.get 3 local.get 0 local.get 2 i32.add i32.load8_u 0 i32.add local.set 3
			local.get 2 i32.const 1 i32.add local.set 2
			br 0
		end
	end
	local.get 3 i32.eqz if i64.const 9 return end
	i64.const 0`, wat.Module{})

func TestCall(t *testing.T) {
	in := compile(t, spec(summing))
	for range 3 {
		out, use := in.Call(context.Background(), sandboxtest.Delivery(`{"id":1}`))
		if out.Kind != outcome.Ack {
			t.Fatal(sandboxtest.Show(out))
		}
		if use.Instructions < 2000 || use.Instructions > 6000 {
			t.Errorf("%+v", use)
		}
	}
}

// BenchmarkAck is the floor: a call that reads nothing.
func BenchmarkAck(b *testing.B) {
	s := spec(wat.Handler("", "i64.const 0", wat.Module{}))
	s.RawInput = true
	in := compile(b, s)
	d := sandboxtest.Delivery("")
	d.Kind, d.Raw = sandbox.BodyBytes, string(make([]byte, 300))
	b.ReportAllocs()
	for b.Loop() {
		if out, _ := in.Call(context.Background(), d); out.Kind != outcome.Ack {
			b.Fatal(sandboxtest.Show(out))
		}
	}
}

// BenchmarkCall adds up a body of 300 bytes.
func BenchmarkCall(b *testing.B) {
	s := spec(summing)
	s.RawInput = true
	in := compile(b, s)
	d := sandboxtest.Delivery("")
	d.Kind, d.Raw = sandbox.BodyBytes, string(make([]byte, 299))+"x"
	b.ReportAllocs()
	for b.Loop() {
		if out, _ := in.Call(context.Background(), d); out.Kind != outcome.Ack {
			b.Fatal(sandboxtest.Show(out))
		}
	}
}
