package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/lang/diag"
	"pipeline/lang/reference"
)

// The command prints the file of the documentation, byte for byte.
func TestSchemaMarkdown(t *testing.T) {
	t.Parallel()
	a, out := fakeApp(t, view.Options{})
	if err := a.schema("markdown"); err != nil {
		t.Fatal(err)
	}
	if err := a.view.Close(); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join(examples, "..", "docs", "language.md"))
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Error("pipeline schema --format markdown is not docs/language.md")
	}
}

func TestSchemaJSON(t *testing.T) {
	t.Parallel()
	for _, format := range schemaFormats {
		a, out := fakeApp(t, view.Options{JSON: true})
		if err := a.schema(format); err != nil {
			t.Fatal(err)
		}
		if err := a.view.Close(); err != nil {
			t.Fatal(err)
		}
		var event struct {
			Event, Format string
			Document      any
		}
		if err := json.Unmarshal(out.Bytes(), &event); err != nil || event.Event != "schema" || event.Format != format || event.Document == nil {
			t.Errorf("%s: %v %.80s", format, err, out)
		}
	}
}

// unavailable are pipelines that have what the reference says this version
// refuses, by the words of the reference up to the colon.
var unavailable = map[string]string{
	"`handler → grant \"http\"`": `grant "http" {}`,
	"`handler → grant \"kv\"`":   `grant "kv" {}`,
	"`handler → grant \"sql\"`":  `grant "sql" {}`,
}

// What the reference says is refused is refused, and nothing else is said to be.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, u := range reference.Unavailable() {
		for words := range unavailable {
			if len(u) > len(words) && u[:len(words)+1] == words+":" {
				said[words] = true
				u = ""
				break
			}
		}
		if u != "" {
			t.Errorf("no pipeline tries it: %s", u)
		}
	}
	for words, text := range unavailable {
		if !said[words] {
			t.Errorf("%s is not said to be refused", words)
		}
		if refused(t, words, "") || !refused(t, words, text) {
			t.Errorf("%s is taken", words)
		}
	}
}

// refused reports whether validate refuses a pipeline with a text in the block
// that words begin with.
func refused(t *testing.T, words, text string) bool {
	t.Helper()
	in := map[byte]string{}
	in[words[1]] = text
	dir := t.TempDir()
	file := filepath.Join(dir, "p.hcl")
	source := "pipeline \"p\" {}\nbroker \"memory\" {}\nstream \"in\" {\n" + in['s'] + "\n}\nhandler \"h\" {\n  source = \"h.lua\"\n" + in['h'] +
		"\n}\ngroup \"g\" {\n  stream = stream.in\n  subscription \"s\" {\n    handler = handler.h\n    claim {\n      min_idle = \"1m\"\n    }\n" + in['g'] + "\n  }\n}\n"
	for name, content := range map[string]string{file: source, filepath.Join(dir, "h.lua"): "function handle() return ack() end\n"} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, report := build.Load(file, build.Vars{})
	if p != nil && build.Supported(p) != nil {
		report.Add(diag.Diagnostic{Severity: diag.Error, Code: codeNotAvailable, Summary: "refused"})
	}
	return report.HasErrors()
}
