package lua

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	glua "github.com/yuin/gopher-lua"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// maxMessage bounds a failure's message: it is kept beside the entry.
const maxMessage = 2 << 10

// fail is a failed outcome. The message names the function and the entry.
func (v *vm) fail(kind outcome.FailureKind, text string) outcome.Outcome {
	if len(text) > maxMessage {
		text = text[:maxMessage] + "…"
	}
	text = strings.ToValidUTF8(text, "�")
	return outcome.Fail(kind, fmt.Sprintf("%s (function %s, entry %s)", text, v.h.spec.Function, v.d.ID))
}

// failed is the outcome of a call that ended with err.
func (v *vm) failed(err error) outcome.Outcome {
	place, text := v.describe(err)
	if v.m.err != nil {
		return v.fail(v.m.kind, place+v.limitText())
	}
	if panicked(err) {
		return v.crashed(err)
	}
	if place == "" {
		place = v.h.script().name + ": "
	}
	return v.fail(outcome.FailError, place+text)
}

// panicked reports whether an error is a panic of the engine that its own
// protection has caught. Its text is Go's.
func panicked(err error) bool {
	e, ok := errors.AsType[*glua.ApiError](err)
	return ok && e.Type == glua.ApiErrorPanic
}

// crashed is the outcome of a call in which the engine panicked: nothing of the
// state is sure any more.
func (v *vm) crashed(r any) outcome.Outcome {
	v.broken = true
	if v.m.err != nil && v.m.kind != outcome.FailCrash {
		return v.fail(v.m.kind, v.h.script().name+": "+v.limitText())
	}
	if e, ok := r.(*glua.ApiError); ok && e.Type != glua.ApiErrorPanic {
		_, text := v.describe(e)
		return v.fail(outcome.FailError, v.h.script().name+": "+text)
	}
	return v.fail(outcome.FailCrash, v.h.script().name+": "+errCrash.Error()+
		", for example by passing on too many values at once; its state was thrown away")
}

// limitText says which limit was reached and where it is set.
func (v *vm) limitText() string {
	l := v.h.limits
	err := v.m.err
	switch {
	case errors.Is(err, errTimeout):
		return fmt.Sprintf("stopped after its time limit of %s; do less in one call, or raise limits.timeout of handler %q", l.Timeout, v.h.spec.Label)
	case errors.Is(err, errInstructions):
		return fmt.Sprintf("stopped after %d instructions; do less in one call, or raise limits.instructions of handler %q", v.m.maxUsed, v.h.spec.Label)
	case errors.Is(err, errMemory):
		return fmt.Sprintf("stopped after using %d bytes; do less in one call, or raise limits.memory of handler %q", l.Memory, v.h.spec.Label)
	case errors.Is(err, errCrash):
		return errCrash.Error() + "; its state was thrown away"
	}
	return err.Error()
}

// describe takes an error apart into the script's place, "file:12: " or "",
// and a text in words that a script's author understands.
func (v *vm) describe(err error) (place, text string) {
	e, ok := errors.AsType[*glua.ApiError](err)
	if !ok {
		return "", err.Error()
	}
	switch object := e.Object.(type) {
	case glua.LString:
		place, text = v.splitPlace(string(object))
		return place, v.plainWords(place, text)
	case glua.LNumber:
		return "", numberText(float64(object))
	case *glua.LTable:
		return "", "error with a table: " + v.describeTable(object)
	}
	return "", "error with a " + v.typeName(e.Object) + " for a message"
}

// describeTable shows an error that a script raised as a table.
func (v *vm) describeTable(t *glua.LTable) string {
	if text, ok := v.view(t).RawGetString("message").(glua.LString); ok {
		return string(text)
	}
	body, err := v.fromLua(t)
	if err != nil {
		return err.Error()
	}
	out, encodeErr := value.AppendJSON(nil, &body)
	if encodeErr != nil {
		return encodeErr.Error()
	}
	return string(out)
}

// splitPlace splits "source:12: text" after the place, if the source is one of
// the handler's.
func (v *vm) splitPlace(s string) (place, text string) {
	for _, p := range v.h.programs {
		rest, ok := strings.CutPrefix(s, p.name+":")
		if !ok {
			continue
		}
		if line, text, ok := strings.Cut(rest, ": "); ok {
			if _, err := strconv.Atoi(line); err == nil {
				return p.name + ":" + line + ": ", text
			}
		}
	}
	return "", s
}

// callsNothing is how calledNothing words the call of a name.
var callsNothing = regexp.MustCompile(`^attempt to call '(.*)', which is no function here$`)

// loadError is a failure of a top level as a problem of the user's file.
func (v *vm) loadError(p *program, err error) error {
	place, text := v.describe(err)
	out := &sandbox.LoadError{Source: p.name, Problem: text}
	if name := callsNothing.FindStringSubmatch(text); name != nil {
		out.Remedy = absent[name[1]].remedy
	}
	if panicked(err) && v.m.err == nil {
		v.m.stop(outcome.FailCrash, errCrash)
	}
	if v.m.err != nil {
		out.Problem = "the top level of the script was " + v.limitText()
	}
	if place != "" {
		out.Source, out.Line = placeParts(place)
	}
	if v.m.err != nil {
		return &stoppedError{out, v.m.kind}
	}
	return out
}
