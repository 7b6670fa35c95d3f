package cli

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"pipeline/lang/diag/explain"
)

var update = flag.Bool("update", false, "write the reports of the pages, and docs/diagnostics.md, anew")

// pageFolders hold the pages of the codes: those of pipeline files, and those
// of the command line.
var pageFolders = []string{
	filepath.Join("..", "..", "..", "..", "lang", "diag", "explain", "pages"), "pages",
}

// TestPages runs every page. The bad example must report the page's code once
// and nothing else, word for word as the page says; the good one nothing.
//
//	go test ./cmd/pipeline/internal/cli -run TestPages -update
//
// writes the reports, and then docs/diagnostics.md, anew. lang/diag/explain's test
// describes the format of a page.
func TestPages(t *testing.T) {
	for _, folder := range pageFolders {
		folder, err := filepath.Abs(folder)
		if err != nil {
			t.Fatal(err)
		}
		pages, err := explain.Read(os.DirFS(folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range pages {
			t.Run(string(p.Code), func(t *testing.T) { checkPage(t, folder, p) })
		}
	}
	t.Run("docs/diagnostics.md", checkDiagnosticsDoc)
}

func checkPage(t *testing.T, folder string, p *explain.Page) {
	bad := runExample(t, p, p.Bad)
	want := append([]string{string(p.Code)}, p.Beside...)
	slices.Sort(want)
	if slices.Sort(bad.codes); !slices.Equal(bad.codes, want) {
		t.Errorf("the bad example reports %v, want %v:\n%s", bad.codes, want, bad.report)
	}
	if bad.failed != (bad.exit != exitDone) {
		t.Errorf("the bad example exits with %d", bad.exit)
	}
	good := runExample(t, p, p.Good)
	if len(good.codes) > 0 || good.exit != exitDone {
		t.Errorf("the good example exits with %d and reports %v:\n%s", good.exit, good.codes, good.report)
	}
	if bad.report == p.Report {
		return
	}
	if !*update {
		t.Errorf("the bad example prints\n%s\nthe page says\n%s", bad.report, p.Report)
		return
	}
	path := filepath.Join(folder, string(p.Code)+".txtar")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := txtar.Parse(data)
	archive.Files = slices.DeleteFunc(archive.Files, func(f txtar.File) bool { return f.Name == "report" })
	archive.Files = append(archive.Files, txtar.File{Name: "report", Data: []byte(bad.report)})
	if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
		t.Fatal(err)
	}
}

// exampleRun is what came of an example.
type exampleRun struct {
	exit int
	// codes are those of the diagnostics and of the failure; failed says that one
	// of them was an error.
	codes  []string
	failed bool
	report string
}

// runExample runs an example in a directory of its own: once for its text, once
// for its codes.
func runExample(t *testing.T, p *explain.Page, e explain.Example) exampleRun {
	t.Helper()
	t.Chdir(exampleTree(t, p, e))
	args, env := commandLine(t, e.Command)
	_, _, report := runMain(t, args, env)
	exit, lines, _ := runMain(t, append(slices.Clone(args), "--json"), env)
	run := exampleRun{exit: exit, report: report}
	for line := range strings.Lines(lines) {
		var event struct{ Event, Code, Severity string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		if event.Event == "diagnostic" || event.Event == "error" {
			run.codes = append(run.codes, event.Code)
			run.failed = run.failed || event.Severity == "error" || event.Event == "error"
		}
	}
	return run
}

// exampleTree writes the files of an example and returns their directory.
func exampleTree(t *testing.T, p *explain.Page, e explain.Example) string {
	t.Helper()
	files := slices.Concat(p.Shared, e.Files)
	shop, script := explain.Shop()
	if e.Source != "" {
		files = append(files, explain.File{Name: "pipeline.hcl", Text: e.Source})
		shop = without(shop, e.Source)
	}
	if !p.Whole {
		files = append(files, explain.File{Name: "rest.hcl", Text: shop})
		if !slices.ContainsFunc(files, func(f explain.File) bool { return f.Name == script.Name }) {
			files = append(files, script)
		}
	}
	dir := t.TempDir()
	for _, f := range files {
		path := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, spellOut(f.Text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

var topLevel = regexp.MustCompile(`(?m)^[^#\s\w]*([a-z]+) *("[^"\n]*")?`)

// without is the shop without the blocks that a part of it declares itself. The
// part may be no valid text, so that blocks are told by their first lines.
func without(shop, part string) string {
	var declared []string
	for _, m := range topLevel.FindAllStringSubmatch(byteMark.ReplaceAllString(part, ""), -1) {
		declared = append(declared, m[1]+" "+m[2])
	}
	var rest strings.Builder
	for block := range strings.SplitAfterSeq(shop, "\n}\n") {
		head, _, _ := strings.Cut(strings.TrimSpace(block), " {")
		kind, _, _ := strings.Cut(head, " ")
		if single := kind == "pipeline" || kind == "broker"; single {
			head = kind
		}
		if !slices.ContainsFunc(declared, func(d string) bool { return d == head || strings.HasPrefix(d, head+" ") }) {
			rest.WriteString(block)
		}
	}
	return rest.String()
}

var (
	byteMark = regexp.MustCompile(`<0x([0-9A-F]{2})>`)
	padMark  = regexp.MustCompile(`<(\d+) bytes>`)
)

// spellOut replaces what stands for a byte, or for many.
func spellOut(text string) []byte {
	out := padMark.ReplaceAllFunc([]byte(text), func(mark []byte) []byte {
		n, _ := strconv.Atoi(string(padMark.FindSubmatch(mark)[1])) // only digits match
		return bytes.Repeat([]byte("x"), n)
	})
	return byteMark.ReplaceAllFunc(out, func(mark []byte) []byte {
		n, _ := strconv.ParseUint(string(byteMark.FindSubmatch(mark)[1]), 16, 8) // only two digits match
		return []byte{byte(n)}
	})
}

// commandLine splits "NAME=value pipeline validate . --var a=b" into arguments
// and environment. A value in single quotes may hold spaces.
func commandLine(t *testing.T, command string) (args []string, env map[string]string) {
	t.Helper()
	env = map[string]string{}
	words := regexp.MustCompile(`(?:[^\s']|'[^']*')+`).FindAllString(command, -1)
	for i, word := range words {
		word = strings.ReplaceAll(word, "'", "")
		if word == "pipeline" {
			for _, arg := range words[i+1:] {
				args = append(args, strings.ReplaceAll(arg, "'", ""))
			}
			return args, env
		}
		name, value, _ := strings.Cut(word, "=")
		env[name] = value
	}
	t.Fatalf("the command %q does not run pipeline", command)
	return nil, nil
}

// runMain runs the program and returns what it printed.
func runMain(t *testing.T, args []string, env map[string]string) (exit int, stdout, stderr string) {
	t.Helper()
	var files [2]*os.File
	for i := range files {
		f, err := os.Create(filepath.Join(t.TempDir(), fmt.Sprint("out", i)))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = f.Close() }() // what it holds is read below
		files[i] = f
	}
	exit = Main(Process{
		Args: args, Stdin: strings.NewReader(""), Stdout: files[0], Stderr: files[1],
		Env: func(name string) (string, bool) { value, ok := env[name]; return value, ok },
	})
	var text [2]string
	for i, f := range files {
		data, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		text[i] = string(data)
	}
	return exit, text[0], text[1]
}
