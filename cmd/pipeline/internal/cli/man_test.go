package cli

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/view"
)

// manInto writes the manual into a folder and returns its pages by name.
func manInto(t *testing.T, epoch string) (pages map[string]string, err error) {
	t.Helper()
	a, _ := fakeApp(t, view.Options{})
	a.process.Env = func(name string) (string, bool) { return epoch, name == "SOURCE_DATE_EPOCH" && epoch != "" }
	dir := filepath.Join(t.TempDir(), "new", "man1")
	root := a.root()
	root.SetArgs([]string{"man", "--dir", dir})
	if err := root.Execute(); err != nil {
		return nil, err
	}
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	pages = map[string]string{}
	for _, f := range files {
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		pages[f.Name()] = string(text)
	}
	return pages, nil
}

// Every command has a page with all sections, and no page anything else.
func TestManPages(t *testing.T) {
	t.Parallel()
	pages, err := manInto(t, "")
	if err != nil {
		t.Fatal(err)
	}
	root := testRoot(t)
	want := 0
	eachCommand(root, func(c *cobra.Command) {
		if c != root && !c.IsAvailableCommand() {
			return
		}
		want++
		name := strings.ReplaceAll(c.CommandPath(), " ", "-")
		text, ok := pages[name+".1"]
		if !ok {
			t.Errorf("there is no page %s", name)
			return
		}
		sections := []string{"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "ENVIRONMENT", "SEE ALSO"}
		at := 0
		for _, s := range sections {
			i := strings.Index(text, `.SH "`+s+"\"\n")
			if i < at {
				t.Errorf("%s: no section %s after the one before", name, s)
			}
			at = max(at, i)
		}
		if !strings.HasPrefix(text, `.TH "`+escape(strings.ToUpper(name))+`" 1 "" "pipeline `) {
			t.Errorf("%s: begins with %.80q", name, text)
		}
	})
	if len(pages) != want {
		t.Errorf("%d pages for %d commands", len(pages), want)
	}
	for _, e := range []string{`\fB130\fR`, `PIPELINE_VAR_NAME`, `NO_COLOR`, `REDIS_URL`} {
		if !strings.Contains(pages["pipeline-run.1"], e) {
			t.Errorf("%s is not explained", e)
		}
	}
}

// Names in SEE ALSO are pages that exist.
func TestManSeeAlso(t *testing.T) {
	t.Parallel()
	pages, err := manInto(t, "")
	if err != nil {
		t.Fatal(err)
	}
	reference := regexp.MustCompile(`\\fB(pipeline[^\\]*(?:\\-[^\\]*)*)\\fR\(1\)`)
	for name, text := range pages {
		found := reference.FindAllStringSubmatch(text, -1)
		if len(found) == 0 {
			t.Errorf("%s names no other page", name)
		}
		for _, m := range found {
			if other := strings.ReplaceAll(m[1], `\-`, "-") + ".1"; pages[other] == "" || other == name {
				t.Errorf("%s names %s", name, other)
			}
		}
	}
}

func TestManIsDeterministic(t *testing.T) {
	t.Parallel()
	first, err := manInto(t, "86400")
	if err != nil {
		t.Fatal(err)
	}
	again, err := manInto(t, "86400")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range first {
		if again[name] != text {
			t.Errorf("%s differs from run to run", name)
		}
		if !strings.Contains(text, ` "1970\-01\-02" `) {
			t.Errorf("%s has another date: %.80q", name, text)
		}
	}
	if _, err := manInto(t, "yesterday"); failureExit(err) != exitUsage {
		t.Errorf("a date that is none: %v", err)
	}
}

// failureExit is the exit code that an error of a command leads to.
func failureExit(err error) int {
	if err == nil {
		return exitDone
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	return failureOf(err).Exit
}

// What a text holds is never read as a request or an escape.
func TestRoff(t *testing.T) {
	t.Parallel()
	r := &roff{}
	r.prose(".SH evil\n'br\nback\\slash - dash\n\n  .literal\n    indented")
	want := []string{`\&.SH evil`, `\(aqbr`, `back\eslash \- dash`, ".PP", ".RS 4", ".nf", `\&.literal`, "  indented", ".fi", ".RE", ""}
	if got := strings.Split(r.b.String(), "\n"); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

// groff has nothing to say about the pages.
func TestManLint(t *testing.T) {
	t.Parallel()
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Skip("no groff")
	}
	pages, err := manInto(t, "")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range pages {
		cmd := exec.CommandContext(t.Context(), groff, "-man", "-ww", "-Kutf8", "-Tutf8", "-z")
		cmd.Stdin = strings.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
}
