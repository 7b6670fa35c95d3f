package eval

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// Bodies says what an expression over an entry may read.
type Bodies struct {
	// Entry is the declared type of the entry's body, nil for any.
	Entry *spec.Type
	// EntryOf names the stream, and EntryAt where its type is declared.
	EntryOf string
	EntryAt diag.Range
	// HasReply: reply exists too, typed by ReplyType, of the stream ReplyOf.
	HasReply  bool
	ReplyType *spec.Type
	ReplyOf   string
	ReplyAt   diag.Range
	// Opaque: the body is text or bytes, which have no fields.
	Opaque, ReplyOpaque bool
}

// Want is what an expression over an entry must give.
type Want uint8

// The wants.
const (
	// WantScalar is a string, number or bool, used as text.
	WantScalar Want = iota
	// WantBool is a condition.
	WantBool
	// WantIdentity is a string or number that tells an entry from all others.
	WantIdentity
)

// allowedForms ends every refusal of an expression over an entry.
const allowedForms = "Over entries, paths (entry.…, headers[\"…\"], reply.…), constants, == != < <= > >=, &&, ||, !, parentheses, ? : and templates are allowed; variables and locals are put in when the file is read."

// compiler turns one expression over an entry into data. Types are checked on
// the way; a nil type is one that is not known.
type compiler struct {
	scope  *Scope
	bodies Bodies
	where  string
	bad    bool
}

// Compile turns an expression over an entry into data and checks its types.
// Variables and locals in it become constants. where names the argument.
func (s *Scope) Compile(e hclsyntax.Expression, bodies Bodies, want Want, where string) (spec.Expr, bool) {
	c := &compiler{scope: s, bodies: bodies, where: where}
	x, t := c.expr(e)
	if c.bad || x == nil {
		return nil, false
	}
	if want == WantBool && !compatible(t, boolType) {
		if text, isText := literalText(e); isText && strings.ContainsAny(text, "=<>!&|.") {
			s.fail(diag.TypeMismatch, e, fmt.Sprintf("%s is a string, not a condition", where), "Write the condition without quotes.").
				Suggest(text).Edit(s.at(e.Range()), text)
			return nil, false
		}
		s.fail(diag.TypeMismatch, e, fmt.Sprintf("%s must be true or false, this is %s", where, A(describe(t))), "Compare it with something: entry.amount > 100.")
		return nil, false
	}
	if want == WantIdentity && t != nil && t.Kind == spec.TypeBool {
		s.fail(diag.TypeMismatch, e, fmt.Sprintf("%s must be a string or number, this is %s", where, A(describe(t))),
			"A bool has two values, so that nearly all entries would be taken for copies. Name a field that tells entries apart: key = entry.id.")
		return nil, false
	}
	if want != WantBool && !scalar(t) {
		s.fail(diag.TypeMismatch, e, fmt.Sprintf("%s must be a string, number or bool, this is %s", where, A(describe(t))), "Choose one of its members.")
		return nil, false
	}
	return x, true
}

var (
	boolType   = &spec.Type{Kind: spec.TypeBool}
	stringType = &spec.Type{Kind: spec.TypeString}
	numberType = &spec.Type{Kind: spec.TypeNumber}
)

// expr compiles any expression. A nil Expr means that a problem was reported.
func (c *compiler) expr(e hclsyntax.Expression) (spec.Expr, *spec.Type) {
	switch x := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return c.expr(x.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return c.expr(x.Wrapped)
	}
	if !c.mentionsEntry(e) {
		return c.constant(e)
	}
	switch x := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		return c.path(x.Traversal, x)
	case *hclsyntax.RelativeTraversalExpr, *hclsyntax.IndexExpr:
		return c.steps(e)
	case *hclsyntax.BinaryOpExpr:
		return c.binary(x)
	case *hclsyntax.UnaryOpExpr:
		return c.unary(x)
	case *hclsyntax.ConditionalExpr:
		return c.conditional(x)
	case *hclsyntax.TemplateExpr:
		return c.template(x)
	case *hclsyntax.FunctionCallExpr:
		return c.refuse(e, fmt.Sprintf("%s() cannot be called over an entry", x.Name), "Compute it in the handler, or publish it as a field. "+allowedForms)
	case *hclsyntax.SplatExpr:
		return c.refuse(e, "[*] is not allowed over an entry", allowedForms)
	case *hclsyntax.ForExpr:
		return c.refuse(e, "for is not allowed over an entry", allowedForms)
	case *hclsyntax.TupleConsExpr:
		joined := c.scope.paths(x)
		c.refused(e, "lists and objects are not allowed over an entry", allowedForms).Suggest(joined)
		return nil, nil
	case *hclsyntax.ObjectConsExpr:
		return c.refuse(e, "lists and objects are not allowed over an entry", allowedForms)
	}
	return c.refuse(e, "this is not allowed over an entry", allowedForms)
}

func (c *compiler) refuse(e hclsyntax.Node, summary, detail string) (spec.Expr, *spec.Type) {
	c.refused(e, summary, detail)
	return nil, nil
}

// refused is refuse, for more to be said.
func (c *compiler) refused(e hclsyntax.Node, summary, detail string) *diag.Diagnostic {
	c.bad = true
	return c.scope.fail(diag.ExpressionNotAllowed, e, summary, detail)
}

// mentionsEntry reports whether an expression reads an entry: all else is
// constant.
func (c *compiler) mentionsEntry(e hclsyntax.Expression) bool {
	for _, tr := range e.Variables() {
		if tr.RootName() != "var" && tr.RootName() != "local" {
			return true
		}
	}
	return false
}

// constant evaluates what does not read the entry.
func (c *compiler) constant(e hclsyntax.Expression) (spec.Expr, *spec.Type) {
	v, ok := c.scope.Eval(e, Use{})
	if !ok {
		c.bad = true
		return nil, nil
	}
	v, marks := v.UnmarkDeep()
	if len(marks) > 0 {
		return c.refuse(e, "a sensitive value cannot be part of an expression over entries", "What it gives is written to the server and shown: as a key, a header or a route.")
	}
	if v.IsNull() {
		return &spec.Literal{JSON: "null"}, nil
	}
	switch v.Type() {
	case cty.String:
		text, err := json.Marshal(v.AsString())
		if err != nil {
			return c.refuse(e, "this text cannot be written as JSON", "")
		}
		return &spec.Literal{JSON: string(text)}, stringType
	case cty.Number:
		return &spec.Literal{JSON: Number(v)}, numberType
	case cty.Bool:
		return &spec.Literal{JSON: fmt.Sprint(v.True())}, boolType
	}
	return c.refuse(e, fmt.Sprintf("%s cannot be part of an expression over entries", A(TypeName(v.Type()))), allowedForms)
}

// steps compiles a path whose steps are partly computed: entry.list[var.i].
func (c *compiler) steps(e hclsyntax.Expression) (spec.Expr, *spec.Type) {
	var base hclsyntax.Expression
	var more hcl.Traversal
	switch x := e.(type) {
	case *hclsyntax.RelativeTraversalExpr:
		base, more = x.Source, x.Traversal
	case *hclsyntax.IndexExpr:
		if c.mentionsEntry(x.Key) {
			return c.refuse(x.Key, "an index cannot be computed from an entry", allowedForms)
		}
		v, ok := c.scope.Eval(x.Key, Use{})
		if !ok {
			c.bad = true
			return nil, nil
		}
		v, _ = v.Unmark()
		base, more = x.Collection, hcl.Traversal{hcl.TraverseIndex{Key: v, SrcRange: x.Key.Range()}}
	}
	got, t := c.expr(base)
	p, ok := got.(*spec.Path)
	if got == nil {
		return nil, nil
	}
	if !ok {
		return c.refuse(e, "only entry, headers and reply have members", allowedForms)
	}
	return c.walk(p, t, more, string(p.Root))
}

// path compiles a whole traversal: entry.customer.id.
func (c *compiler) path(tr hcl.Traversal, e hclsyntax.Expression) (spec.Expr, *spec.Type) {
	switch tr.RootName() {
	case "entry":
		if c.bodies.Opaque && len(tr) > 1 {
			return c.opaque(tr, c.bodies.EntryOf)
		}
		return c.walk(&spec.Path{Root: spec.RootEntry}, c.bodies.Entry, tr[1:], "entry")
	case "headers":
		return c.header(tr)
	case "reply":
		if !c.bodies.HasReply {
			return c.noReply(tr, e)
		}
		if c.bodies.ReplyOpaque && len(tr) > 1 {
			return c.opaque(tr, c.bodies.ReplyOf)
		}
		return c.walk(&spec.Path{Root: spec.RootReply}, c.bodies.ReplyType, tr[1:], "reply")
	}
	c.bad = true
	c.unknownRoot(tr)
	return nil, nil
}

// noReply refuses the reply where there is none yet.
func (c *compiler) noReply(tr hcl.Traversal, e hclsyntax.Expression) (spec.Expr, *spec.Type) {
	d := c.refused(e, "reply is not known here", "It exists in reply and route blocks only: before a handler has run there is no reply.")
	if len(tr) > 1 {
		if name, ok := stepName(tr[1]); ok && contains(typeFields(c.bodies.Entry), name) {
			d.Suggest("entry."+name).Edit(c.scope.at(tr[0].SourceRange()), "entry")
		}
	}
	return nil, nil
}

// opaque refuses a member of a body that has none.
func (c *compiler) opaque(tr hcl.Traversal, stream string) (spec.Expr, *spec.Type) {
	c.scope.failAt(diag.UnknownField, tr.SourceRange(), fmt.Sprintf("%s has no fields here", tr.RootName()),
		fmt.Sprintf("The codec of stream.%s carries text or bytes, not an object.", stream))
	c.bad = true
	return nil, nil
}

// unknownRoot reports a word that begins no path: a field without entry before
// it, a misspelt root, or a word without quotes.
func (c *compiler) unknownRoot(tr hcl.Traversal) {
	root, rng := tr.RootName(), tr[0].SourceRange()
	d := c.scope.failAt(diag.UnknownReference, rng, fmt.Sprintf("there is nothing called %q over an entry", root), "")
	roots := []string{"entry", "headers", "var", "local"}
	if c.bodies.HasReply {
		roots = append(roots, "reply")
	}
	fields, replyFields := typeFields(c.bodies.Entry), typeFields(c.bodies.ReplyType)
	switch {
	case rootSynonyms[root] != "":
		d.Suggest(rootSynonyms[root]).Edit(c.scope.at(rng), rootSynonyms[root])
	case contains(fields, root):
		d.Suggest("entry."+root).Edit(c.scope.at(rng), "entry."+root)
	case c.bodies.HasReply && contains(replyFields, root):
		d.Suggest("reply."+root).Edit(c.scope.at(rng), "reply."+root)
	case diag.Nearest(root, roots) != "":
		d.Suggest(diag.Nearest(root, roots)).Edit(c.scope.at(rng), diag.Nearest(root, roots))
	case diag.Nearest(root, fields) != "":
		d.Suggest("entry." + diag.Nearest(root, fields))
	default:
		d.Detail = allowedForms
	}
}

// rootSynonyms are words that other tools use for our roots.
var rootSynonyms = map[string]string{
	"body": "entry", "payload": "entry", "message": "entry", "msg": "entry", "event": "entry", "record": "entry", "this": "entry", "root": "entry", "item": "entry",
	"header": "headers", "metadata": "headers", "meta": "headers", "attributes": "headers", "response": "reply", "result": "reply", "output": "reply", "value": "reply",
}

// header compiles headers["name"].
func (c *compiler) header(tr hcl.Traversal) (spec.Expr, *spec.Type) {
	name, ok := "", false
	if len(tr) == 2 {
		name, ok = stepName(tr[1])
	}
	if !ok {
		c.scope.failAt(diag.ExpressionNotAllowed, tr.SourceRange(), "headers is read by one name", "Write headers[\"correlation-id\"].")
		c.bad = true
		return nil, nil
	}
	return &spec.Path{Root: spec.RootHeaders, Steps: []spec.Step{{Name: name}}}, stringType
}
