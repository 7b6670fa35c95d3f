package diag

import (
	"cmp"
	"reflect"
	"slices"
	"strings"
)

// MaxShown is how many diagnostics a report shows; the rest are counted.
const MaxShown = 20

// Report gathers the diagnostics of one run. The zero value is ready to use.
// It is not safe for concurrent use.
type Report struct {
	list    []*Diagnostic
	sources map[string]*Source
	hidden  map[string][]span
	secrets secrets
	// dropped counts the problems beyond maxKept, by severity.
	dropped [Notice + 1]int
}

// maxKept is how many problems are kept: a hostile file can have one a line.
const maxKept = 2000

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

// Add adds a problem and returns it, for more to be said about it.
func (r *Report) Add(d Diagnostic) *Diagnostic {
	if len(r.list) >= maxKept {
		r.dropped[d.Severity]++
		return &d
	}
	if word := r.word(d.Range); word != "" && d.Severity == Error {
		d.Detail = strings.TrimSpace(lookAlike(word) + " " + d.Detail)
	}
	r.list = append(r.list, &d)
	return &d
}

// longestWord is more bytes than any name of the language has.
const longestWord = 64

// word is the text of a short range, "" where its file is not known.
func (r *Report) word(rng Range) string {
	src, start, end := r.sources[rng.File], rng.Start.Byte, rng.End.Byte
	if src == nil || start < 0 || end <= start || end > len(src.Text) || end-start > longestWord {
		return ""
	}
	return string(src.Text[start:end])
}

// Full reports whether further problems are only counted: what it takes to
// explain them can be saved.
func (r *Report) Full() bool { return len(r.list) >= maxKept }

// HasErrors reports whether any problem is an error.
func (r *Report) HasErrors() bool {
	return r.dropped[Error] > 0 || slices.ContainsFunc(r.list, func(d *Diagnostic) bool { return d.Severity == Error })
}

// Count is the number of distinct problems of a severity, shown or not.
func (r *Report) Count(s Severity) int {
	n := r.dropped[s]
	for _, d := range r.All() {
		if d.Severity == s {
			n++
		}
	}
	return n
}

// All are all distinct problems, by file and position, with secrets hidden and
// texts of a length that can be read.
func (r *Report) All() []Diagnostic {
	out := make([]Diagnostic, 0, len(r.list))
	for _, d := range r.list {
		out = append(out, clipped(r.scrubbed(*d)))
	}
	slices.SortStableFunc(out, byPlace)
	return slices.CompactFunc(out, func(a, b Diagnostic) bool { return reflect.DeepEqual(a, b) })
}

// Shown are the problems to show, at most MaxShown, and how many more there
// are. Errors are never crowded out by warnings or notices.
func (r *Report) Shown() (shown []Diagnostic, more int) {
	all := r.All()
	more = r.dropped[Error] + r.dropped[Warning] + r.dropped[Notice]
	if len(all) <= MaxShown {
		return all, more
	}
	more += len(all) - MaxShown
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
