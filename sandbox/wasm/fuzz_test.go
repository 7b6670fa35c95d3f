package wasm

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pipeline/engine/outcome"
	"pipeline/sandbox"
	"pipeline/sandbox/sandboxtest"
	"pipeline/sandbox/sandboxtest/wat"
)

var fuzzLimits = sandbox.Limits{Instructions: 200_000, Memory: 4 << 20, Timeout: 100 * time.Millisecond}

// leaks are parts of texts of Go that no user may see.
var leaks = []string{"0xc0", "goroutine", "runtime error", ".go:", "interface conversion", "nil pointer"}

func checkText(t *testing.T, text string) {
	t.Helper()
	for _, leak := range leaks {
		if strings.Contains(text, leak) {
			t.Errorf("the message shows %q: %s", leak, text)
		}
	}
}

// FuzzModule compiles and runs any bytes.
func FuzzModule(f *testing.F) {
	for _, a := range sandboxtest.WASMAttacks() {
		if len(a.Code) < 2000 {
			f.Add(a.Code)
		}
	}
	f.Add(summing)
	f.Fuzz(func(t *testing.T, code []byte) {
		s := spec(code)
		s.Limits = fuzzLimits
		h, err := Compile(s)
		if err != nil {
			if _, ok := errors.AsType[*sandbox.LoadError](err); !ok {
				t.Errorf("not a LoadError: %v", err)
			}
			checkText(t, err.Error())
			return
		}
		defer h.Close()
		in, err := h.NewInstance(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		for range 2 {
			out, _ := in.Call(context.Background(), sandboxtest.Delivery(`{"a":[1,2,{}],"b":18446744073709551615}`))
			if out.Kind == outcome.None {
				t.Error("no outcome")
			}
			if out.Kind == outcome.Failed {
				checkText(t, out.Failure.Message)
				if strings.Contains(out.Failure.Message, textBroken) || strings.Contains(out.Failure.Message, "broke its engine") {
					t.Errorf("%s", out.Failure.Message)
				}
			}
		}
	})
}

// FuzzResult gives any text back as a result: it is the input.
func FuzzResult(f *testing.F) {
	for _, s := range []string{`{"action":"ack"}`, `{"action":"reply","replies":[{"body":{"x":[1]}}]}`, `{"action":"dead","reason":"x"}`, ``} {
		f.Add(s)
	}
	s := spec(wat.Handler("", "local.get 0 i64.extend_i32_u i64.const 32 i64.shl local.get 1 i64.extend_i32_u i64.or", wat.Module{Memory: "64"}))
	s.RawInput, s.Limits = true, fuzzLimits
	h, err := Compile(s)
	if err != nil {
		f.Fatal(err)
	}
	in, err := h.NewInstance(context.Background())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d := sandboxtest.Delivery("")
		d.Kind, d.Raw = sandbox.BodyBytes, text
		out, _ := in.Call(context.Background(), d)
		if out.Kind == outcome.None {
			t.Error("no outcome")
		}
		if out.Kind == outcome.Failed && out.Failure.Kind != outcome.FailResult && out.Failure.Kind != outcome.FailMemory {
			t.Errorf("%s: %s", out.Failure.Kind, out.Failure.Message)
		}
	})
}
