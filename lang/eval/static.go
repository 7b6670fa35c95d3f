package eval

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/lang/diag"
)

// maxFor is how deep for expressions may be nested: each level multiplies the
// work of evaluation.
const maxFor = 2

// maxTry is how deep try and can may be nested: each level evaluates what is
// inside twice.
const maxTry = 4

// check reports every name in an expression that does not exist, before it is
// evaluated.
func (s *Scope) check(e hclsyntax.Expression, use Use) bool {
	ok := true
	for _, tr := range e.Variables() {
		ok = s.checkName(e, tr, use) && ok
	}
	w := &callChecker{scope: s, use: use, ok: true}
	_ = hclsyntax.Walk(e, w) // what it finds is reported on the way
	return ok && w.ok
}

// checkName reports a traversal whose root or first step does not exist.
func (s *Scope) checkName(e hclsyntax.Expression, tr hcl.Traversal, use Use) bool {
	root := tr.RootName()
	if extra, ok := use.Extra[root]; ok {
		return s.checkExtra(tr, root, extra)
	}
	if root != "var" && root != "local" {
		s.unknownRoot(e, tr, use)
		return false
	}
	table, code, what := s.vars, diag.UnknownVariable, "variable"
	if root == "local" {
		table, code, what = s.locals, diag.UnknownLocal, "local"
	}
	if len(tr) < 2 {
		s.failAt(code, tr.SourceRange(), fmt.Sprintf("%s alone is not a value", root), fmt.Sprintf("Write %s.name.", root))
		return false
	}
	name, isName := stepName(tr[1])
	if isName && table[name] != nil {
		table[name].used = true
		return true
	}
	d := s.failAt(code, tr.SourceRange(), fmt.Sprintf("there is no %s %q", what, name), "")
	s.meantSymbol(d, tr, name, root)
	return false
}

// checkExtra reports a member that an extra root does not have.
func (s *Scope) checkExtra(tr hcl.Traversal, root string, extra cty.Value) bool {
	if len(tr) < 2 || extra == cty.NilVal || !extra.Type().IsObjectType() {
		return true
	}
	name, isName := stepName(tr[1])
	if !isName || extra.Type().HasAttribute(name) {
		return true
	}
	d := s.failAt(diag.UnknownReference, tr.SourceRange(), fmt.Sprintf("%s has no %q here", root, name), "")
	d.Suggest(diag.Nearest(name, slices.Sorted(maps.Keys(extra.Type().AttributeTypes()))))
	if only := onlyMember(extra); only != "" && root == "var" {
		d.Detail = "A rule is about its own variable only."
		d.Suggest("var." + only)
	}
	return false
}

// meantSymbol suggests the variable or local that was meant, of the other kind
// too.
func (s *Scope) meantSymbol(d *diag.Diagnostic, tr hcl.Traversal, name, root string) {
	own, other, otherRoot := s.vars, s.locals, "local"
	if root == "local" {
		own, other, otherRoot = s.locals, s.vars, "var"
	}
	place := s.at(tr[1].SourceRange())
	if other[name] != nil {
		d.Suggest(otherRoot+"."+name).Edit(s.at(hcl.RangeBetween(tr[0].SourceRange(), tr[1].SourceRange())), otherRoot+"."+name)
		return
	}
	if near := s.nearest(name, own); near != "" {
		d.Suggest(near).Edit(place, "."+near)
		return
	}
	if near := s.nearest(name, other); near != "" {
		d.Suggest(otherRoot + "." + near)
		return
	}
	declare := fmt.Sprintf("Declare it: locals { %s = … }", name)
	if root == "var" {
		declare = fmt.Sprintf("Declare it: variable %q { … }", name)
	}
	if only := s.onlyUnused(root, own); only != "" && isName(tr[1]) {
		d.Detail = fmt.Sprintf("%s; or it has another name by now: nothing uses %s.%s.", declare, root, only)
		d.Suggest(only).Edit(place, "."+only)
		return
	}
	d.Detail = declare + "."
}

func isName(step hcl.Traverser) bool {
	_, ok := stepName(step)
	return ok
}

// onlyUnused is the only variable or local that no expression in the files
// names, or "": it was probably renamed where it is declared.
func (s *Scope) onlyUnused(root string, table map[string]*symbol) string {
	if len(table) > 1000 || s.Report.Full() {
		return ""
	}
	found := ""
	for name := range table {
		if s.Report.Mentions(root + "." + name) {
			continue
		}
		if found != "" {
			return ""
		}
		found = name
	}
	return found
}

// nearest is the symbol that a name was probably meant to be. Among very many,
// or when nothing more is shown, none is looked for.
func (s *Scope) nearest(name string, table map[string]*symbol) string {
	if len(table) > 1000 || s.Report.Full() {
		return ""
	}
	return diag.Nearest(name, sortedNames(table))
}

// otherCase is the variable or local whose name a word is but for its case, as
// names of the environment are written, or "".
func (s *Scope) otherCase(word string) string {
	lower := strings.ToLower(word)
	switch {
	case lower == word:
		return ""
	case s.vars[lower] != nil:
		return "var." + lower
	case s.locals[lower] != nil:
		return "local." + lower
	}
	return ""
}

// dashes reports a comment in the style of SQL and Lua behind a value, of one
// word: as HCL it is a number less the negative of a name.
func (s *Scope) dashes(word hcl.Range) bool {
	at := s.at(word)
	src := s.Report.Source(at.File)
	if src == nil {
		return false
	}
	before := strings.TrimRight(string(src.Text[max(0, at.Start.Byte-8):at.Start.Byte]), " \t")
	if !strings.HasSuffix(before, "--") {
		return false
	}
	end := at.Start.Byte - min(at.Start.Byte, 8) + len(before)
	sign := src.Range(end-2, end)
	d := s.Report.Add(diag.Diagnostic{Severity: diag.Error, Code: diag.InvalidCharacter, Range: sign, Summary: "-- begins no comment", Detail: "Comments begin with # or //."})
	d.Suggest("#").Edit(sign, "#")
	return true
}

// rootAliases are words for var and local that people bring along.
var rootAliases = map[string]string{"vars": "var", "variable": "var", "variables": "var", "locals": "local", "params": "var", "input": "var", "config": "var"}

// unknownRoot reports a word that is no root of a value.
func (s *Scope) unknownRoot(e hclsyntax.Expression, tr hcl.Traversal, use Use) {
	root := tr.RootName()
	rng := tr[0].SourceRange()
	single := len(tr) == 1 && e.Range() == tr.SourceRange()
	switch {
	case s.habit(e, tr, use):
	case rootAliases[root] != "" && len(tr) > 1:
		s.failAt(diag.UnknownReference, rng, fmt.Sprintf("there is nothing called %q", root), "").
			Suggest(rootAliases[root]).Edit(s.at(rng), rootAliases[root])
	case len(tr) == 1 && s.vars[root] != nil:
		s.failAt(diag.UnknownReference, rng, fmt.Sprintf("the variable %q needs var. before its name", root), "").
			Suggest("var."+root).Edit(s.at(rng), "var."+root)
	case len(tr) == 1 && s.locals[root] != nil:
		s.failAt(diag.UnknownReference, rng, fmt.Sprintf("the local %q needs local. before its name", root), "").
			Suggest("local."+root).Edit(s.at(rng), "local."+root)
	case len(tr) == 1 && s.otherCase(root) != "":
		meant := s.otherCase(root)
		s.failAt(diag.UnknownReference, rng, fmt.Sprintf("there is nothing called %q", root), "").
			Suggest(meant).Edit(s.at(rng), meant)
	case s.dashes(rng):
	case s.BlockNames[root] != nil:
		detail := "Here a value is needed: a constant, var.name or local.name."
		if _, asserts := use.Extra["subscription"]; asserts {
			detail = "Asserts read subscription.NAME, stream.NAME and group.NAME: what was done, what is there, what is pending."
		}
		s.failAt(diag.ExpressionNotAllowed, tr.SourceRange(), fmt.Sprintf("%s is a block, not a value", A(root)), detail)
	case root == "each" && s.Tests:
		s.failAt(diag.UnknownReference, rng, `there is nothing called "each"`, "It exists in a test with for_each, for each of its values.")
	case root == "entry" && s.Tests:
		s.failAt(diag.UnknownReference, rng, `there is nothing called "entry"`, "What was delivered is subscription.NAME.calls[0].entry; what is in a stream is stream.NAME.values[0].")
	case root == "entry" || root == "headers" || root == "reply":
		s.failAt(diag.ExpressionNotAllowed, tr.SourceRange(), root+" is not known here",
			"It exists for each entry only: in key, when, headers and idempotency.key. Here a constant is needed.")

	case boolWords[strings.ToLower(root)] != "":
		s.failAt(diag.UnknownReference, rng, fmt.Sprintf("there is nothing called %q", root), "The two truth values are true and false.").
			Suggest(boolWords[strings.ToLower(root)]).Edit(s.at(rng), boolWords[strings.ToLower(root)])
	case single && use.Word:
		s.failAt(diag.UnquotedValue, rng, fmt.Sprintf("the word %s stands without quotes", root), "Strings are written in double quotes.").
			Suggest(strconv.Quote(root)).Edit(s.at(rng), strconv.Quote(root))
	default:
		s.failAt(diag.UnknownReference, rng, fmt.Sprintf("there is nothing called %q", root),
			"Values are constants, var.name and local.name; a string stands in double quotes.").
			Suggest(diag.Nearest(root, append([]string{"var", "local", "true", "false", "null"}, slices.Sorted(maps.Keys(use.Extra))...)))
	}
}

// boolWords are what other languages call true and false.
var boolWords = map[string]string{"yes": "true", "on": "true", "true": "true", "no": "false", "off": "false", "false": "false", "none": "null", "nil": "null"}

// callChecker walks an expression and reports calls that are not allowed.
type callChecker struct {
	scope *Scope
	use   Use
	depth int
	tries int
	ok    bool
}

// Enter implements hclsyntax.Walker.
func (w *callChecker) Enter(n hclsyntax.Node) hcl.Diagnostics {
	switch x := unwatched(n).(type) {
	case *hclsyntax.FunctionCallExpr:
		w.ok = w.scope.checkCall(x, w.use) && w.ok
		if tries(x) {
			if w.tries++; w.tries == maxTry+1 {
				w.scope.fail(diag.TooComplex, x, "try and can are nested too deep", "Compute the inner one in a local.")
				w.ok = false
			}
		}
	case *hclsyntax.ForExpr:
		if w.depth++; w.depth == maxFor+1 {
			w.scope.fail(diag.TooComplex, x, "for expressions are nested too deep", "Compute the inner one in a local.")
			w.ok = false
		}
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (w *callChecker) Exit(n hclsyntax.Node) hcl.Diagnostics {
	switch x := unwatched(n).(type) {
	case *hclsyntax.ForExpr:
		w.depth--
	case *hclsyntax.FunctionCallExpr:
		if tries(x) {
			w.tries--
		}
	}
	return nil
}

func tries(x *hclsyntax.FunctionCallExpr) bool { return x.Name == "try" || x.Name == "can" }

// functionAliases are names that other languages give to our functions.
var functionAliases = map[string]string{
	"getenv": "env", "gethostname": "hostname", "yamldecode": "jsondecode", "yamlencode": "jsonencode", "toset": "distinct", "tolist": "flatten", "chomp": "trimspace", "trimprefix": "replace", "regexall": "regex", "strlen": "length", "ifnull": "coalesce", "nvl": "coalesce", "environ": "env", "os_env": "env", "host": "hostname", "len": "length", "size": "length", "count": "length",
	"concat_ws": "join", "includes": "contains", "has": "contains", "toupper": "upper", "uppercase": "upper", "tolower": "lower", "lowercase": "lower",
	"trim": "trimspace", "strip": "trimspace", "substring": "substr", "sprintf": "format", "printf": "format", "unique": "distinct",
	"tojson": "jsonencode", "fromjson": "jsondecode", "to_json": "jsonencode", "json_encode": "jsonencode", "json_decode": "jsondecode", "parsejson": "jsondecode",
	"number": "tonumber", "string": "tostring", "bool": "tobool", "int": "tonumber", "str": "tostring", "match": "regex", "starts_with": "startswith", "ends_with": "endswith",
	"b64encode": "base64encode", "b64decode": "base64decode", "default": "coalesce",
}

// FunctionHelp lists some of what may be called.
const FunctionHelp = "what there is has plain names, such as format(\"%s\", x), join(\",\", list), lower(x)."

// MeantFunction is the function that a name of another language stands for, or
// "".
func MeantFunction(name string) string {
	if meant := functionAliases[strings.ToLower(name)]; meant != "" {
		return meant
	}
	return diag.Nearest(name, FunctionNames())
}

// checkCall reports a function that does not exist or may not be called here.
func (s *Scope) checkCall(x *hclsyntax.FunctionCallExpr, use Use) bool {
	if x.Name == "env" && !use.Env {
		d := s.failAt(diag.FunctionNotAllowed, x.NameRange, "env() may be called only in the default of a variable",
			"Declare a variable with default = "+s.text(x)+" and name it here: everything that comes from outside then stands in one place.")
		if v := s.variableFor(x); v != "" {
			d.Suggest("var." + v)
		}
		return false
	}
	if x.Name == "hostname" && !use.Hostname {
		s.failAt(diag.FunctionNotAllowed, x.NameRange, "hostname() may be called only in consumer",
			"The same file must mean the same on every host.")
		return false
	}
	if _, ok := s.functions(use)[x.Name]; ok {
		return true
	}
	if s.calledPath(x) {
		return false
	}
	meant := MeantFunction(x.Name)
	if meant == "" && use.Hostname && strings.Contains(x.Name, "id") {
		meant = "hostname"
	}
	d := s.failAt(diag.UnknownFunction, x.NameRange, fmt.Sprintf("there is no function %q", x.Name), "").Suggest(meant)
	if _, callable := s.functions(use)[meant]; callable {
		d.Edit(s.at(x.NameRange), meant)
	} else if meant != "" {
		d.Detail = "env() may be called only in the default of a variable, hostname() only in consumer."
	}
	return false
}

// failAt reports an error at a range.
func (s *Scope) failAt(code diag.Code, rng hcl.Range, summary, detail string) *diag.Diagnostic {
	return s.Report.Add(diag.Diagnostic{Code: code, Range: s.at(rng), Summary: summary, Detail: detail})
}
