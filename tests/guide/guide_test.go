//go:build linux

// Package guide runs the documents for newcomers as a newcomer would: it types their commands into terminals,
// against a real server, and compares what is shown with what they say.
//
// In a document,
//
//   - a console block is a terminal, which its title names ("terminal 2"); without a title it is the first one.
//     "$ " begins a command, "> " goes on with it, the other lines are what it shows. … stands for what differs
//     from run to run; alone on its line for any lines. order="any" lets the lines of a block come in any order,
//     shows="soon" types its commands again until they show what they should, where that may take a moment;
//   - a terminal that shows more without a new command, or is interrupted (^C), has been running all the while;
//   - a command that fails must be followed by "$ echo $?", so that the document says with which code;
//   - any other block with a title is a file; a diff with a title changes one;
//   - blocks without a title are not looked at.
package guide

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/tests/program"
	"pipeline/tests/redistest"
)

// The documents, by their path in the tree.
const (
	guideFile      = "docs/guide.md"
	comingFromFile = "docs/coming-from.md"
	lettersFile    = "docs/dead-letters.md"
)

// documents are those that are followed.
var documents = []string{guideFile, comingFromFile, lettersFile}

// root is the tree that is tested.
var root = filepath.Join("..", "..")

// binary is the command, built once.
var binary string

func TestMain(m *testing.M) { program.Main(m, &binary) }

func readDocument(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// reader follows a document.
type reader struct {
	t           *testing.T
	document    string
	folder      string
	environment []string
	terminals   map[string]*terminal
	// failed is the command whose exit code the next one has to ask for.
	failed map[string]*command
}

// follow does the steps of a document in a folder.
func follow(t *testing.T, document, folder string, server *redistest.Server, programs ...string) {
	t.Helper()
	list, err := steps(readDocument(t, document))
	if err != nil {
		t.Fatalf("%s: %v", document, err)
	}
	r := &reader{
		t: t, document: document, folder: folder, terminals: map[string]*terminal{}, failed: map[string]*command{},
		environment: environment(t, server, programs),
	}
	for _, s := range list {
		r.do(s)
	}
	for _, c := range r.failed {
		t.Errorf("%s:%d: the command fails, which the document does not say: %s", document, c.line, c.text)
	}
}

// environment is what a user's shell has: a redis-cli that finds the server of the test where it expects the
// user's, and REDIS_URL for the command.
func environment(t *testing.T, server *redistest.Server, programs []string) []string {
	t.Helper()
	folder := t.TempDir()
	cli := fmt.Sprintf("#!/bin/sh\nexec '%s' -u '%s' \"$@\"\n", server.CLIPath(), server.URL())
	if err := os.WriteFile(filepath.Join(folder, "redis-cli"), []byte(cli), 0o700); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	for _, program := range programs {
		if err := os.Symlink(program, filepath.Join(folder, filepath.Base(program))); err != nil {
			t.Fatal(err)
		}
	}
	variables := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "PIPELINE_") || strings.HasPrefix(v, "LC_") || strings.HasPrefix(v, "GOFLAGS=")
	})
	return append(variables, "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"), "REDIS_URL="+server.URL(),
		"TZ=UTC", "LC_ALL=C.UTF-8")
}

func (r *reader) do(step any) {
	r.t.Helper()
	switch s := step.(type) {
	case *write:
		r.write(s)
	case *edit:
		r.edit(s)
	case *command:
		r.command(s)
	case *goesOn:
		r.goesOn(s)
	}
}

// at is where the first terminal stands: files are written there.
func (r *reader) at(file string) string {
	term := r.terminal("")
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", term.shell.Process.Pid))
	if err != nil {
		r.t.Fatal(err)
	}
	return filepath.Join(link, filepath.FromSlash(file))
}

// terminal is the terminal of a name. A new one opens where the first one stands, with its variables.
func (r *reader) terminal(name string) *terminal {
	r.t.Helper()
	if term := r.terminals[name]; term != nil {
		return term
	}
	folder, variables := r.folder, r.environment
	if name != "" {
		folder = r.at(".")
		variables = append(slices.Clone(variables), "PATH="+r.path())
	}
	term := openTerminal(r.t, name, folder, variables)
	r.terminals[name] = term
	return term
}

// path is the search path of the first terminal.
func (r *reader) path() string {
	r.t.Helper()
	term := r.terminal("")
	term.typed(r.t, `printf '%s\n' "$PATH"`)
	lines, _ := term.finish(r.t, "asking for the path")
	return strings.Join(lines, "")
}

func (r *reader) write(s *write) {
	r.t.Helper()
	file := r.at(s.file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(s.text), 0o600); err != nil {
		r.t.Fatalf("%s:%d: %v", r.document, s.line, err)
	}
}

func (r *reader) edit(s *edit) {
	r.t.Helper()
	file := r.at(s.file)
	text, err := os.ReadFile(file)
	if err != nil {
		r.t.Fatalf("%s:%d: %v", r.document, s.line, err)
	}
	changed, err := s.apply(string(text))
	if err != nil {
		r.t.Fatalf("%s:%d: %v\nThe file is:\n%s", r.document, s.line, err, text)
	}
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		r.t.Fatal(err)
	}
}

const askCode = "echo $?"

func (r *reader) command(s *command) {
	r.t.Helper()
	if c := r.failed[s.terminal]; c != nil && s.text != askCode {
		r.t.Errorf("%s:%d: the command fails, which the document does not say: %s", r.document, c.line, c.text)
	}
	delete(r.failed, s.terminal)
	term := r.terminal(s.terminal)
	term.typed(r.t, s.text)
	if s.stays {
		term.show(r.t, s.shows)
		return
	}
	lines, code := term.finish(r.t, s.text)
	for limit := time.Now().Add(linePatience); s.soon && !s.shows.whole(lines) && time.Now().Before(limit); {
		term.typed(r.t, s.text)
		lines, code = term.finish(r.t, s.text)
	}
	r.t.Logf("%s:%d: $ %s\n%s", r.document, s.line, s.text, strings.Join(lines, "\n"))
	if !s.shows.whole(lines) {
		r.t.Fatalf("%s:%d: %s\n%s", r.document, s.line, s.text, difference(s.shows.lines, lines))
	}
	if code != 0 {
		r.failed[s.terminal] = s
	}
}

func (r *reader) goesOn(s *goesOn) {
	r.t.Helper()
	term := r.terminal(s.terminal)
	if s.interrupt {
		term.interrupted(r.t)
	}
	if !s.ends {
		term.show(r.t, s.shows)
		return
	}
	lines, _ := term.finish(r.t, "what runs")
	r.t.Logf("%s:%d: %s\n%s", r.document, s.line, term, strings.Join(lines, "\n"))
	if !s.shows.whole(lines) {
		r.t.Fatalf("%s:%d: what %s shows at the end differs\n%s", r.document, s.line, term, difference(s.shows.lines, lines))
	}
}

func TestComingFrom(t *testing.T) {
	t.Parallel()
	follow(t, comingFromFile, t.TempDir(), redistest.Start(t, "8.6"), binary)
}

func TestDeadLetters(t *testing.T) {
	t.Parallel()
	follow(t, lettersFile, t.TempDir(), redistest.Start(t, "8.6"), binary)
}

// TestTheConsumerIsTakenOver compiles and runs the hand-written consumer of the document, kills it, and lets the
// pipeline beside it go on with the same group.
func TestTheConsumerIsTakenOver(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "8.6")
	folder := t.TempDir()
	list, err := steps(readDocument(t, comingFromFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range list {
		if w, ok := s.(*write); ok {
			if err := os.WriteFile(filepath.Join(folder, w.file), []byte(w.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	consumer := filepath.Join(folder, "consumer")
	build := exec.Command("go", "build", "-o", consumer, filepath.Join(folder, "consumer.go"))
	build.Dir = root // for the libraries
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the consumer: %v\n%s", err, out)
	}
	term := openTerminal(t, "", folder, environment(t, server, []string{binary, consumer}))
	run := func(text string, want ...string) {
		t.Helper()
		term.typed(t, text)
		lines, code := term.finish(t, text)
		if _, ok := consume(want, lines, true); !ok || code != 0 {
			t.Fatalf("%s: exit code %d\n%s", text, code, difference(want, lines))
		}
	}
	run("pipeline publish orders.hcl --input orders.jsonl", "published 3 entries to orders: …")

	term.typed(t, "sh -c 'echo $$ >pid; exec consumer'")
	term.show(t, shows{lines: []string{"… entry …: order 2 has nothing to bill"}})
	other := openTerminal(t, "another", folder, environment(t, server, nil))
	other.typed(t, `until [ "$(redis-cli XLEN receipts)" = 2 ]; do :; done; kill -9 $(cat pid)`)
	other.finish(t, "the kill")
	if lines, code := term.finish(t, "the consumer"); code != 128+9 {
		t.Fatalf("the consumer ended with %d: %q", code, lines)
	}
	run("redis-cli XPENDING orders billing", "1) (integer) 1", "…", `4) 1) 1) "worker-…"`, `      2) "1"`)

	term.typed(t, "pipeline run orders.hcl --var min_idle=1s")
	term.show(t, shows{lines: []string{"…", "… dead letter, now in orders_dead …"}})
	term.interrupted(t)
	if lines, code := term.finish(t, "the pipeline"); code != 0 {
		t.Fatalf("the pipeline ended with %d: %q", code, lines)
	}
	run("redis-cli XLEN receipts", "(integer) 2")
	run("redis-cli XLEN orders_dead", "(integer) 1")
	run("pipeline pending list orders.hcl", "billing on orders: nothing is pending")
}

// TestGuide follows the guide from a clone on. PIPELINE_GUIDE_CLONE names one; without it the files of this tree,
// as they are now, are copied to stand for it.
func TestGuide(t *testing.T) {
	t.Parallel()
	clone := os.Getenv("PIPELINE_GUIDE_CLONE")
	if clone == "" {
		clone = filepath.Join(t.TempDir(), "pipeline")
		copyTree(t, clone)
	}
	follow(t, guideFile, clone, redistest.Start(t, "8.6"))
}

// copyTree copies the tree without what was fetched or built.
func copyTree(t *testing.T, to string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, relative := filepath.Rel(root, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // another test's, and gone by now
		case err != nil || relative != nil:
			return errors.Join(err, relative)
		case entry.IsDir() && slices.Contains([]string{".git", ".cache", "node_modules", "target"}, entry.Name()):
			return fs.SkipDir
		case entry.IsDir():
			return os.MkdirAll(filepath.Join(to, name), 0o755)
		case !entry.Type().IsRegular() || name == "pipeline":
			return nil
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return errors.Join(err, os.WriteFile(filepath.Join(to, name), content, 0o600))
	})
	if err != nil {
		t.Fatalf("copy the tree: %v", err)
	}
}
