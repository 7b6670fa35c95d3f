// Package sandboxtest holds what every engine that runs handlers has to pass,
// as data: attacks that must cost one delivery and nothing else, honest
// programs that a careless defence would break, the contract between handler
// and engine, and what the language of a handler means.
//
// Attacks run in a child process with an address-space limit and a fence
// around its system calls, so that a crash of the process, an opened file and
// an opened socket are all seen as the death of the child in one attack.
//
// Under the race detector there is neither, since its runtime maps memory of
// its own as it goes and opens files, and memory is not measured, since it is
// not the handlers'; a part of the attacks runs there to find races. So
// TestHostile has to run without it, too: `make hostile`.
package sandboxtest

import (
	"time"

	"pipeline/sandbox"
)

// Engine is what is tested.
type Engine struct {
	Name string
	// File is the name that sources are given, "h.lua"; messages show it.
	File    string
	Compile func(sandbox.Spec) (sandbox.Handler, error)
}

// Attack is a handler that means harm.
type Attack struct {
	Name string
	// Code is the script or module. Its function `handle` attacks.
	Code []byte
	// Modules are loaded before Code, and Grants are given to it.
	Modules []sandbox.Source
	Grants  []sandbox.Grant
	// Body is the entry's body as JSON, or as it is when Kind is not
	// sandbox.BodyValue; {} when empty.
	Body string
	Kind sandbox.BodyKind
	// Raw asks for sandbox.Spec.RawInput.
	Raw bool
	// Ends are the ways in which the attack may end: the name of an outcome,
	// the kind of a failure, or "load" when the code must be refused.
	Ends []string
	// Loads marks an attack on whoever reads the code: its time is bounded by
	// loadTimeout instead of the limits of a call.
	Loads bool
	// Probed marks a handler that answers ProbeBody with a reply of all that
	// it sees around it. What it sees must not change through the attack.
	Probed bool
}

// ProbeBody is the entry that asks a probed handler what it sees.
const ProbeBody = `{"probe":true,"id":18446744073709551615,"list":[],"text":"é"}`

// Suite is all that the child processes of a test need. Main serves them.
type Suite struct {
	Engine  Engine
	Attacks []Attack
	// Healthy is the handler that runs beside the attacks. It replies to
	// HealthyBody with an object whose `id` has the same digits.
	Healthy []byte
	// Limits of an attack; DefaultLimits when they are zero.
	Limits sandbox.Limits
	// Unfenced is for an engine that opens files itself while it compiles.
	Unfenced bool
}

// HealthyBody is the entry of the healthy handler.
const HealthyBody = `{"id":18446744073709551615,"amount_cents":1200001}`

// DefaultLimits bound an attack. A healthy machine is done with each in a few
// milliseconds or at these.
var DefaultLimits = sandbox.Limits{Timeout: 250 * time.Millisecond, Memory: 32 << 20, Instructions: 20_000_000}

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
