// Package schema is the one table of the language: every block and argument,
// with its type, default, unit, allowed values and documentation. Decoding,
// suggestions, reference documents and the JSON Schema are all made from it.
package schema

import "slices"

// Kind is the kind of value an argument takes.
type Kind string

// The kinds.
const (
	// String is a string.
	String Kind = "string"
	// Strings is a list of strings.
	Strings Kind = "list of strings"
	// Bool is true or false.
	Bool Kind = "bool"
	// Integer is a whole number.
	Integer Kind = "whole number"
	// Number is any number.
	Number Kind = "number"
	// Duration is a string with units: "30s", "1h30m", "14d".
	Duration Kind = "duration"
	// Size is a string with a unit: "16MiB".
	Size Kind = "size"
	// Reference names another block: stream.payments.
	Reference Kind = "reference"
	// Expression is computed for each entry: entry.account.
	Expression Kind = "expression over an entry"
	// Headers is an object of expressions over an entry.
	Headers Kind = "headers"
	// Type is a type: object({ id = number }).
	Type Kind = "type"
	// Condition is an expression over the value it validates.
	Condition Kind = "condition"
	// Outcome is what a handler returns: a value, or a call such as ack().
	Outcome Kind = "value or outcome"
	// Any is any value.
	Any Kind = "any"
)

// Arg is one argument of a block.
type Arg struct {
	Name     string
	Kind     Kind
	Required bool
	// Default is written as in a file, without quotes; "" is none.
	Default string
	// DefaultDoc describes a default that is computed.
	DefaultDoc string
	// Allowed are the only values, when there are any.
	Allowed []string
	// Also describes further values that Allowed cannot list.
	Also string
	// Min and Max bound numbers, durations and sizes, inclusive; "" is none.
	Min, Max string
	// Why explains the bound or the requirement in the error.
	Why string
	// Unit is what a number counts: "entries".
	Unit string
	// Target is the type of block that a Reference names.
	Target string
	// Secret values are never shown.
	Secret bool
	// Unavailable: the language reads the argument, and this version's engine
	// refuses a pipeline that sets it. UnavailableValues are single values of
	// Allowed of which that is true.
	Unavailable       bool
	UnavailableValues []string
	// Example is a value as in a file, other than the default.
	Example string
	// Synonyms are names that other tools give to the same thing.
	Synonyms []string
	// Doc is what the reference says: sentences, names in back quotes.
	Doc   string
	Since string
}

// Label is one label of a block.
type Label struct {
	Name string
	// Allowed are the only labels, when there are any.
	Allowed []string
	// Text: it is a text in words, not a name to refer to.
	Text bool
	Doc  string
}

// Block is one type of block.
type Block struct {
	Name string
	// Variant is the first label for which this entry holds; "" is any.
	Variant string
	Labels  []Label
	Args    []*Arg
	Blocks  []*Block
	// Min and Max are how often the block stands in its parent; Max 0 is
	// without bound. Variants of a block share one count.
	Min, Max int
	// Free allows arguments beyond Args.
	Free bool
	// Excludes are pairs of arguments or blocks of which one may be there.
	Excludes [][2]string
	Synonyms []string
	// Why explains why the block is required.
	Why string
	// Unavailable: the language reads the block, and this version's engine
	// refuses a pipeline that has it.
	Unavailable bool
	// Example shows the block as in a file; "" for what no version has yet.
	Example string
	// Doc is what the reference says: sentences, names in back quotes.
	Doc   string
	Since string
}

// Arg returns the argument name, or nil.
func (b *Block) Arg(name string) *Arg {
	for _, a := range b.Args {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// Block returns the nested block name, or nil. When it has variants, label
// chooses; without a match the first variant is returned.
func (b *Block) Block(name, label string) *Block {
	var first *Block
	for _, c := range b.Blocks {
		if c.Name != name {
			continue
		}
		if c.Variant == "" || c.Variant == label {
			return c
		}
		if first == nil {
			first = c
		}
	}
	return first
}

// ArgNames are the names of the arguments, in table order.
func (b *Block) ArgNames() []string {
	names := make([]string, len(b.Args))
	for i, a := range b.Args {
		names[i] = a.Name
	}
	return names
}

// BlockNames are the names of the nested blocks, in table order, each once.
func (b *Block) BlockNames() []string {
	var names []string
	for _, c := range b.Blocks {
		if len(names) == 0 || names[len(names)-1] != c.Name {
			names = append(names, c.Name)
		}
	}
	return names
}

// Walk calls visit for the block and all below it, with the path of names that
// leads there; the root's path is empty.
func (b *Block) Walk(visit func(path []string, b *Block)) { walk(b, nil, visit) }

func walk(b *Block, path []string, visit func([]string, *Block)) {
	visit(path, b)
	for _, c := range b.Blocks {
		walk(c, append(slices.Clip(path), c.Name), visit)
	}
}
