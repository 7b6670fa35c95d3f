package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// module is a module whose tests pass, fail, fail in a part, panic, and cannot be built.
var module = map[string]string{
	"go.mod": "module m\n\ngo 1.26\n",
	"good/good_test.go": `package good
import "testing"
func TestGood(t *testing.T) { t.Log("a word of a good one") }
`,
	"bad/bad_test.go": `package bad
import "testing"
func TestGood(t *testing.T) { t.Log("a word of a good one") }
func TestParts(t *testing.T) {
	t.Run("right", func(t *testing.T) {})
	t.Run("wrong", func(t *testing.T) { t.Log("first"); t.Errorf("want %d", 3) })
}
func TestSkipped(t *testing.T) { t.Skip("not here") }
`,
	"panics/panics_test.go": `package panics
import "testing"
func TestPanics(t *testing.T) { panic("torn") }
`,
	"ends/ends_test.go": `package ends
import ("os"; "testing")
func TestEnds(t *testing.T) { t.Log("about to end"); os.Exit(3) }
`,
	"unbuilt/unbuilt_test.go": "package unbuilt\nvar x int = \"no number\"\n",
}

// reportOf runs go test in a module of these files and returns what is shown, and whether anything failed.
func reportOf(t *testing.T, verbose bool, packages ...string) (string, bool) {
	t.Helper()
	folder := t.TempDir()
	for name, content := range module {
		name = filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	command := exec.CommandContext(t.Context(), "go", append([]string{"test", "-json", "-count=1"}, packages...)...)
	command.Dir = folder
	output, _ := command.Output() // that tests fail is what it is for
	var shown bytes.Buffer
	out := bufio.NewWriter(&shown)
	r := newReport(out, verbose)
	if err := r.read(bytes.NewReader(output)); err != nil {
		t.Fatal(err)
	}
	failed := r.end()
	_ = out.Flush()
	return shown.String(), failed
}

func TestWhatFailedIsToldAtTheEnd(t *testing.T) {
	shown, failed := reportOf(t, true, "./...")
	if !failed {
		t.Error("nothing failed")
	}
	_, end, found := strings.Cut(shown, "\nfailed: 4\n")
	if !found {
		t.Fatalf("the end does not tell of four failures:\n%s", shown)
	}
	for _, want := range []string{
		"  m/bad TestParts/wrong\n      bad_test.go:6: first\n      bad_test.go:6: want 3\n",
		"  m/panics TestPanics\n", "      panic: torn",
		"  m/ends TestEnds\n      ends_test.go:3: about to end\n",
		"  m/unbuilt [m/unbuilt.test]\n      unbuilt/unbuilt_test.go:2:13: cannot use",
	} {
		if !strings.Contains(end, want) {
			t.Errorf("the end lacks %q:\n%s", want, end)
		}
	}
	if strings.Contains(end, "TestGood") || strings.Contains(end, "right") {
		t.Errorf("the end tells of what passed:\n%s", end)
	}
}

func TestWhatIsShownOfTestsThatPass(t *testing.T) {
	for _, verbose := range []bool{true, false} {
		shown, failed := reportOf(t, verbose, "./good", "./bad")
		if strings.Contains(shown, "a word of a good one") != verbose {
			t.Errorf("with verbose %v it shows:\n%s", verbose, shown)
		}
		for _, want := range []string{"ok  \tm/good", "FAIL\tm/bad", "bad_test.go:6: want 3\n"} {
			if !strings.Contains(shown, want) {
				t.Errorf("with verbose %v it lacks %q:\n%s", verbose, want, shown)
			}
		}
		if !failed {
			t.Error("nothing failed")
		}
	}
	if shown, failed := reportOf(t, false, "./good"); failed || strings.Contains(shown, "failed") {
		t.Errorf("of tests that pass it says:\n%s", shown)
	}
}

// Packages are tested at once; each is shown by itself when it has ended, and what had not
// ended at the end.
func TestLinesOfPackagesAreNotMixed(t *testing.T) {
	var in, shown bytes.Buffer
	for _, line := range []string{
		`{"Action":"run","Package":"a","Test":"TestA"}`, `{"Action":"run","Package":"b","Test":"TestB"}`,
		`{"Action":"output","Package":"a","Test":"TestA","Output":"a 1\n"}`,
		`{"Action":"output","Package":"b","Test":"TestB","Output":"b 1\n"}`,
		`{"Action":"output","Package":"a","Test":"TestA","Output":"a 2\n"}`,
		`{"Action":"output","Package":"b","Test":"TestB","Output":"b 2\n"}`,
		`{"Action":"pass","Package":"b","Test":"TestB"}`,
		`{"Action":"output","Package":"b","Output":"ok  \tb\t1s\n"}`, `{"Action":"pass","Package":"b"}`,
		`no event`,
	} {
		in.WriteString(line + "\n")
	}
	out := bufio.NewWriter(&shown)
	r := newReport(out, true)
	if err := r.read(&in); err != nil {
		t.Fatal(err)
	}
	failed := r.end()
	_ = out.Flush()
	want := "b 1\nb 2\nok  \tb\t1s\nno event\na 1\na 2\n\nfailed: 1\n  a TestA\n      a 1\n      a 2\n"
	if shown.String() != want || !failed {
		t.Errorf("got\n%s\nwant\n%s", shown.String(), want)
	}
}

func TestLongLinesAreClipped(t *testing.T) {
	got := why([]string{"    a_test.go:1: " + strings.Repeat("ü", clipped) + "\n"})
	if len(got) != 1 || len(got[0]) > clipped+len("…") || !strings.HasPrefix(got[0], "a_test.go:1: ü") {
		t.Errorf("got %q", got)
	}
}
