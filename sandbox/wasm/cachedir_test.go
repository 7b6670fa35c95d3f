//go:build unix

package wasm

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipeline/engine/outcome"
	"pipeline/sandbox/sandboxtest"
)

func TestPrivateDir(t *testing.T) {
	base := t.TempDir()
	made := filepath.Join(base, "a", "b")
	tests := map[string]struct {
		dir   string
		make  func(t *testing.T, dir string) error
		fails string
	}{
		"new":    {made, func(*testing.T, string) error { return nil }, ""},
		"again":  {made, func(*testing.T, string) error { return nil }, ""},
		"open":   {filepath.Join(base, "open"), func(_ *testing.T, dir string) error { return os.Mkdir(dir, 0o755) }, "is open to other users"},
		"a file": {filepath.Join(base, "file"), func(_ *testing.T, dir string) error { return os.WriteFile(dir, nil, 0o600) }, "not a directory"},
		"a link": {filepath.Join(base, "link"), func(_ *testing.T, dir string) error { return os.Symlink(made, dir) }, "not a directory"},
		"another user's": {filepath.Join(base, "theirs"), func(t *testing.T, dir string) error {
			if os.Geteuid() != 0 {
				t.Skip("only root can give a folder to another user")
			}
			return errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, 12345, -1))
		}, "belongs to another user"},
		"below a file": {filepath.Join(base, "file2", "x"), func(_ *testing.T, dir string) error { return os.WriteFile(filepath.Dir(dir), nil, 0o600) }, "not a directory"},
	}
	for _, name := range []string{"new", "again", "open", "a file", "a link", "another user's", "below a file"} {
		t.Run(name, func(t *testing.T) {
			test := tests[name]
			if err := test.make(t, test.dir); err != nil {
				t.Fatal(err)
			}
			err := PrivateDir(test.dir)
			if test.fails == "" {
				info, statErr := os.Stat(test.dir)
				if err != nil || statErr != nil || info.Mode().Perm() != 0o700 {
					t.Errorf("%v, %v", err, statErr)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.fails) {
				t.Errorf("got %v, want %s", err, test.fails)
			}
		})
	}
}

// TestCache compiles twice with one directory; the second time nothing is
// compiled, and several handlers share what is there.
func TestCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	if err := PrivateDir(dir); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		h, err := Compiler{CacheDir: dir}.Compile(spec(summing))
		if err != nil {
			t.Fatal(err)
		}
		in, err := h.NewInstance(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if out, _ := in.Call(context.Background(), sandboxtest.Delivery("")); out.Kind != outcome.Ack {
			t.Error(sandboxtest.Show(out))
		}
		in.Close()
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	}
	files := 0
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Error("nothing is kept")
	}
}

// TestBrokenCache compiles with a cache whose files are damaged, and with one
// that cannot be written.
func TestBrokenCache(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	if err := PrivateDir(dir); err != nil {
		t.Fatal(err)
	}
	runs := func(dir string) {
		t.Helper()
		h, err := Compiler{CacheDir: dir}.Compile(spec(summing))
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		in, err := h.NewInstance(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		if out, _ := in.Call(context.Background(), sandboxtest.Delivery("")); out.Kind != outcome.Ack {
			t.Error(sandboxtest.Show(out))
		}
	}
	runs(dir)
	damage := func(keep int) error {
		return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for i := keep; i < len(text); i++ {
				text[i] ^= 0x55
			}
			return os.WriteFile(path, text, 0o600)
		})
	}
	for _, keep := range []int{0, 100, 400} {
		if err := damage(keep); err != nil {
			t.Fatal(err)
		}
		runs(dir)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	runs(file)
}
