// Package diag holds what is wrong with a pipeline file, as data: a stable
// code, a summary, an exact range, what to do about it, and the same report
// rendered as text or as JSON.
//
// It imports nothing of ours and knows no parser, so that every part that
// finds a problem in a user's file can speak it.
package diag

import (
	"encoding/json"
	"fmt"
)

// Severity says whether a pipeline can run in spite of the problem.
type Severity uint8

// The severities, gravest first.
const (
	// Error: the pipeline cannot run.
	Error Severity = iota
	// Warning: it runs, and probably not as meant.
	Warning
	// Notice: it runs; there is something to know.
	Notice
)

// String is the word used in text and JSON.
func (s Severity) String() string {
	switch s {
	case Error:
		return "error"
	case Warning:
		return "warning"
	default:
		return "notice"
	}
}

// MarshalJSON writes the word.
func (s Severity) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// UnmarshalJSON reads the word.
func (s *Severity) UnmarshalJSON(data []byte) error {
	for _, known := range []Severity{Error, Warning, Notice} {
		if string(data) == `"`+known.String()+`"` {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("severity %s: not one of error, warning, notice", data)
}

// Pos is a place in a file. Line and Column count from 1, Byte from 0. A column
// is a character as a person sees it (a grapheme cluster), whatever its width
// on the screen or in bytes.
type Pos struct {
	Line   int `json:"line"`
	Column int `json:"column"`
	Byte   int `json:"byte"`
}

// Range is a piece of a file, End exclusive. A Range without a file belongs to
// the command line or to the pipeline as a whole.
type Range struct {
	File  string `json:"file"`
	Start Pos    `json:"start"`
	End   Pos    `json:"end"`
}

// IsZero reports whether the range points nowhere.
func (r Range) IsZero() bool { return r == Range{} }

// Related is another place that the problem is about: "first defined here".
type Related struct {
	Range Range  `json:"range"`
	Text  string `json:"text"`
}

// Edit replaces a range by a text. Edits are given only where they are certain
// to be what the message asks for.
type Edit struct {
	Range Range  `json:"range"`
	Text  string `json:"text"`
}

// Value is the value of a name in a failing expression, already rendered, with
// secrets replaced.
type Value struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Diagnostic is one problem.
type Diagnostic struct {
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	// Summary is one line, lower case, without a final stop.
	Summary string `json:"summary"`
	// Detail says what to do, in sentences. It may be empty.
	Detail  string    `json:"detail"`
	Range   Range     `json:"range"`
	Related []Related `json:"related,omitempty"`
	// Suggestion is the word that was probably meant; renderers word it
	// "Did you mean "x"?".
	Suggestion string  `json:"suggestion"`
	Edits      []Edit  `json:"edits"`
	Values     []Value `json:"values,omitempty"`
}

// String is the one-line form: code, summary and place.
func (d Diagnostic) String() string {
	return fmt.Sprintf("%s[%s]: %s (%s:%d:%d)", d.Severity, d.Code, d.Summary,
		d.Range.File, d.Range.Start.Line, d.Range.Start.Column)
}

// Suggest sets the word that was probably meant; "" changes nothing.
func (d *Diagnostic) Suggest(word string) *Diagnostic {
	if word != "" {
		d.Suggestion = word
	}
	return d
}

// Edit adds a change that is certain to be meant.
func (d *Diagnostic) Edit(rng Range, text string) *Diagnostic {
	d.Edits = append(d.Edits, Edit{rng, text})
	return d
}

// Relate adds another place that the problem is about.
func (d *Diagnostic) Relate(rng Range, text string) *Diagnostic {
	if !rng.IsZero() {
		d.Related = append(d.Related, Related{rng, text})
	}
	return d
}
