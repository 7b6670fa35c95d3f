package source

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// write writes files below a new directory and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func named(t *testing.T, name string) File {
	t.Helper()
	var f Finder
	file, ok, err := f.Named(name)
	if err != nil || !ok {
		t.Fatalf("%s: %v, %v", name, ok, err)
	}
	return file
}

// alone checks that a directory holds some files and nothing else.
func alone(t *testing.T, dir string, want ...string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, want) {
		t.Errorf("the directory holds %v, want %v", names, want)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 251) + ".hcl"
	dir := write(t, map[string]string{"a.hcl": "old", long: "old"})
	if err := os.Chmod(filepath.Join(dir, "a.hcl"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("a.hcl", filepath.Join(dir, "link.hcl")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"link.hcl", long} {
		if err := Replace(named(t, filepath.Join(dir, name)), []byte("old"), []byte("new")); err != nil {
			t.Fatal(err)
		}
		if got := read(t, filepath.Join(dir, name)); got != "new" {
			t.Errorf("%s holds %q", name, got)
		}
	}
	if info, err := os.Lstat(filepath.Join(dir, "link.hcl")); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v, %v", info, err)
	}
	if info, err := os.Stat(filepath.Join(dir, "a.hcl")); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("permissions: %v, %v", info.Mode(), err)
	}
	alone(t, dir, "a.hcl", "link.hcl", long)
}

// Whatever goes wrong, the file is as it was and nothing lies beside it.
func TestReplaceFails(t *testing.T) {
	t.Parallel()
	t.Run("changed in the meantime", func(t *testing.T) {
		t.Parallel()
		dir := write(t, map[string]string{"a.hcl": "somebody else's"})
		err := Replace(named(t, filepath.Join(dir, "a.hcl")), []byte("old"), []byte("new"))
		if !errors.Is(err, ErrChanged) || read(t, filepath.Join(dir, "a.hcl")) != "somebody else's" {
			t.Errorf("%v, the file holds %q", err, read(t, filepath.Join(dir, "a.hcl")))
		}
		alone(t, dir, "a.hcl")
	})
	t.Run("done by another process", func(t *testing.T) {
		t.Parallel()
		dir := write(t, map[string]string{"a.hcl": "new"})
		if err := Replace(named(t, filepath.Join(dir, "a.hcl")), []byte("old"), []byte("new")); err != nil {
			t.Error(err)
		}
		alone(t, dir, "a.hcl")
	})
	t.Run("a directory by now", func(t *testing.T) {
		t.Parallel()
		dir := write(t, map[string]string{"a.hcl/b": ""})
		err := Replace(named(t, filepath.Join(dir, "a.hcl")), nil, []byte("new"))
		if err == nil || !strings.Contains(err.Error(), "a.hcl: is a directory") {
			t.Errorf("error %v", err)
		}
		alone(t, dir, "a.hcl")
	})
	t.Run("gone by now", func(t *testing.T) {
		t.Parallel()
		dir := write(t, map[string]string{"a.hcl": "old"})
		file := named(t, filepath.Join(dir, "a.hcl"))
		if err := os.Remove(file.Path); err != nil {
			t.Fatal(err)
		}
		if err := Replace(file, []byte("old"), []byte("new")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("error %v", err)
		}
		alone(t, dir)
	})
	t.Run("protected", func(t *testing.T) {
		t.Parallel()
		if os.Geteuid() == 0 {
			t.Skip("nothing is protected from the superuser")
		}
		dir := write(t, map[string]string{"a.hcl": "old", "in/b.hcl": "old"})
		if err := errors.Join(os.Chmod(filepath.Join(dir, "a.hcl"), 0o400), os.Chmod(filepath.Join(dir, "in"), 0o500)); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(filepath.Join(dir, "in"), 0o700)
		for _, name := range []string{"a.hcl", "in/b.hcl"} {
			err := Replace(named(t, filepath.Join(dir, name)), []byte("old"), []byte("new"))
			if !errors.Is(err, fs.ErrPermission) || read(t, filepath.Join(dir, name)) != "old" {
				t.Errorf("%s: %v, the file holds %q", name, err, read(t, filepath.Join(dir, name)))
			}
		}
		alone(t, dir, "a.hcl", "in")
		alone(t, filepath.Join(dir, "in"), "b.hcl")
	})
}

func TestBelow(t *testing.T) {
	t.Parallel()
	dir := write(t, map[string]string{
		"a.hcl": "", "b_test.hcl": "", "c.txt": "", "d/e.hcl": "", ".git/f.hcl": "", "d/.g/h.hcl": "", ".i.hcl": "", "j.hcl/k.hcl": "",
	})
	if err := errors.Join(
		os.Symlink("..", filepath.Join(dir, "d", "circle")), os.Symlink("..", filepath.Join(dir, "d", "circle.hcl")),
		os.Symlink("../a.hcl", filepath.Join(dir, "d", "again.hcl")), os.Symlink("nowhere", filepath.Join(dir, "broken.hcl")),
	); err != nil {
		t.Fatal(err)
	}
	var f Finder
	var problems []string
	list := func(at string) (names []string, found int) {
		files, found := f.Below(at, func(name string, err error) { problems = append(problems, filepath.Base(name)) })
		for _, file := range files {
			name, err := filepath.Rel(dir, file.Name)
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, filepath.ToSlash(name))
		}
		return names, found
	}
	want := []string{".i.hcl", "a.hcl", "b_test.hcl", "d/e.hcl", "j.hcl/k.hcl"}
	if names, found := list(dir); !slices.Equal(names, want) || found != 7 {
		t.Errorf("found %v, %d; want %v", names, found, want)
	}
	if !slices.Equal(problems, []string{"broken.hcl"}) {
		t.Errorf("problems: %v", problems)
	}
	if names, found := list(filepath.Join(dir, "d", "circle")); len(names) != 0 || found != 7 {
		t.Errorf("through a link: %v, %d", names, found)
	}
}
