package lang_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"pipeline/lang"
	"pipeline/lang/diag"
)

// added marks a line that a difference adds, until expectation.mark.
const added = "\x00"

// expectation is what a colleague would say about a case.
type expectation struct {
	code diag.Code
	// at is the text that the range covers, its nth occurrence: in the lines
	// that the case adds, or else in the whole file. "-" is no place in it.
	at  string
	nth int
	// guess is what a person would propose, alternatives between " / "; guessed
	// says that the case has one, be it "-".
	guess   string
	guessed bool
	// start and end are the place in the file, in bytes; end 0 is none.
	start, end int
}

// option reads one option of a case; false when it is another's.
func (x *expectation) option(name, value string) bool {
	switch name {
	case "@code":
		x.code = diag.Code(value)
	case "@at", "@at#1", "@at#2":
		x.at, x.nth = invisible.Replace(value), 1
		if name == "@at#2" {
			x.nth = 2
		}
	case "@guess":
		x.guess, x.guessed = value, true
	default:
		return false
	}
	return true
}

// mark finds the place that is meant and takes the marks out of the text.
func (x *expectation) mark(source *string) {
	var text strings.Builder
	var ours, others []int
	for line := range strings.Lines(*source) {
		clean, isAdded := strings.CutPrefix(line, added)
		for from := 0; x.at != "" && from < len(clean); {
			i := strings.Index(clean[from:], x.at)
			if i < 0 {
				break
			}
			if at := text.Len() + from + i; isAdded {
				ours = append(ours, at)
			} else {
				others = append(others, at)
			}
			from += i + len(x.at)
		}
		text.WriteString(clean)
	}
	*source = text.String()
	if places := append(ours, others...); x.at != "-" && x.nth > 0 && len(places) >= x.nth {
		x.start = places[x.nth-1]
		x.end = x.start + len(x.at)
	}
}

// check compares the code and the place of the first problem.
func (x *expectation) check(t *testing.T, r *diag.Report) {
	t.Helper()
	all := r.All()
	if len(all) == 0 {
		return
	}
	d := all[0]
	if x.code != "" && x.code != "-" && d.Code != x.code {
		t.Errorf("code %s, want %s", d.Code, x.code)
	}
	if x.at != "" && x.at != "-" && x.end == 0 {
		t.Errorf("the text %q is not in the file", x.at)
	}
	if x.end > 0 && (d.Range.Start.Byte != x.start || d.Range.End.Byte != x.end) {
		t.Errorf("%s covers %d to %d, want %q at %d to %d", d.Code, d.Range.Start.Byte, d.Range.End.Byte, x.at, x.start, x.end)
	}
}

// met reports whether the loader proposes what a person would have.
func (x *expectation) met(all []diag.Diagnostic) bool {
	var said []string
	for _, d := range all {
		said = append(said, d.Suggestion)
		for _, e := range d.Edits {
			said = append(said, e.Text)
		}
	}
	for guess := range strings.SplitSeq(x.guess, " / ") {
		for i, text := range said {
			if text == "" && guess != `""` || i == 0 && text == "" {
				continue
			}
			if guess == "(newline)" && strings.Contains(text, "\n") || bare(text) == bare(guess) {
				return true
			}
		}
	}
	return false
}

// bare is a proposal without what makes no difference to a person: white
// space, the quotes around it, a dot before a field.
func bare(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) > 1 && s[0] == '"' && s[len(s)-1] == '"' {
		s = s[1 : len(s)-1]
	}
	if len(s) > 1 {
		s = strings.TrimPrefix(s, ".")
	}
	return strings.TrimSpace(s)
}

// The least share of guesses that the loader must make as a person would, and
// of cases that must have one.
const (
	leastShare = 90
	leastCases = 300
)

// TestGuesses counts how often the loader proposes what a person would have.
func TestGuesses(t *testing.T) {
	annotated, guesses, met := 0, 0, 0
	var missed []string
	eachCase(t, "*", func(name string, c corpusCase) {
		if c.want.guessed {
			annotated++
		}
		if !c.want.guessed || c.want.guess == "-" {
			return
		}
		guesses++
		_, r := lang.Load(c.files, "p.hcl", c.opts)
		if c.want.met(r.All()) {
			met++
		} else {
			missed = append(missed, name+": "+c.want.guess)
		}
	})
	slices.Sort(missed)
	t.Logf("%d of %d guesses met (%.1f %%); %d cases say what a person would guess\nmissed:\n%s",
		met, guesses, 100*float64(met)/float64(max(1, guesses)), annotated, strings.Join(missed, "\n"))
	if annotated < leastCases || met*100 < leastShare*guesses {
		t.Errorf("%d of %d guesses met over %d cases, at least %d %% over %d are wanted", met, guesses, annotated, leastShare, leastCases)
	}
}

// leastMended is the least share of files, in percent, that have no error left
// once the edits of their problem are applied; the rest want a decision, such
// as a value for a variable of the environment.
const leastMended = 95

// TestEditsMend applies the edits of every case with one problem.
func TestEditsMend(t *testing.T) {
	total, mended := 0, 0
	eachCase(t, "newcomer-*", func(name string, c corpusCase) {
		_, before := lang.Load(c.files, "p.hcl", c.opts)
		all := before.All()
		if len(all) != 1 || len(all[0].Edits) == 0 || all[0].Range.File != "p.hcl" {
			return
		}
		total++
		files := maps.Clone(c.files)
		files["p.hcl"] = &fstest.MapFile{Data: []byte(applyEdits(c.source, all[0]))}
		if _, after := lang.Load(files, "p.hcl", c.opts); after.HasErrors() {
			t.Logf("%s: %s", name, after.All()[0])
			return
		}
		mended++
	})
	t.Logf("%d of %d files are mended by the edits of their problem", mended, total)
	if mended*100 < leastMended*total {
		t.Errorf("%d of %d files are mended by their edits, at least %d %% are wanted", mended, total, leastMended)
	}
}

// applyEdits is a text with the edits of a diagnostic, which are in file order.
func applyEdits(source string, d diag.Diagnostic) string {
	for _, e := range slices.Backward(d.Edits) {
		source = source[:e.Range.Start.Byte] + e.Text + source[e.Range.End.Byte:]
	}
	return source
}

// eachCase calls visit for the cases of the archives that match.
func eachCase(t *testing.T, archives string, visit func(name string, c corpusCase)) {
	t.Helper()
	base, err := os.ReadFile("testdata/base.hcl")
	if err != nil {
		t.Fatal(err)
	}
	paths, _ := filepath.Glob("testdata/invalid/" + archives + ".txtar")
	for _, path := range paths {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			if !strings.HasSuffix(f.Name, ".want") {
				visit(filepath.Base(path)+": "+f.Name, parseCase(t, string(base), string(f.Data)))
			}
		}
	}
}
