package plugins_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipeline/engine/outcome"
	"pipeline/plugins"
	"pipeline/sandbox"
	"pipeline/sandbox/wasm"
)

// extensions are those of the sources, by language.
var extensions = map[string]string{"c": ".c", "rust": ".rs", "assemblyscript": ".ts", "go": ".go"}

// build builds a source with the SDK of its language in a folder of its own,
// as `pipeline new handler` lays them out.
func build(t testing.TB, language, source string) []byte {
	t.Helper()
	environment := compiler(t, language)
	dir, name := t.TempDir(), strings.TrimSuffix(filepath.Base(source), extensions[language])
	files := map[string]string{name + extensions[language]: source}
	sdk, err := plugins.SDK.ReadDir(language)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range sdk {
		files[f.Name()] = filepath.Join(language, f.Name())
	}
	for to, from := range files {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if to == "build.sh" {
			text = bytes.ReplaceAll(text, []byte("payments"), []byte(name))
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if language == "go" {
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module "+name+"\n\ngo 1.24\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(context.Background(), "sh", filepath.Join(dir, "build.sh"))
	cmd.Env = append(os.Environ(), environment...)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	code, err := os.ReadFile(filepath.Join(dir, name+".wasm"))
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// compiler finds the compiler of a language and returns what its build script
// needs to know. Where there is none it skips the test, or fails it if
// PIPELINE_TEST_REQUIRE_COMPILERS, a list of languages, has this one in it.
func compiler(t testing.TB, language string) []string {
	t.Helper()
	missing := func(what string) {
		t.Helper()
		if slices.Contains(strings.Fields(os.Getenv("PIPELINE_TEST_REQUIRE_COMPILERS")), language) {
			t.Fatalf("%s is missing", what)
		}
		t.Skipf("%s is missing", what)
	}
	find := func(names ...string) string {
		for _, name := range names {
			if path, err := exec.LookPath(name); err == nil {
				return path
			}
		}
		return ""
	}
	switch language {
	case "c":
		if find("clang") == "" || find("wasm-ld", "wasm-ld-14") == "" {
			missing("clang with wasm-ld")
		}
	case "rust":
		for _, rustc := range []string{os.Getenv("RUSTC"), find("rustc"), "/usr/bin/rustc"} {
			if rustc == "" {
				continue
			}
			root, err := exec.CommandContext(context.Background(), rustc, "--print", "sysroot").Output()
			if err != nil {
				continue
			}
			if _, err := os.Stat(filepath.Join(strings.TrimSpace(string(root)), "lib/rustlib/wasm32-unknown-unknown")); err == nil {
				return []string{"RUSTC=" + rustc}
			}
		}
		missing("rustc with the target wasm32-unknown-unknown")
	case "assemblyscript":
		asc := os.Getenv("ASC")
		if asc == "" {
			asc = find("asc")
		}
		if asc == "" {
			missing("asc")
		}
		return []string{"ASC=" + asc}
	}
	return nil
}

// total makes an instance of the handler that adds up the bytes of its body.
func total(t testing.TB, language string) sandbox.Instance {
	t.Helper()
	code := build(t, language, filepath.Join("testdata", "total"+extensions[language]))
	return instance(t, wasm.Compile, sandbox.Spec{Label: "total", Source: sandbox.Source{Name: language + ".wasm", Code: code}, Function: "total", RawInput: true})
}

// bytesOf is the delivery of an entry of a stream of bytes.
func bytesOf(body string) *sandbox.Delivery {
	return &sandbox.Delivery{ID: "1-0", Stream: "blobs", Subscription: "total", Attempt: 1, MaxAttempts: 5, Kind: sandbox.BodyBytes, Raw: body}
}

// TestRaw gives the guests bodies as they are, which need not be text.
func TestRaw(t *testing.T) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	for _, language := range plugins.Languages {
		t.Run(language, func(t *testing.T) {
			in := total(t, language)
			for body, want := range map[string]outcome.Kind{
				"\x00\x00": outcome.Drop, "a": outcome.Ack, "\xff\xfe": outcome.Ack, string(every): outcome.Ack,
				strings.Repeat("\x00", 100_000) + "\x80": outcome.Ack,
			} {
				if out, _ := in.Call(context.Background(), bytesOf(body)); out.Kind != want {
					t.Errorf("%d bytes: %s %+v, want %s", len(body), out.Kind, out.Failure, want)
				}
			}
		})
	}
}

// BenchmarkRaw is a call without JSON: a guest adds up a body of 300 bytes.
func BenchmarkRaw(b *testing.B) {
	body := strings.Repeat("abcdefghijklmnopqrstuvwxyz0123", 10)
	for _, language := range plugins.Languages {
		b.Run(language, func(b *testing.B) {
			in, d := total(b, language), bytesOf(body)
			b.ReportAllocs()
			for b.Loop() {
				if out, _ := in.Call(context.Background(), d); out.Kind != outcome.Ack {
					b.Fatal(out.Failure)
				}
			}
		})
	}
}
