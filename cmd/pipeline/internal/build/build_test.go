package build_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/input"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/codec"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/lang/diag"
	"pipeline/sandbox"
	"pipeline/sandbox/sandboxtest/wat"
)

func streams() *spec.Pipeline {
	entry := &spec.Type{Kind: spec.TypeObject, Attrs: []spec.Attr{{Name: "id", Type: &spec.Type{Kind: spec.TypeNumber}}}}
	return &spec.Pipeline{Streams: []*spec.Stream{
		{Label: "json", Name: "json", Codec: spec.CodecJSON, Entry: entry},
		{Label: "body", Name: "body", Codec: spec.CodecJSON, Body: "data", MaxEntrySize: 20},
		{Label: "fields", Name: "fields", Codec: spec.CodecFields, Entry: entry},
		{Label: "text", Name: "text", Codec: spec.CodecText},
		{Label: "keyed", Name: "keyed", Codec: spec.CodecJSON, Key: &spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: "k"}}}},
	}}
}

// encode reads one line and encodes it.
func encode(t *testing.T, line string, strict bool) ([]broker.Field, error) {
	t.Helper()
	p := streams()
	e, err := build.NewEntries(p, strict)
	if err != nil {
		t.Fatal(err)
	}
	var rec input.Record
	if err := input.NewReader(strings.NewReader(line), p, nil).Next(&rec); err != nil {
		t.Fatal(err)
	}
	return e.Fields(&rec)
}

func show(fields []broker.Field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		parts[i] = f.Name + "=" + f.Value
	}
	return strings.Join(parts, " ")
}

func TestEntries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line string
		// lenient is the entry that is made in any case, strict the one that is
		// published, or "! " and why none is.
		lenient, strict string
	}{
		"json": {
			`{"stream":"json","entry":{"id":18446744073709551615,"b":1,"a":1.50}}`,
			`_payload={"a":1.50,"b":1,"id":18446744073709551615}`, `_payload={"a":1.50,"b":1,"id":18446744073709551615}`,
		},
		"json of another type":  {`{"stream":"json","entry":{"id":"x"}}`, `_payload={"id":"x"}`, `! id: expected a number, found a string`},
		"a json string":         {`{"stream":"body","entry":"x"}`, `data="x"`, `data="x"`},
		"too large":             {`{"stream":"body","entry":"xxxxxxxxxxxxxxxxxxxx"}`, `data="xxxxxxxxxxxxxxxxxxxx"`, `! the body has 22 bytes, max_entry_size allows 20`},
		"fields":                {`{"stream":"fields","entry":{"id":1,"b":true,"a":"x"}}`, `a=x b=true id=1`, `a=x b=true id=1`},
		"fields of another":     {`{"stream":"fields","entry":{"b":{"c":1},"a":"x"}}`, `b={"c":1} a=x`, `! id: expected a number, found nothing`},
		"fields without object": {`{"stream":"fields","entry":[1]}`, `_payload=[1]`, `! the body: expected an object, found a list`},
		"text":                  {`{"stream":"text","entry":"a\nb"}`, "_payload=a\nb", "_payload=a\nb"},
		"text that is none":     {`{"stream":"text","entry":7}`, "_payload=7", `! the body: expected a string, because the codec is "text", found a number`},
		"key of the stream":     {`{"stream":"keyed","entry":{"k":"a"}}`, `_payload={"k":"a"} h:redis-partition-key=a`, `_payload={"k":"a"} h:redis-partition-key=a`},
		"key of the line": {
			`{"stream":"keyed","entry":{"k":"a"},"key":"b"}`, `_payload={"k":"a"} h:redis-partition-key=b`, `_payload={"k":"a"} h:redis-partition-key=b`,
		},
		"no key": {`{"stream":"keyed","entry":{}}`, `_payload={}`, `_payload={}`},
		"headers": {
			`{"stream":"body","entry":1,"headers":{"traceparent":"t","x":""},"key":"k"}`,
			`data=1 h:redis-partition-key=k h:traceparent=t h:x=`, `data=1 h:redis-partition-key=k h:traceparent=t h:x=`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for strict, want := range map[bool]string{false: c.lenient, true: c.strict} {
				fields, err := encode(t, c.line, strict)
				got := show(fields)
				if err != nil {
					got = "! " + err.Error()
				}
				if got != want {
					t.Errorf("strict %v: got  %s\nwant %s", strict, got, want)
				}
			}
		})
	}
}

// What is published is what a reader of the stream decodes.
func TestPublishedIsRead(t *testing.T) {
	t.Parallel()
	p := streams()
	strict, err := build.NewEntries(p, true)
	if err != nil {
		t.Fatal(err)
	}
	decoder, err := codec.NewDecoder(p.Streams[0])
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(rt *rapid.T) {
		id := rapid.StringMatching(`-?[1-9][0-9]{0,30}(\.[0-9]{1,5})?`).Draw(rt, "id")
		text := rapid.String().Draw(rt, "text")
		body := value.NewObject([]value.Value{value.NewNumber(id).Named("id"), value.NewString(text).Named("text")})
		line, err := value.AppendJSON(nil, &body)
		if err != nil {
			rt.Fatal(err)
		}
		var rec input.Record
		if err := input.NewReader(bytes.NewReader(line), p, p.Streams[0]).Next(&rec); err != nil {
			rt.Fatal(err)
		}
		fields, err := strict.Fields(&rec)
		if err != nil {
			rt.Fatal(err)
		}
		var got codec.Body
		if err := decoder.Decode(fields, &value.Arena{}, &got); err != nil {
			rt.Fatal(err)
		}
		if got.Value.Get("id").Text() != id || got.Value.Get("text").Text() != text {
			rt.Fatalf("published %s, read %s", line, got.Raw)
		}
	})
}

// pipelineFile writes a pipeline with one handler into a folder.
func pipelineFile(t *testing.T, handler string, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	files["p.hcl"] = `pipeline "p" {
  language = 1
}
broker "memory" {}
stream "in" {}
handler "h" {
` + handler + `
}
group "g" {
  stream = stream.in
  subscription "s" {
    handler = handler.h
    claim {
      min_idle = "1m"
    }
  }
}
`
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return filepath.Join(folder, "p.hcl")
}

func TestLoadCompilesHandlers(t *testing.T) {
	t.Parallel()
	const good = "function handle() return ack() end"
	module := wat.Handler("", "i64.const 0", wat.Module{})
	logging := wat.Handler("", "i64.const 0", wat.Module{Imports: []wat.Import{{Module: "pipeline", Name: "log", Sig: "i32 i32 i32 i32 i32->"}}})
	for name, c := range map[string]struct {
		handler string
		files   map[string]string
		// want are parts of the diagnostics; none means that it loads.
		want []string
	}{
		"good":          {`  source = "h.lua"`, map[string]string{"h.lua": good}, nil},
		"with a module": {"  source = \"h.lua\"\n  modules = [\"m.lua\"]", map[string]string{"h.lua": good, "m.lua": "shared = {}"}, nil},
		"syntax":        {`  source = "h.lua"`, map[string]string{"h.lua": "function handle("}, []string{"script_invalid", "h.lua:1"}},
		"in the module": {
			"  source = \"h.lua\"\n  modules = [\"m.lua\"]",
			map[string]string{"h.lua": good, "m.lua": "\nlocal x = = 1"}, []string{"script_invalid", "m.lua:2"},
		},
		"top level fails":     {`  source = "h.lua"`, map[string]string{"h.lua": "local x = nil + 1\n" + good}, []string{"script_invalid"}},
		"no function":         {"  source = \"h.lua\"\n  function = \"hande\"", map[string]string{"h.lua": good}, []string{"handler_function_missing"}},
		"no module":           {`  source = "h.wasm"`, map[string]string{"h.wasm": "\x00asm"}, []string{"error[script_invalid]", "this is not a WASM module"}},
		"a module":            {`  source = "h.wasm"`, map[string]string{"h.wasm": string(module)}, nil},
		"a raw module":        {"  source = \"h.wasm\"\n  input = \"raw\"", map[string]string{"h.wasm": string(module)}, nil},
		"no such export":      {"  source = \"h.wasm\"\n  function = \"handel\"", map[string]string{"h.wasm": string(module)}, []string{"error[handler_function_missing]", `the module has no function "handel"`}},
		"an ungranted import": {`  source = "h.wasm"`, map[string]string{"h.wasm": string(logging)}, []string{"error[missing_grant]", "pipeline.log needs a grant"}},
		"no grant":            {`  source = "h.lua"`, map[string]string{"h.lua": "function handle() log.info('x') return ack() end"}, []string{"error[missing_grant]", "h.lua:1:19"}},
		"no such module":      {"  source = \"h.lua\"\n  modules = [\"m.lua\"]", map[string]string{"h.lua": "function handle() log.info('x') return m.f() end", "m.lua": "\n\nreturn { f = = 1 }"}, []string{"script_invalid", "m.lua:3"}},
		"endless":             {`  source = "h.lua"`, map[string]string{"h.lua": "while true do end"}, []string{"script_invalid"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, report := build.Load(pipelineFile(t, c.handler, c.files), build.Vars{})
			var text strings.Builder
			for _, d := range report.All() {
				text.WriteString(d.String() + "\n")
			}
			if (p != nil) != (c.want == nil) {
				t.Errorf("loaded %v: %s", p != nil, &text)
			}
			for _, want := range c.want {
				if !strings.Contains(text.String(), want) {
					t.Errorf("%q is not in:\n%s", want, &text)
				}
			}
		})
	}
}

// What will go wrong is told without keeping the pipeline from running.
func TestLoadWarnsOfHandlers(t *testing.T) {
	t.Parallel()
	at := pipelineFile(t, "  source = \"h.lua\"\n  modules = [\"m.lua\"]", map[string]string{
		"h.lua": "function handle(e)\n  if e.x then log.info('x') end\n  m.f(e)\n  return acc()\nend",
		"m.lua": "return {\n  f = function(e)\n    retry()\n  end,\n  g = function() nothing() end,\n}",
	})
	p, report := build.Load(at, build.Vars{})
	if p == nil {
		t.Fatal(report.All())
	}
	var got []string
	for _, d := range report.All() {
		if d.Code != "no_dead_letter" {
			got = append(got, fmt.Sprintf("%s[%s] %s:%d:%d %s", d.Severity, d.Code, filepath.Base(d.Range.File), d.Range.Start.Line, d.Range.Start.Column, d.Suggestion))
		}
	}
	want := []string{"warning[missing_grant] h.lua:2:15 ", "warning[script_unknown_name] h.lua:4:10 ack", "warning[outcome_not_returned] m.lua:3:5 "}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// The examples say nothing but notices.
func TestExamplesHaveNoWarnings(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"payments.hcl", "orders"} {
		for _, vars := range []map[string]string{{}, {"before_8_4": "true"}} {
			p, report := build.Load(filepath.Join("../../../../examples", at), build.Vars{Values: vars, Env: func(string) (string, bool) { return "", false }})
			if at == "orders" && len(vars) > 0 {
				continue
			}
			if p == nil || report.Count(diag.Warning) > 0 {
				t.Errorf("%s: %v", at, report.All())
			}
		}
	}
}

// Refresh takes files that changed, once, and keeps the old code otherwise.
func TestRefresh(t *testing.T) {
	t.Parallel()
	at := pipelineFile(t, `  source = "h.lua"`, map[string]string{"h.lua": "function handle() return ack() end"})
	p, report := build.Load(at, build.Vars{})
	if p == nil {
		t.Fatal(report.All())
	}
	handlers, err := build.Compile(p, build.LogHost(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	h := build.Used(p)[0]
	script := build.Files(h)[0]
	first := handlers.ByLabel()["h"]
	for _, step := range []struct {
		text    string
		changed bool
		fails   bool
	}{
		{"function handle() return ack() end", false, false},
		{"function handle(", false, true},
		{"function handle(", false, false}, // told once
		{"function handle() return drop() end", true, false},
		{"function handle() return drop() end", false, false},
	} {
		if err := os.WriteFile(script, []byte(step.text), 0o600); err != nil {
			t.Fatal(err)
		}
		code, changed, err := handlers.Refresh(h)
		if changed != step.changed || (err != nil) != step.fails || code == nil {
			t.Errorf("%s: changed %v, error %v", step.text, changed, err)
		}
	}
	if handlers.ByLabel()["h"].Hash() == first.Hash() {
		t.Error("the new code was not kept")
	}
	if err := os.Remove(script); err != nil {
		t.Fatal(err)
	}
	if code, _, err := handlers.Refresh(h); err == nil || code == nil {
		t.Errorf("a script that is gone: %v, %v", code, err)
	}
	if err := handlers.Close(); err != nil {
		t.Error(err)
	}
}

// Errors of opening a server never show its address.
func TestOpenRedisHidesTheAddress(t *testing.T) {
	t.Parallel()
	for name, b := range map[string]spec.Broker{
		"scheme":   {URL: "http://:hunter2@host"},
		"port":     {URL: "redis://:hunter2@host:port%zz"},
		"control":  {URL: "redis://:hunter2@host\x7f"},
		"database": {URL: "redis://:hunter2@host/db/0"},
		"ca":       {URL: "rediss://:hunter2@host", TLS: &spec.TLS{CA: "nope.pem"}},
		"sentinel": {URL: "redis://:hunter2@host", Sentinel: &spec.Sentinel{Master: "m", Addresses: []string{"u:hunter2@host:1"}}},
		"cluster":  {URL: "redis://:hunter2@host/3", Cluster: true},
	} {
		opened, err := build.OpenRedis(b, clock.Real(), nil)
		switch {
		case err == nil:
			t.Errorf("%s: opened", name)
			if err := opened.Close(); err != nil {
				t.Error(err)
			}
		case strings.Contains(err.Error(), "hunter2"):
			t.Errorf("%s: the password is in %q", name, err)
		}
	}
}

func TestLogHost(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	host := build.LogHost(slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})))
	host.Log(&sandbox.Delivery{ID: "1-0", Subscription: "s"}, sandbox.LogLine{
		Level: sandbox.Warn, Message: "locked", Attrs: []outcome.Header{{Name: "event", Value: "mine"}},
	})
	host.Log(nil, sandbox.LogLine{Message: "loading"})
	host.Log(nil, sandbox.LogLine{Level: sandbox.Debug, Message: "hidden"})
	want := "level=WARN msg=locked event=handler.log subscription=s id=1-0 attrs.event=mine\nlevel=INFO msg=loading event=handler.log\n"
	if b.String() != want {
		t.Errorf("got  %swant %s", &b, want)
	}
}
