package source

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{"old": "old text", "target": "old", "other/file": ""})
	if err := os.Symlink("target", filepath.Join(dir, "link")); err != nil {
		t.Skip("no links here:", err)
	}
	for _, name := range []string{"new", "old", "link"} {
		if err := Write(filepath.Join(dir, name), []byte("new text")); err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Join(dir, name)); got != "new text" {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if info, err := os.Lstat(filepath.Join(dir, "link")); err != nil || info.Mode().IsRegular() {
		t.Errorf("the link is a file now: %v", err)
	}
	if got := read(t, filepath.Join(dir, "target")); got != "new text" {
		t.Errorf("what the link leads to holds %q", got)
	}
	if info, err := os.Stat(filepath.Join(dir, "old")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the permissions changed: %v", err)
	}
	if err := Write(os.DevNull, []byte("text")); err != nil {
		t.Errorf("what is no file: %v", err)
	}
	for name, want := range map[string]string{"other": "is a directory", "no/such": "no such file"} {
		err := Write(filepath.Join(dir, name), []byte("text"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".pipeline-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A file that may not be written is left alone.
func TestWriteProtected(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may write everything")
	}
	dir := write(t, map[string]string{"old": "old text"})
	path := filepath.Join(dir, "old")
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, []byte("new text")); err == nil || read(t, path) != "old text" {
		t.Errorf("error %v, and it holds %q", err, read(t, path))
	}
}
