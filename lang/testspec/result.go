package testspec

import "pipeline/lang/diag"

// Result is what became of an assert. Texts are ready to be shown; values are
// written as in a file, and cut when they are long.
type Result struct {
	Passed bool `json:"passed"`
	// Condition and Message are those of the assert, Range where the condition
	// stands.
	Condition string     `json:"condition"`
	Message   string     `json:"message,omitempty"`
	Range     diag.Range `json:"range"`
	// Problem says in words why the condition has no result; "" when it has one.
	Problem string `json:"problem,omitempty"`
	// Reasons are the parts of a condition that decided, left to right: of a && b
	// the one that is false, of a || b both.
	Reasons []Reason `json:"reasons,omitempty"`
	// Values are what the names in the condition stood for, where no reason says
	// more.
	Values []diag.Value `json:"values,omitempty"`
}

// Reason is a part of a condition that decided.
type Reason struct {
	// Text is the part as the file writes it, Value what it gave.
	Text  string `json:"text"`
	Value string `json:"value"`
	// Operator is that of a comparison, whose sides are Left and Right.
	Operator string `json:"operator,omitempty"`
	Left     *Side  `json:"left,omitempty"`
	Right    *Side  `json:"right,omitempty"`
	// Difference is where the sides of == differ first.
	Difference *Difference `json:"difference,omitempty"`
	// Values are what was given to a function, or what names stood for.
	Values []diag.Value `json:"values,omitempty"`
	// Note says what is easily missed: a number beside a string.
	Note string `json:"note,omitempty"`
}

// Side is one side of a comparison.
type Side struct {
	Text  string `json:"text"`
	Value string `json:"value"`
	// Constant: the text is the value.
	Constant bool `json:"constant,omitempty"`
}

// Difference is the first place where two values differ.
type Difference struct {
	// Path leads there: "[1].deliveries"; "" is the whole.
	Path string `json:"path"`
	// Got is on the left, Want on the right; "nothing" where one side ends.
	Got  string `json:"got"`
	Want string `json:"want"`
}
