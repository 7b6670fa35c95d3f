package wasm

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"pipeline/engine/outcome"
	"pipeline/sandbox"
	"pipeline/sandbox/wasm/internal/fuel"
)

// maxMessage bounds a failure's message: it is kept beside the entry.
const maxMessage = 2 << 10

const (
	textCanceled = "the delivery was called off"
	textBroken   = "the module broke its engine; its instance was thrown away"
)

// resultError is a result, or a buffer, that breaks the interface.
type resultError struct{ text string }

// Error implements error.
func (e *resultError) Error() string { return e.text }

// startError is a LoadError of an _initialize that did not return.
type startError struct {
	*sandbox.LoadError
	kind outcome.FailureKind
}

// Unwrap returns the LoadError.
func (e *startError) Unwrap() error { return e.LoadError }

// failed is a failed outcome. The message names the function and the entry.
func (in *instance) failed(kind outcome.FailureKind, text string) outcome.Outcome {
	if len(text) > maxMessage {
		text = text[:maxMessage] + "…"
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	return outcome.Fail(kind, fmt.Sprintf("%s: %s (function %s, entry %s)", in.h.spec.Source.Name, text, in.h.spec.Function, in.d.ID))
}

// failure is the outcome of a call that did not return.
func (in *instance) failure(err error) outcome.Outcome {
	return in.failed(in.reason(err))
}

// reason says why a call of the module did not return.
func (in *instance) reason(err error) (outcome.FailureKind, string) {
	m := &in.meter
	if broken, ok := errors.AsType[*resultError](err); ok {
		return outcome.FailResult, broken.text
	}
	if in.starved && (m.kind == "" || m.kind == outcome.FailError || m.kind == outcome.FailCrash) {
		return outcome.FailMemory, fmt.Sprintf("stopped after asking for more than %d KiB of memory; do less in one call, or raise limits.memory of handler %q",
			in.h.pages()*64, in.h.spec.Label) + in.words()
	}
	switch m.kind {
	case "":
		return outcome.FailCrash, in.trap(err) + in.words()
	case outcome.FailTimeout:
		return m.kind, fmt.Sprintf("stopped after its time limit of %s; do less in one call, or raise limits.timeout of handler %q", m.timeout, in.h.spec.Label)
	case outcome.FailInstructions:
		return m.kind, fmt.Sprintf("stopped after %d instructions; do less in one call, or raise limits.instructions of handler %q", m.maxFuel, in.h.spec.Label)
	case outcome.FailCanceled:
		return m.kind, textCanceled
	}
	return m.kind, m.message + in.words()
}

// words is what the module said on standard error before it ended.
func (in *instance) words() string {
	first, _, _ := strings.Cut(strings.TrimSpace(string(in.said)), "\n")
	if first = shown(first); first == "" {
		return ""
	}
	return "; it said: " + first
}

// traps are the engine's words for traps, and ours.
var traps = []struct{ engine, ours string }{
	{"unreachable", "gave up (it executed `unreachable`, which is how a failed assertion or a panic ends)"},
	{"out of bounds memory access", "used memory that it does not have"},
	{"invalid table access", "called a function through a pointer that is not one"},
	{"indirect call type mismatch", "called a function through a pointer to a function of another type"},
	{"integer divide by zero", "divided by zero"},
	{"integer overflow", "divided the smallest integer by -1, or turned a number into an integer that is too small for it"},
	{"invalid conversion to integer", "turned a number that is not finite into an integer"},
	{"stack overflow", "called functions too deep"},
}

// trapText is our word for what the engine says.
func trapText(err error) string {
	text := err.Error()
	for _, t := range traps {
		if strings.HasPrefix(text, "wasm error: "+t.engine) {
			return t.ours
		}
	}
	return "broke its engine"
}

// instantiateText is our word for why the engine cannot set a module up, which
// copies its data and fills its tables.
func instantiateText(err error) string {
	text := err.Error()
	if strings.Contains(text, "out of bounds") || strings.Contains(text, "invalid table access") {
		return "its data or the elements of its table lie outside of its memory or table"
	}
	return trapText(err)
}

// frames find the functions in the engine's trace.
var frames = regexp.MustCompile(`\n\t\.\$(\d+)\(`)

// maxFrames is how many functions a message names.
const maxFrames = 4

// trap words a trap with the functions that led to it, innermost first.
func (in *instance) trap(err error) string {
	var names []string
	for _, match := range frames.FindAllStringSubmatch(err.Error(), maxFrames) {
		n, err := strconv.ParseUint(match[1], 10, 32)
		if err != nil {
			continue
		}
		if f, ok := fuel.Original(in.h.module, uint32(n)); ok && f < uint32(len(in.h.module.Imports)+len(in.h.module.Functions)) {
			names = append(names, in.h.module.FunctionName(f))
		}
	}
	text := trapText(err)
	if len(names) > 0 {
		text += " in " + strings.Join(names, ", called by ")
	}
	return text
}

// loadProblem is an error of a module that cannot be instantiated.
func (in *instance) loadProblem(problem, remedy string) error {
	return &sandbox.LoadError{Source: in.h.spec.Source.Name, Problem: problem, Remedy: remedy}
}

// loadFailure is the outcome of a call whose module could not be instantiated
// again.
func (in *instance) loadFailure(err error, d *sandbox.Delivery) outcome.Outcome {
	kind := outcome.FailError
	if stopped, ok := errors.AsType[*startError](err); ok {
		kind = stopped.kind
	}
	return outcome.Fail(kind, "loading the module again: "+err.Error()+" (entry "+d.ID+")")
}

// maxShown is how much of a text that is not ours messages show.
const maxShown = 300

// shown makes a piece of someone's text fit for a message.
func shown(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return s
}
