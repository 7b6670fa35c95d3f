// Package reference renders the language's table for readers: as JSON, as a
// JSON Schema for editors, and as the Markdown of the language reference.
//
// All three are made from lang/schema, lang/eval and lang/diag alone, so that
// they say what the language does; prose that no table holds stands in
// language.md.tmpl.
package reference

import (
	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

// Format is the version of Document's shape. It grows when a field changes its
// meaning or goes; fields may be added without that.
const Format = 1

// Status says whether something can be used.
type Status string

// The statuses.
const (
	// Available: it works.
	Available Status = "available"
	// Refused: the language reads it, and this version's engine refuses a
	// pipeline that has it.
	Refused Status = "refused"
	// Later: the name is reserved and no version has it yet.
	Later Status = "later"
)

// Document is the whole language as data.
type Document struct {
	// Format is the version of this shape.
	Format int `json:"format"`
	// Version is that of the program, Language the newest edition it reads.
	Version  string `json:"version"`
	Language string `json:"language"`
	// Blocks are those of the top level, in the order of the reference.
	Blocks []Block `json:"blocks"`
	// Tests are the blocks of test files, State what their conditions can read.
	Tests         []Block            `json:"tests"`
	State         []State            `json:"state"`
	Types         []eval.FormDoc     `json:"types"`
	Functions     []eval.FunctionDoc `json:"functions"`
	DurationUnits []eval.FormDoc     `json:"duration_units"`
	SizeUnits     []eval.FormDoc     `json:"size_units"`
	// Entry is what expressions over entries may be made of.
	Entry       EntryExpressions `json:"entry_expressions"`
	Diagnostics []Diagnostic     `json:"diagnostics"`
}

// EntryExpressions are the names and forms that an expression over an entry may
// be made of.
type EntryExpressions struct {
	Roots []eval.FormDoc `json:"roots"`
	Forms []eval.FormDoc `json:"forms"`
}

// Diagnostic is one kind of problem.
type Diagnostic struct {
	Code    diag.Code `json:"code"`
	Meaning string    `json:"meaning"`
	Action  string    `json:"action"`
}

// Block is one type of block.
type Block struct {
	Name string `json:"name"`
	// Variant is the label for which this entry holds, where blocks differ by
	// their label.
	Variant string  `json:"variant,omitempty"`
	Labels  []Label `json:"labels,omitempty"`
	Doc     string  `json:"doc"`
	Since   string  `json:"since"`
	Status  Status  `json:"status"`
	// AtLeast and AtMost are how often it stands in its parent; AtMost 0 is
	// without bound. Variants share one count.
	AtLeast int `json:"at_least"`
	AtMost  int `json:"at_most"`
	// AnyArguments: it takes arguments of any name.
	AnyArguments bool `json:"any_arguments,omitempty"`
	// Excludes are pairs of nested blocks of which one may be there.
	Excludes  [][2]string `json:"excludes,omitempty"`
	Example   string      `json:"example,omitempty"`
	Arguments []Argument  `json:"arguments,omitempty"`
	Blocks    []Block     `json:"blocks,omitempty"`
}

// Label is one label of a block.
type Label struct {
	Name    string   `json:"name"`
	Doc     string   `json:"doc"`
	Allowed []string `json:"allowed,omitempty"`
}

// Argument is one argument of a block.
type Argument struct {
	Name     string      `json:"name"`
	Type     schema.Kind `json:"type"`
	Doc      string      `json:"doc"`
	Since    string      `json:"since"`
	Status   Status      `json:"status"`
	Required bool        `json:"required"`
	// Default is written as in a file, without quotes; DefaultDoc describes one
	// that is computed.
	Default    string `json:"default,omitempty"`
	DefaultDoc string `json:"default_doc,omitempty"`
	// Allowed are the only values, but for what AllowedAlso describes; Refused
	// are those of them that this version's engine refuses.
	Allowed     []string `json:"allowed,omitempty"`
	AllowedAlso string   `json:"allowed_also,omitempty"`
	Refused     []string `json:"refused,omitempty"`
	// Min and Max are inclusive, written as in a file.
	Min string `json:"min,omitempty"`
	Max string `json:"max,omitempty"`
	// Reason is why the bound is there, or why there is no default.
	Reason string `json:"reason,omitempty"`
	// Unit is what a number counts.
	Unit string `json:"unit,omitempty"`
	// Target is the type of block that a reference names.
	Target string `json:"target,omitempty"`
	// Secret values are never shown.
	Secret  bool   `json:"secret,omitempty"`
	Example string `json:"example"`
}

// Describe returns the language as a program of the version reads it.
func Describe(version string) Document {
	d := Document{
		Format: Format, Version: version, Language: language(),
		Types: eval.TypeDocs(), Functions: eval.FunctionDocs(),
		DurationUnits: eval.DurationUnits(), SizeUnits: eval.SizeUnits(),
		Entry: EntryExpressions{eval.EntryRoots(), eval.EntryForms()},
	}
	for _, b := range schema.Pipeline.Blocks {
		d.Blocks = append(d.Blocks, block(b))
	}
	for _, b := range schema.Test.Blocks {
		d.Tests = append(d.Tests, block(b))
	}
	d.State = states()
	for _, code := range diag.Codes() {
		doc, _ := diag.Describe(code)
		d.Diagnostics = append(d.Diagnostics, Diagnostic(doc))
	}
	return d
}

// language is the newest edition.
func language() string {
	editions := schema.Pipeline.Block("pipeline", "").Arg("language").Allowed
	return editions[len(editions)-1]
}

func block(b *schema.Block) Block {
	out := Block{
		Name: b.Name, Variant: b.Variant, Doc: b.Doc, Since: b.Since, Status: blockStatus(b), AtLeast: b.Min, AtMost: b.Max,
		AnyArguments: b.Free, Excludes: b.Excludes, Example: b.Example,
	}
	for _, l := range b.Labels {
		out.Labels = append(out.Labels, Label{l.Name, l.Doc, l.Allowed})
	}
	for _, a := range b.Args {
		out.Arguments = append(out.Arguments, argument(a))
	}
	for _, c := range b.Blocks {
		out.Blocks = append(out.Blocks, block(c))
	}
	return out
}

func blockStatus(b *schema.Block) Status {
	switch {
	case b.Later():
		return Later
	case b.Unavailable:
		return Refused
	}
	return Available
}

func argument(a *schema.Arg) Argument {
	out := Argument{
		Name: a.Name, Type: a.Kind, Doc: a.Doc, Since: a.Since, Status: Available, Required: a.Required,
		Default: a.Default, DefaultDoc: a.DefaultDoc, Allowed: a.Allowed, AllowedAlso: a.Also, Refused: a.UnavailableValues,
		Min: a.Min, Max: a.Max, Reason: a.Why, Unit: a.Unit, Target: a.Target, Secret: a.Secret, Example: a.Example,
	}
	if a.Unavailable {
		out.Status = Refused
	}
	return out
}
