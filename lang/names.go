package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// maxName bounds names on the server, in bytes.
const maxName = 512

// keywords are the options of XREADGROUP. The server reads them in any case,
// and a group or consumer of such a name is read as the option.
var keywords = []string{"GROUP", "COUNT", "BLOCK", "NOACK", "STREAMS", "CLAIM"}

// checkName checks a name on the server.
func (l *loader) checkName(v *value, what string) {
	switch {
	case v.text == "":
		v.ok = false
		l.fail(diag.InvalidName, v.rng, fmt.Sprintf("the name of this %s is empty", what), "Leave the argument out to take the label.")
	case len(v.text) > maxName:
		v.ok = false
		l.fail(diag.InvalidName, v.rng, fmt.Sprintf("the name of this %s is over %d bytes", what, maxName), "")
	case strings.ContainsFunc(v.text, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		v.ok = false
		l.fail(diag.InvalidName, v.rng, fmt.Sprintf("the name of this %s holds a control character", what), "")
	}
}

// checkReserved reports a group or consumer that is named like a keyword.
func (l *loader) checkReserved(name, what string, rng diag.Range) {
	if slices.Contains(keywords, strings.ToUpper(name)) {
		l.fail(diag.ReservedName, rng, fmt.Sprintf("a %s cannot be called %q", what, name),
			fmt.Sprintf("XREADGROUP would read it as its option %s. Choose another name.", strings.ToUpper(name)))
	}
}

// checkCodec reports a type that the codec cannot carry.
func (l *loader) checkCodec(n *node, s *spec.Stream, rng diag.Range) {
	codec := n.val("codec")
	if !codec.ok || s.Entry == nil {
		return
	}
	problem := ""
	switch s.Codec {
	case spec.CodecText, spec.CodecBytes:
		if s.Entry.Kind != spec.TypeString {
			problem = fmt.Sprintf("the codec %q carries no %s", s.Codec, s.Entry.Kind)
		}
	case spec.CodecFields:
		problem = fieldsProblem(s.Entry)
	}
	if problem == "" {
		return
	}
	n.bad = true
	d := l.fail(diag.TypeMismatch, rng, problem, fieldsHelp(s.Codec))
	if codec.set {
		d.Relate(codec.rng, "the codec is chosen here")
	}
}

func fieldsHelp(c spec.Codec) string {
	if c == spec.CodecFields {
		return "Each member is one field of the entry, as text: strings, numbers and bools. Use codec = \"json\" for more."
	}
	return "A body is one string: leave entry out, or use codec = \"json\"."
}

// fieldsProblem is why flat fields cannot carry a type.
func fieldsProblem(t *spec.Type) string {
	if t.Kind == spec.TypeMap && flat(t.Elem) {
		return ""
	}
	if t.Kind != spec.TypeObject {
		return fmt.Sprintf("the codec \"fields\" carries no %s", t.Kind)
	}
	for _, a := range t.Attrs {
		if !flat(a.Type) {
			return fmt.Sprintf("the codec \"fields\" cannot carry %q: it is %s", a.Name, eval.A(string(a.Type.Kind)))
		}
	}
	return ""
}

func flat(t *spec.Type) bool {
	switch t.Kind {
	case spec.TypeList, spec.TypeMap, spec.TypeObject:
		return false
	}
	return true
}

// checkSensitive reports fields to be masked that the type does not declare.
func (l *loader) checkSensitive(n *node, s *spec.Stream) {
	v := n.val("sensitive")
	if !v.ok || s.Entry == nil || s.Entry.Kind != spec.TypeObject {
		return
	}
	var names []string
	for _, a := range s.Entry.Attrs {
		names = append(names, a.Name)
	}
	for _, name := range v.list {
		if !slices.Contains(names, name) {
			l.fail(diag.UnknownField, v.rng, fmt.Sprintf("sensitive names %q, which entry does not declare", name), "Declared are "+list(names)+".").
				Suggest(diag.Nearest(name, names)).Relate(n.val("entry").rng, "the entry is declared here")
		}
	}
}

// header1 compiles one header; done are those before it.
func (l *loader) header1(key, val hclsyntax.Expression, b eval.Bodies, done []spec.RouteHeader) (spec.RouteHeader, bool) {
	rng := eval.Range(l.report, key.Range())
	name, ok := l.scope.Eval(key, eval.Use{})
	if !ok {
		return spec.RouteHeader{}, false
	}
	name, _ = name.UnmarkDeep()
	text := strings.Trim(eval.Show(name), `"`)
	if text == "" || strings.ContainsFunc(text, func(r rune) bool { return r <= 0x20 || r >= 0x7f }) {
		l.fail(diag.InvalidName, rng, fmt.Sprintf("%q cannot be the name of a header", text), "Use visible ASCII characters.")
		return spec.RouteHeader{}, false
	}
	for _, h := range done {
		if h.Name == text {
			l.fail(diag.DuplicateName, rng, fmt.Sprintf("the header %q is set twice", text), "Remove one.")
			return spec.RouteHeader{}, false
		}
	}
	if reservedHeader(text) {
		l.fail(diag.ReservedName, rng, fmt.Sprintf("the header %q is the engine's", text), "Set the partition key with key; retry and dead-letter headers are written by the engine.").
			Suggest(map[bool]string{true: "key"}[diag.Same(text, "redis-partition-key")])
		return spec.RouteHeader{}, false
	}
	e, ok := l.scope.Compile(val, b, eval.WantScalar, "header "+text)
	return spec.RouteHeader{Name: text, Value: e}, ok
}

// reservedHeader reports headers that the engine writes itself.
func reservedHeader(name string) bool {
	lower := strings.ToLower(name)
	return lower == "redis-partition-key" || strings.HasPrefix(lower, "x-retry-") || strings.HasPrefix(lower, "dead-letter-")
}
