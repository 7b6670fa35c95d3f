package eval

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/lang/diag"
)

// evalFailed reports the first error of an evaluation in our words, with the
// values that took part. What hcl says can contain values: it is kept back
// when one of them is sensitive.
func (s *Scope) evalFailed(e hclsyntax.Expression, diags hcl.Diagnostics, ctx *hcl.EvalContext) {
	first := diags.Errs()[0]
	h := new(hcl.Diagnostic)
	if !errors.As(first, &h) || h.Subject == nil {
		s.fail(diag.ExpressionFailed, e, "this cannot be evaluated", first.Error())
		return
	}
	values, sensitive := shown(e, ctx)
	at := s.calledName(h)
	var missing *envError
	if call, ok := h.Extra.(hclsyntax.FunctionCallDiagExtra); ok && errors.As(call.FunctionCallError(), &missing) {
		s.failAt(diag.EnvironmentMissing, at, missing.Error(),
			"Set it, or give a default.").Suggest(fmt.Sprintf("env(%q, \"…\")", missing.name))
		return
	}
	code, summary, detail := diag.ExpressionFailed, sentence(h.Summary), h.Detail
	if ours, ok := words[h.Summary]; ok {
		summary = ours.summary
		detail = cmp.Or(ours.detail, detail)
	}
	if call, ok := h.Extra.(hclsyntax.FunctionCallDiagExtra); ok && call.CalledFunctionName() != "" {
		code, summary = diag.FunctionFailed, call.CalledFunctionName()+"() cannot be called like this"
		if err := call.FunctionCallError(); err != nil {
			detail = upperFirst(err.Error()) + "."
		}
		detail = argumentCount(detail)
	}
	if sensitive {
		detail = "What it works on is sensitive, so the values are not shown."
	}
	d := s.failAt(code, at, summary, detail)
	d.Values = values
	if h.Summary == "Invalid operand" && !sensitive {
		s.joined(d, e)
	}
}

// calledName is where a failure lies: of a call the name without its bracket,
// or all of it when arguments are missing.
func (s *Scope) calledName(h *hcl.Diagnostic) hcl.Range {
	rng := *h.Subject
	src := s.Report.Source(rng.Filename)
	switch {
	case h.Summary == "Not enough function arguments" && h.Context != nil:
		return *h.Context
	case src != nil && rng.End.Byte > rng.Start.Byte+1 && rng.End.Byte <= len(src.Text) && src.Text[rng.End.Byte-1] == '(':
		rng.End.Byte--
		rng.End.Column--
	}
	return rng
}

var (
	tooFew  = regexp.MustCompile(`^Function ".*" expects .*Missing value for "(.*)"\.$`)
	tooMany = regexp.MustCompile(`^Function ".*" expects only (\d+) argument`)
)

// argumentCount says in our words that a call has too few or too many
// arguments.
func argumentCount(detail string) string {
	if m := tooFew.FindStringSubmatch(detail); m != nil {
		return fmt.Sprintf("Its argument %s is missing.", m[1])
	}
	if m := tooMany.FindStringSubmatch(detail); m != nil {
		return fmt.Sprintf("It takes no more than %s.", m[1])
	}
	return detail
}

// words are hcl's summaries of failed evaluations in our words; where a detail
// is empty, hcl's fits.
var words = map[string]struct{ summary, detail string }{
	"Invalid index":                            {"there is no such element", "Elements of a list are counted from 0, those of a map are found by their keys. try(…) and lookup(…) take another value where there is none."},
	"Unsupported attribute":                    {"there is no such member", ""},
	"Invalid operand":                          {"this operand is of the wrong type", ""},
	"Invalid template interpolation value":     {"this value cannot stand in a string", ""},
	"Attempt to get attribute from null value": {"a null value has no members", "Test for null first, or take another value with try(…)."},
	"Attempt to index null value":              {"a null value has no elements", "Test for null first, or take another value with try(…)."},
	"Inconsistent conditional result types":    {"the two results of a condition differ in type", ""},
	"Incorrect condition type":                 {"this condition is neither true nor false", "Compare the value with something."},
}

// shown are the values that an expression names. Of a path that leads nowhere
// it is the last part that has a value.
func shown(e hclsyntax.Expression, ctx *hcl.EvalContext) (values []diag.Value, sensitive bool) {
	seen := map[string]bool{}
	for _, tr := range e.Variables() {
		v, reached := reach(tr, ctx)
		name := traversalText(reached)
		if len(reached) == 0 || seen[name] {
			continue
		}
		seen[name] = true
		sensitive = sensitive || IsSensitive(v)
		values = append(values, diag.Value{Name: name, Value: Show(v)})
	}
	return values, sensitive
}

// reach is the value of a path, or of as much of it as there is. A first step
// alone, such as "var", is no value of its own.
func reach(tr hcl.Traversal, ctx *hcl.EvalContext) (cty.Value, hcl.Traversal) {
	for n := len(tr); n >= min(len(tr), 2); n-- {
		if v, diags := tr[:n].TraverseAbs(ctx); !diags.HasErrors() {
			return v, tr[:n]
		}
	}
	return cty.NilVal, nil
}

// traversalText writes a traversal as in a file.
func traversalText(tr hcl.Traversal) string {
	var b strings.Builder
	for _, step := range tr {
		switch t := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(t.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + t.Name)
		case hcl.TraverseIndex:
			b.WriteString("[" + Show(t.Key) + "]")
		}
	}
	return b.String()
}

// sentence is a summary in our style: lower case, no final stop.
func sentence(text string) string {
	text = strings.TrimSuffix(text, ".")
	for i, r := range text {
		return string(unicode.ToLower(r)) + text[i+len(string(r)):]
	}
	return text
}

// upperFirst is a text as the beginning of a sentence.
func upperFirst(s string) string {
	for i, r := range s {
		return string(unicode.ToUpper(r)) + s[i+len(string(r)):]
	}
	return s
}

// literalText is the text of a quoted string without any interpolation.
func literalText(e hclsyntax.Expression) (string, bool) {
	t, ok := e.(*hclsyntax.TemplateExpr)
	if !ok || !t.IsStringLiteral() && len(t.Parts) > 0 {
		return "", false
	}
	v, diags := t.Value(nil)
	if diags.HasErrors() || v.Type() != cty.String || v.IsNull() {
		return "", false
	}
	return v.AsString(), true
}

// LiteralText is the text of a quoted string without any interpolation.
func LiteralText(e hclsyntax.Expression) (string, bool) { return literalText(e) }
