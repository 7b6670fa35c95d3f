package tests

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"pipeline/lang/format"
)

// TestPipelineFilesAreLaidOut checks every file of the language in this tree.
func TestPipelineFilesAreLaidOut(t *testing.T) {
	t.Parallel()
	root := os.DirFS("..")
	checked := 0
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && strings.HasPrefix(entry.Name(), ".") || entry.Name() == "node_modules" || entry.Name() == "target" {
				return fs.SkipDir
			}
			return nil
		}
		if path.Ext(name) != ".hcl" || path.Base(path.Dir(name)) == "templates" {
			return nil // templates are no pipeline before they are filled in; their own test does that
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		checked++
		out, report := format.Format(name, text)
		switch {
		case report.HasErrors():
			t.Errorf("%s: %v", name, report.All())
		case string(out) != string(text):
			t.Errorf("%s is not laid out; run `pipeline fmt %s`", name, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 3 {
		t.Errorf("only %d files were checked", checked)
	}
}
