package eval

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/lang/diag"
)

// habit reports a name that other languages use for what is written otherwise
// here; false when it is none.
func (s *Scope) habit(e hclsyntax.Expression, tr hcl.Traversal, use Use) bool {
	root := tr.RootName()
	switch {
	case root == "time" && s.goDuration(e):
	case envRoots[root]:
		return s.envPath(tr, use)
	case root == "path" && len(tr) == 2:
		s.modulePath(tr)
	case len(tr) == 1 && environmentName.MatchString(root) && use.Env:
		s.envName(e, tr)
	case len(tr) == 1 && root == "hostname" && use.Hostname:
		s.failAt(diag.UnknownReference, tr.SourceRange(), "hostname is a function", "Write it with parentheses.").
			Suggest("hostname()").Edit(s.at(tr.SourceRange()), "hostname()")
	case selfNames[root]:
		return s.self(tr, use)
	default:
		return false
	}
	return true
}

// goDurations finds a duration as Go computes it.
var goDurations = regexp.MustCompile(`^(\d{1,9})\s*\*\s*time\.(Millisecond|Second|Minute|Hour)$`)

func (s *Scope) goDuration(e hclsyntax.Expression) bool {
	m := goDurations.FindStringSubmatch(s.text(e))
	if m == nil {
		return false
	}
	unit := map[string]string{"Millisecond": "ms", "Second": "s", "Minute": "m", "Hour": "h"}[m[2]]
	text := `"` + m[1] + unit + `"`
	s.fail(diag.UnquotedValue, e, "a duration is not computed", "Durations are strings with a unit.").Suggest(text).Edit(s.at(e.Range()), text)
	return true
}

// envRoots begin the name of an environment variable in other languages.
var envRoots = map[string]bool{"env": true, "process": true, "os": true, "ENV": true, "environ": true, "environment": true}

// environmentName is how names of the environment look.
var environmentName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$`)

// envPath reports process.env.NAME, os.environ["NAME"], env.NAME.
func (s *Scope) envPath(tr hcl.Traversal, use Use) bool {
	name, ok := stepName(tr[len(tr)-1])
	if !ok || len(tr) < 2 || len(tr) > 3 {
		return false
	}
	call := fmt.Sprintf("env(%q)", name)
	d := s.failAt(diag.UnknownReference, tr[0].SourceRange(), fmt.Sprintf("there is nothing called %q", tr.RootName()),
		"The environment is read by env(), in the default of a variable and only there.")
	d.Suggest(call)
	if use.Env {
		d.Edit(s.at(tr.SourceRange()), call)
	}
	return true
}

// envName reports a name of the environment where a value belongs.
func (s *Scope) envName(e hclsyntax.Expression, tr hcl.Traversal) {
	name := tr.RootName()
	if call, ok := e.(*hclsyntax.FunctionCallExpr); ok && call.Name == "env" {
		quoted := `"` + name + `"`
		s.failAt(diag.UnquotedValue, tr.SourceRange(), fmt.Sprintf("the name %s stands without quotes", name), "env() takes the name as a string.").
			Suggest(quoted).Edit(s.at(tr.SourceRange()), quoted)
		return
	}
	call := fmt.Sprintf("env(%q)", name)
	d := s.failAt(diag.UnknownReference, tr.SourceRange(), fmt.Sprintf("there is nothing called %q", name), "The environment is read by env().")
	d.Suggest(call)
	if e.Range() == tr.SourceRange() {
		d.Edit(s.at(tr.SourceRange()), call)
	}
}

// modulePath reports path.module of Terraform, which paths do not need.
func (s *Scope) modulePath(tr hcl.Traversal) {
	d := s.failAt(diag.UnknownReference, tr[0].SourceRange(), `there is nothing called "path"`, "Paths are relative to the file that names them: leave it out.")
	rng := s.at(tr.SourceRange())
	src := s.Report.Source(rng.File)
	if src == nil {
		return
	}
	start, end := rng.Start.Byte-2, rng.End.Byte+2
	if start >= 0 && end <= len(src.Text) && string(src.Text[start:start+2]) == "${" && string(src.Text[end-2:end]) == "}/" {
		d.Edit(src.Range(start, end), "")
	}
}

// selfNames stand for the value at hand in other languages.
var selfNames = map[string]bool{"self": true, "value": true, "this": true, "it": true}

// self reports a word for the value that a rule is about.
func (s *Scope) self(tr hcl.Traversal, use Use) bool {
	only := onlyMember(use.Extra["var"])
	if only == "" {
		return false
	}
	s.failAt(diag.UnknownReference, tr[0].SourceRange(), fmt.Sprintf("there is nothing called %q", tr.RootName()), "A rule names the variable that it is about.").
		Suggest("var."+only).Edit(s.at(tr[0].SourceRange()), "var."+only)
	return true
}

// onlyMember is the name of the one member of an object, or "".
func onlyMember(v cty.Value) string {
	if v == cty.NilVal || !v.Type().IsObjectType() || len(v.Type().AttributeTypes()) != 1 {
		return ""
	}
	for name := range v.Type().AttributeTypes() {
		return name
	}
	return ""
}

// variableFor is the variable whose name ends that of an environment variable:
// url for REDIS_URL.
func (s *Scope) variableFor(call *hclsyntax.FunctionCallExpr) string {
	if len(call.Args) == 0 {
		return ""
	}
	name, _ := literalText(call.Args[0])
	parts := strings.Split(strings.ToLower(name), "_")
	for i := range parts {
		if v := strings.Join(parts[i:], "_"); s.vars[v] != nil {
			return v
		}
	}
	return ""
}

// template writes the operands of + as one string: a + "b" is "${a}b". ok is
// false when one of them is neither a path nor a text.
func (s *Scope) template(e hclsyntax.Expression) (text string, ok bool) {
	switch x := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return s.template(x.Expression)
	case *hclsyntax.BinaryOpExpr:
		left, leftOK := s.template(x.LHS)
		right, rightOK := s.template(x.RHS)
		return left + right, x.Op == hclsyntax.OpAdd && leftOK && rightOK
	case *hclsyntax.ScopeTraversalExpr:
		return "${" + s.text(x) + "}", true
	}
	quoted, isText := literalText(e)
	source := s.text(e)
	if !isText || len(source) < 2 || quoted == "" {
		return "", false
	}
	return source[1 : len(source)-1], true
}

// joined proposes the template for a sum of strings.
func (s *Scope) joined(d *diag.Diagnostic, e hclsyntax.Expression) {
	if text, ok := s.template(e); ok {
		d.Detail = "+ adds numbers; strings are joined in a template."
		d.Suggest(`"`+text+`"`).Edit(s.at(e.Range()), `"`+text+`"`)
	}
}

// paths writes the elements of a list of paths as one template, or "".
func (s *Scope) paths(list *hclsyntax.TupleConsExpr) string {
	var parts []string
	for _, e := range list.Exprs {
		tr, ok := e.(*hclsyntax.ScopeTraversalExpr)
		if !ok {
			return ""
		}
		parts = append(parts, "${"+s.text(tr)+"}")
	}
	if len(parts) < 2 {
		return ""
	}
	return `"` + strings.Join(parts, ":") + `"`
}

// pathCalls are roots of paths, which are no functions.
var pathCalls = []string{"headers", "header", "entry", "reply"}

// calledPath reports headers("name").
func (s *Scope) calledPath(x *hclsyntax.FunctionCallExpr) bool {
	if !slices.Contains(pathCalls, x.Name) || len(x.Args) != 1 {
		return false
	}
	name, isText := literalText(x.Args[0])
	if !isText {
		return false
	}
	path := fmt.Sprintf("%s.%s", x.Name, name)
	if strings.HasPrefix(x.Name, "header") {
		path = fmt.Sprintf("headers[%q]", name)
	}
	s.failAt(diag.ExpressionNotAllowed, x.Range(), x.Name+" is not called", "A member is read with a dot or in brackets.").
		Suggest(path).Edit(s.at(x.Range()), path)
	return true
}
