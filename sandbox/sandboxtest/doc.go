// Package sandboxtest holds what every engine that runs handlers has to pass,
// as data: attacks that must cost one delivery and nothing else, honest
// programs that a careless defence would break, and what the language of a
// handler means.
//
// Attacks run in a child process with an address-space limit, so that a crash
// of the process is seen as the failure of one case.
package sandboxtest

import (
	"pipeline/sandbox"
)

// Engine is what is tested.
type Engine struct {
	Name    string
	Compile func(sandbox.Spec) (sandbox.Handler, error)
}

// Attack is a handler that means harm.
type Attack struct {
	Name string
	// Code is the script or module. Its function `handle` attacks.
	Code []byte
	// Body is the entry's body as JSON; {} when empty.
	Body string
	// Ends are the ways in which the attack may end: the name of an outcome,
	// the kind of a failure, or "load" when the code must be refused.
	Ends []string
}

// Program is an honest handler.
type Program struct {
	Name, Code string
	Body       string
	// Want is the JSON of the reply, or the name of another outcome.
	Want string
}

// Case is an expression of the handler's language and its value as JSON; Fails
// is a part of the message when it has to fail.
type Case struct {
	Expr, Want, Fails string
}
