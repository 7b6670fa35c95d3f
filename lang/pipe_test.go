//go:build unix

package lang_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"pipeline/lang"
	"pipeline/lang/diag"
)

const pipePipeline = "pipeline \"a\" {}\nbroker \"memory\" {}\nstream \"s\" {}\nhandler \"h\" {\n  source = \"h.lua\"\n}\n" +
	"group \"g\" {\n  stream = stream.s\n  dead_letter {\n    to = stream.d\n  }\n  subscription \"h\" {\n    handler = handler.h\n    claim {\n      min_idle = \"1m\"\n    }\n  }\n}\n" +
	"stream \"d\" {\n  retention {\n    max_age = \"30d\"\n  }\n}\n"

// TestPipesAreNotWaitedFor loads pipelines beside pipes that nobody writes to.
func TestPipesAreNotWaitedFor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pipe, load string
		code       diag.Code
	}{
		"a file of a directory": {"a.hcl", ".", diag.FileUnreadable},
		"a script":              {"h.lua", "p.hcl", diag.FileUnreadable},
		"a directory's name":    {"x", ".", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{"p.hcl": pipePipeline, "h.lua": "function handle() return ack() end\n"} {
				if file != c.pipe {
					put(t, filepath.Join(dir, file), text)
				}
			}
			if err := os.Symlink(t.TempDir(), filepath.Join(dir, "folder.hcl")); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Mkfifo(filepath.Join(dir, c.pipe), 0o600); err != nil {
				t.Fatal(err)
			}
			loaded := make(chan *diag.Report, 1)
			go func() {
				_, r := lang.Load(lang.OS(), filepath.Join(dir, c.load), lang.Options{})
				loaded <- r
			}()
			select {
			case r := <-loaded:
				all := r.All()
				if c.code == "" && len(all) > 0 || c.code != "" && (len(all) != 1 || all[0].Code != c.code) {
					t.Errorf("diagnostics %v", all)
				}
			case <-time.After(time.Minute):
				t.Fatal("it waits for the pipe")
			}
		})
	}
}

// TestAPipeThatIsNamedIsRead loads what a shell gives as <(…).
func TestAPipeThatIsNamedIsRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "p.hcl")
	put(t, filepath.Join(dir, "h.lua"), "function handle() return ack() end\n")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	written := make(chan error, 1)
	go func() { written <- os.WriteFile(pipe, []byte(pipePipeline), 0o600) }()
	if p, r := lang.Load(lang.OS(), pipe, lang.Options{}); p == nil {
		t.Errorf("diagnostics %v", r.All())
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
