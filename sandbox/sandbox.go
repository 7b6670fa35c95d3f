// Package sandbox is what the engine knows of handlers: code from someone whom
// the operator does not fully trust to be careful. Whatever a handler does, it
// costs at most one delivery of one entry: never the process, another entry,
// another handler, a file, a socket or an address.
//
// The engines that run handlers are in the packages below (lua, wasm); both
// implement the interfaces here.
package sandbox

import (
	"context"
	"strconv"
	"time"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
)

// Defaults of Limits.
const (
	DefaultTimeout      = 30 * time.Second
	DefaultMemory       = 64 << 20
	DefaultInstructions = 100_000_000
)

// Limits bound one call. A zero field means its default.
type Limits struct {
	// Timeout is the wall-clock time of a call.
	Timeout time.Duration
	// Memory is in bytes: what a call may allocate through charged operations
	// (Lua), or the size of the linear memory (WASM).
	Memory int64
	// Instructions is in VM instructions (Lua) or fuel (WASM).
	Instructions int64
}

// WithDefaults returns l with each zero field set to its default.
func (l Limits) WithDefaults() Limits {
	if l.Timeout == 0 {
		l.Timeout = DefaultTimeout
	}
	if l.Memory == 0 {
		l.Memory = DefaultMemory
	}
	if l.Instructions == 0 {
		l.Instructions = DefaultInstructions
	}
	return l
}

// Handler is one compiled handler function. It is immutable and safe for
// concurrent use.
type Handler interface {
	// NewInstance makes an instance for one worker. It fails when the script's
	// top level fails or runs into a limit.
	NewInstance(ctx context.Context) (Instance, error)
	// Hash identifies the code (source, modules, function) in logs and pages.
	Hash() string
	// Close frees what compilation holds; instances must be closed before.
	Close() error
}

// Instance runs a handler for one worker. It is not safe for concurrent use.
type Instance interface {
	// Call runs the handler for d and returns what it said. It never panics and
	// never blocks beyond the limits: errors, limits and crashes are Failed
	// outcomes, and the instance stays usable (its engine state is replaced
	// where needed). When ctx is canceled the call ends soon with a
	// FailCanceled outcome. Values of the outcome and of usage are valid until
	// the next Call.
	Call(ctx context.Context, d *Delivery) (outcome.Outcome, Usage)
	// Close frees the instance.
	Close()
}

// Usage is what a call used of its limits, for dry-runs and metrics.
type Usage struct {
	Instructions int64
	// Bytes is what was charged to the memory limit.
	Bytes int64
}

// BodyKind tells the handler's engine what a body is.
type BodyKind uint8

// The kinds of bodies.
const (
	// BodyValue is a decoded value (json and fields codecs).
	BodyValue BodyKind = iota
	// BodyText is a UTF-8 string (text codec), in Raw.
	BodyText
	// BodyBytes is a byte string (bytes codec), in Raw.
	BodyBytes
)

// Delivery is one delivery of one entry as a handler sees it.
type Delivery struct {
	// ID is the entry's id, "1700000000000-0".
	ID string
	// Stream is the stream's key on the server; Group the group's name there.
	Stream, Group string
	// Subscription is the label in the pipeline file.
	Subscription string
	// Key is the lane key: the partition key in force, or "".
	Key string
	// Headers are the entry's headers without the wire prefix, in order.
	Headers []outcome.Header
	// Fields are the entry's raw fields in order; names may repeat.
	Fields []outcome.Header
	// Deliveries is the number of deliveries before this one: 0 for the first.
	Deliveries int64
	// Attempt is 1 for the first attempt; asked retries do not count.
	// MaxAttempts is its bound.
	Attempt, MaxAttempts int
	// Idle is how long the entry had been idle when it was delivered.
	Idle time.Duration
	// Now is the time of the delivery; it stands still during the call.
	Now time.Time

	// Body is the decoded body when Kind is BodyValue.
	Kind BodyKind
	Body *value.Value
	// Raw is the body's bytes as they stand on the wire. For a fields body it
	// is empty.
	Raw string
	// Replies reports whether the subscription has a reply block or routes, so
	// that a returned value means something; the failure names what to add
	// otherwise.
	Replies bool
}

// Level is the level of a log line.
type Level int8

// The levels, with slog's numbers.
const (
	Debug Level = -4
	Info  Level = 0
	Warn  Level = 4
	Error Level = 8
)

// LogLine is one line that a handler wrote.
type LogLine struct {
	Level   Level
	Message string
	// Attrs are rendered values, in the order of their names.
	Attrs []outcome.Header
}

// Host is what a handler's grants reach outside the sandbox. Its methods are
// called during Call, on the calling goroutine, and must not block.
type Host interface {
	// Log receives a line of a handler that has the log grant. d is the
	// delivery being run, nil while a script is loaded.
	Log(d *Delivery, line LogLine)
}

// Grant is one capability that a pipeline file gives to a handler.
type Grant struct {
	// Kind is the block's label: "log".
	Kind string
	// Settings are the block's arguments; each kind documents its own.
	Settings map[string]value.Value
}

// Source is a script or module by name.
type Source struct {
	// Name is the path as the pipeline file gives it; error messages use it.
	Name string
	Code []byte
}

// Spec is all that compiling a handler needs.
type Spec struct {
	// Label is the handler's label in the pipeline file.
	Label    string
	Source   Source
	Function string
	// Modules are loaded before the script, in order.
	Modules []Source
	Limits  Limits
	Grants  []Grant
	// RawInput asks for the raw body only (WASM).
	RawInput bool
	Host     Host
}

// LoadError is a problem found while compiling or loading a script, with its
// place. Line is 0 when the place is not known.
type LoadError struct {
	Source string
	Line   int
	// Column is 0 when not known.
	Column int
	// Problem says what is wrong; Remedy, when not empty, what to do.
	Problem, Remedy string
	// Missing is the function that the script lacks, Functions the ones that it
	// has, and Lines where those begin, when that is the problem.
	Missing   string
	Functions []string
	Lines     map[string]int
	// Grant is the capability that the code needs and was not granted, when
	// that is the problem.
	Grant string
}

// Error is the problem with its place on one line.
func (e *LoadError) Error() string {
	s := e.Source
	if e.Line > 0 {
		s += ":" + strconv.Itoa(e.Line)
	}
	s += ": " + e.Problem
	if e.Remedy != "" {
		s += "; " + e.Remedy
	}
	return s
}

// FindingKind is the kind of a Finding.
type FindingKind string

// The kinds of findings.
const (
	// FindingGrant: the script uses a capability that it was not granted; Name
	// is the capability.
	FindingGrant FindingKind = "grant"
	// FindingName: the script uses what does not exist; Name is what it wrote.
	FindingName FindingKind = "name"
	// FindingResult: an outcome is made and not returned; Name is the function
	// that makes it.
	FindingResult FindingKind = "result"
)

// Finding is something in a script that loads and will go wrong when a run
// comes there.
type Finding struct {
	Kind   FindingKind
	Source string
	Line   int
	// Column counts characters from 1; 0 is not known.
	Column int
	Name   string
	// Problem says what is wrong; Remedy, when not empty, what to do. Both are
	// worded like those of a LoadError.
	Problem, Remedy string
	// Meant is what stands here for what other systems call Name, "" when there
	// is nothing; Known are the names that exist in its place.
	Meant string
	Known []string
	// Certain: every run that does not end before comes there.
	Certain bool
}
