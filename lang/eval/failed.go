package eval

import (
	"errors"
	"fmt"
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
	var missing *envError
	if call, ok := h.Extra.(hclsyntax.FunctionCallDiagExtra); ok && errors.As(call.FunctionCallError(), &missing) {
		s.failAt(diag.EnvironmentMissing, *h.Subject, missing.Error(),
			fmt.Sprintf("Set it, or give a default: env(%q, \"…\").", missing.name))
		return
	}
	code, summary, detail := diag.ExpressionFailed, sentence(h.Summary), h.Detail
	if call, ok := h.Extra.(hclsyntax.FunctionCallDiagExtra); ok && call.CalledFunctionName() != "" {
		code, summary = diag.FunctionFailed, call.CalledFunctionName()+"() cannot be called like this"
		if err := call.FunctionCallError(); err != nil {
			detail = upperFirst(err.Error()) + "."
		}
	}
	if sensitive {
		detail = "What it works on is sensitive, so the values are not shown."
	}
	d := s.failAt(code, *h.Subject, summary, detail)
	d.Values = values
}

// shown are the values that an expression names.
func shown(e hclsyntax.Expression, ctx *hcl.EvalContext) (values []diag.Value, sensitive bool) {
	seen := map[string]bool{}
	for _, tr := range e.Variables() {
		v, diags := tr.TraverseAbs(ctx)
		name := traversalText(tr)
		if diags.HasErrors() || seen[name] {
			continue
		}
		seen[name] = true
		sensitive = sensitive || IsSensitive(v)
		values = append(values, diag.Value{Name: name, Value: Show(v)})
	}
	return values, sensitive
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
