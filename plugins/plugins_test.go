package plugins_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/plugins"
	"pipeline/sandbox"
	"pipeline/sandbox/lua"
	"pipeline/sandbox/wasm"
)

// bodies are the payments of the worked example, and some that are not in it.
func bodies(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile("../examples/payments.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for line := range bytes.Lines(text) {
		var envelope struct{ Entry json.RawMessage }
		if err := json.Unmarshal(line, &envelope); err != nil {
			t.Fatal(err)
		}
		all = append(all, string(envelope.Entry))
	}
	if len(all) < 10 {
		t.Fatalf("only %d payments", len(all))
	}
	return append(all,
		`{"id":18446744073709551615,"account":"a","amount_cents":1000000}`,
		`{"id":9007199254740993,"account":"\"}{,[:","amount_cents":1000001,"more":{"id":1,"list":[[],{"amount_cents":5}]}}`,
		`{"account":"é","amount_cents":18446744073709551615,"id":-1}`,
		`{"id":2,"account":"a\\","amount_cents":1.0000005e6}`,
		`{"id":3,"account":"","amount_cents":-5e300}`,
	)
}

func delivery(t testing.TB, body string) *sandbox.Delivery {
	t.Helper()
	v, err := value.ParseJSON(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &sandbox.Delivery{
		ID: "1700000000000-0", Stream: "payments", Group: "fraud", Subscription: "screen_payment", Key: "acct-1",
		Headers: []outcome.Header{{Name: "correlation-id", Value: "c-1"}}, Attempt: 1, MaxAttempts: 5,
		Now: time.UnixMilli(1_700_000_000_500), Replies: true, Body: &v, Raw: body,
	}
}

// screen makes an instance of the handler in a language; code is its script or
// module.
func screen(t testing.TB, file string, code []byte) sandbox.Instance {
	t.Helper()
	compile := wasm.Compile
	if strings.HasSuffix(file, ".lua") {
		compile = lua.Compile
	}
	return instance(t, compile, sandbox.Spec{Label: "screen_payment", Source: sandbox.Source{Name: file, Code: code}, Function: "screen_payment"})
}

// instance makes an instance of a handler.
func instance(t testing.TB, compile func(sandbox.Spec) (sandbox.Handler, error), spec sandbox.Spec) sandbox.Instance {
	t.Helper()
	h, err := compile(spec)
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

// guest makes an instance of the handler in a language, of the module in the
// tree.
func guest(t testing.TB, language string) sandbox.Instance {
	t.Helper()
	if language == "lua" {
		return luaScreen(t)
	}
	code, err := os.ReadFile(filepath.Join(language, "payments.wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return screen(t, "plugins/"+language+"/payments.wasm", code)
}

func luaScreen(t testing.TB) sandbox.Instance {
	t.Helper()
	code, err := os.ReadFile("../examples/handlers/payments.lua")
	if err != nil {
		t.Fatal(err)
	}
	return screen(t, "payments.lua", code)
}

// reply is the JSON of the one reply.
func reply(t testing.TB, in sandbox.Instance, d *sandbox.Delivery) (string, sandbox.Usage) {
	t.Helper()
	out, use := in.Call(context.Background(), d)
	if out.Kind != outcome.Reply || len(out.Replies) != 1 {
		t.Fatalf("%s: %s %+v", d.Raw, out.Kind, out.Failure)
	}
	text, err := value.AppendJSON(nil, &out.Replies[0].Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text), use
}

// same holds a module against the script: the same replies, byte for byte.
func same(t *testing.T, language string, code []byte) {
	t.Helper()
	script, guest := luaScreen(t), screen(t, "plugins/"+language+"/payments.wasm", code)
	var most sandbox.Usage
	for _, body := range bodies(t) {
		want, _ := reply(t, script, delivery(t, body))
		got, use := reply(t, guest, delivery(t, body))
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", body, got, want)
		}
		most.Instructions, most.Bytes = max(most.Instructions, use.Instructions), max(most.Bytes, use.Bytes)
	}
	t.Logf("%s: %d bytes of code, at most %d instructions and %d KiB of memory", language, len(code), most.Instructions, most.Bytes>>10)
}

// TestRefused gives the handlers amounts that are none. None of them may take
// such a payment for an unsuspicious one, and each has to say what was wrong.
func TestRefused(t *testing.T) {
	says := map[string]string{
		"lua": "compare", "c": "has to be a number", "rust": "lacks what the handler needs",
		"assemblyscript": "amount_cents|not a number", "go": "amount_cents|not a number",
	}
	for _, language := range append([]string{"lua"}, plugins.Languages...) {
		t.Run(language, func(t *testing.T) {
			in := guest(t, language)
			for _, body := range []string{
				`{"id":1}`, `{"id":1,"amount_cents":"5"}`, `{"id":1,"amount_cents":null}`, `{"id":1,"amount_cents":true}`,
				`{"id":1,"amount_cents":{}}`, `{"id":1,"amount_cents":""}`, `{"id":1,"more":{"amount_cents":5}}`,
			} {
				out, _ := in.Call(context.Background(), delivery(t, body))
				if out.Kind != outcome.Failed {
					t.Errorf("%s: %s", body, out.Kind)
				} else if words := strings.Split(says[language], "|"); !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(out.Failure.Message, w) }) {
					t.Errorf("%s: %s", body, out.Failure.Message)
				}
			}
			// The next entry finds the handler as it was.
			reply(t, in, delivery(t, `{"id":1,"amount_cents":5}`))
		})
	}
}

// TestBuilt runs the modules that are in the tree.
func TestBuilt(t *testing.T) {
	for _, language := range plugins.Languages {
		t.Run(language, func(t *testing.T) {
			code, err := os.ReadFile(filepath.Join(language, "payments.wasm"))
			if err != nil {
				t.Fatal(err)
			}
			same(t, language, code)
		})
	}
}

// TestRebuilt builds the modules anew where the compiler is, and runs them.
func TestRebuilt(t *testing.T) {
	for _, language := range plugins.Languages {
		t.Run(language, func(t *testing.T) {
			same(t, language, build(t, language, filepath.Join(language, "payments"+extensions[language])))
		})
	}
}

// BenchmarkScreen is the handler in each language.
func BenchmarkScreen(b *testing.B) {
	body := `{"id":1234567,"account":"acct-000123","amount_cents":1200001,"currency":"EUR","note":"invoice 991823 of the month of May 26"}`
	run := func(name string, in sandbox.Instance) {
		b.Run(name, func(b *testing.B) {
			d := delivery(b, body)
			b.ReportAllocs()
			instructions := int64(0)
			for b.Loop() {
				out, use := in.Call(context.Background(), d)
				if out.Kind != outcome.Reply {
					b.Fatal(out.Failure)
				}
				instructions = use.Instructions
			}
			b.ReportMetric(float64(instructions), "instructions/op")
		})
	}
	run("lua", luaScreen(b))
	for _, language := range plugins.Languages {
		code, err := os.ReadFile(filepath.Join(language, "payments.wasm"))
		if err != nil {
			b.Fatal(err)
		}
		run(language, screen(b, language+".wasm", code))
	}
}

// BenchmarkCompile is what loading a module costs, without a cache of compiled
// code and with one.
func BenchmarkCompile(b *testing.B) {
	cached := filepath.Join(b.TempDir(), "cache")
	if err := wasm.PrivateDir(cached); err != nil {
		b.Fatal(err)
	}
	for _, language := range plugins.Languages {
		code, err := os.ReadFile(filepath.Join(language, "payments.wasm"))
		if err != nil {
			b.Fatal(err)
		}
		spec := sandbox.Spec{Label: "h", Source: sandbox.Source{Name: language + ".wasm", Code: code}, Function: "screen_payment"}
		for name, dir := range map[string]string{"nothing": "", "cached": cached} {
			b.Run(language+"/"+name, func(b *testing.B) {
				for b.Loop() {
					h, err := wasm.Compiler{CacheDir: dir}.Compile(spec)
					if err != nil {
						b.Fatal(err)
					}
					if err := h.Close(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// BenchmarkInstance is what replacing an instance costs.
func BenchmarkInstance(b *testing.B) {
	for _, language := range plugins.Languages {
		code, err := os.ReadFile(filepath.Join(language, "payments.wasm"))
		if err != nil {
			b.Fatal(err)
		}
		h, err := wasm.Compile(sandbox.Spec{Label: "h", Source: sandbox.Source{Name: language + ".wasm", Code: code}, Function: "screen_payment"})
		if err != nil {
			b.Fatal(err)
		}
		b.Run(language, func(b *testing.B) {
			for b.Loop() {
				in, err := h.NewInstance(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				in.Close()
			}
		})
	}
}
