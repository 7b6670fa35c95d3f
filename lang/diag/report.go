package diag

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// MaxShown is how many diagnostics a report shows; the rest are counted.
const MaxShown = 20

// minSecret is the length from which a secret is looked for in texts. Shorter
// ones would hide half of every message and are kept out where values are
// rendered.
const minSecret = 4

// Hidden stands where a secret was.
const Hidden = "(sensitive)"

// Report gathers the diagnostics of one run. The zero value is ready to use.
// It is not safe for concurrent use.
type Report struct {
	list    []*Diagnostic
	sources map[string]*Source
	hidden  map[string][]span
	secrets []string
}

// span is a piece of a file in bytes.
type span struct{ start, end int }

// AddSource makes the text of a file known, for its lines to be shown.
func (r *Report) AddSource(s *Source) {
	if r.sources == nil {
		r.sources = map[string]*Source{}
	}
	r.sources[s.Name] = s
}

// Source is the file with the name, or nil.
func (r *Report) Source(name string) *Source { return r.sources[name] }

// At is the range between two byte offsets of a known file.
func (r *Report) At(file string, start, end int) Range {
	if s := r.sources[file]; s != nil {
		return s.Range(start, end)
	}
	return Range{File: file}
}

// Hide keeps the bytes of a range out of every source line shown.
func (r *Report) Hide(rng Range) {
	if r.hidden == nil {
		r.hidden = map[string][]span{}
	}
	r.hidden[rng.File] = append(r.hidden[rng.File], span{rng.Start.Byte, rng.End.Byte})
}

// Secret keeps a value out of every text of the report, those already added
// too. Values of fewer than four bytes are not searched for.
func (r *Report) Secret(value string) {
	if len(value) >= minSecret && !slices.Contains(r.secrets, value) {
		r.secrets = append(r.secrets, value)
	}
}

// Add adds a problem and returns it, for more to be said about it.
func (r *Report) Add(d Diagnostic) *Diagnostic {
	r.list = append(r.list, &d)
	return &d
}

// HasErrors reports whether any problem is an error.
func (r *Report) HasErrors() bool { return r.Count(Error) > 0 }

// Count is the number of distinct problems of a severity, shown or not.
func (r *Report) Count(s Severity) int {
	n := 0
	for _, d := range r.All() {
		if d.Severity == s {
			n++
		}
	}
	return n
}

// All are all distinct problems, by file and position, with secrets hidden.
func (r *Report) All() []Diagnostic {
	out := make([]Diagnostic, 0, len(r.list))
	for _, d := range r.list {
		out = append(out, r.scrubbed(*d))
	}
	slices.SortStableFunc(out, byPlace)
	return slices.CompactFunc(out, func(a, b Diagnostic) bool { return reflect.DeepEqual(a, b) })
}

// Shown are the problems to show, at most MaxShown, and how many more there
// are. Errors are never crowded out by warnings or notices.
func (r *Report) Shown() (shown []Diagnostic, more int) {
	all := r.All()
	if len(all) <= MaxShown {
		return all, 0
	}
	more = len(all) - MaxShown
	slices.SortStableFunc(all, func(a, b Diagnostic) int { return cmp.Compare(a.Severity, b.Severity) })
	all = all[:MaxShown]
	slices.SortStableFunc(all, byPlace)
	return all, more
}

// byPlace orders by file, position, then severity and text.
func byPlace(a, b Diagnostic) int {
	return cmp.Or(
		cmp.Compare(a.Range.File, b.Range.File),
		cmp.Compare(a.Range.Start.Byte, b.Range.Start.Byte),
		cmp.Compare(a.Severity, b.Severity),
		cmp.Compare(a.Range.End.Byte, b.Range.End.Byte),
		cmp.Compare(a.Code, b.Code),
		cmp.Compare(a.Summary, b.Summary),
		cmp.Compare(a.Detail, b.Detail),
	)
}

// scrubbed is d with every known secret replaced in its texts.
func (r *Report) scrubbed(d Diagnostic) Diagnostic {
	if len(r.secrets) == 0 {
		return d
	}
	d.Summary, d.Detail, d.Suggestion = r.scrub(d.Summary), r.scrub(d.Detail), r.scrub(d.Suggestion)
	d.Related = slices.Clone(d.Related)
	for i := range d.Related {
		d.Related[i].Text = r.scrub(d.Related[i].Text)
	}
	d.Edits = slices.DeleteFunc(slices.Clone(d.Edits), func(e Edit) bool { return r.scrub(e.Text) != e.Text })
	d.Values = slices.Clone(d.Values)
	for i := range d.Values {
		d.Values[i].Value = r.scrub(d.Values[i].Value)
	}
	return d
}

func (r *Report) scrub(text string) string {
	for _, s := range r.secrets {
		text = strings.ReplaceAll(text, s, Hidden)
	}
	return text
}
