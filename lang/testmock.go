package lang

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/testspec"
)

// outcomeWords are the functions that make outcomes, as in handlers.
var outcomeWords = []string{testspec.SaysAck, testspec.SaysRetry, testspec.SaysDead, testspec.SaysDrop, testspec.SaysReply}

// outcomeAliases are what other tools call them.
var outcomeAliases = map[string]string{
	"nack": "retry", "acknowledge": "ack", "ok": "ack", "success": "ack", "done": "ack", "dead_letter": "dead", "deadletter": "dead", "reject": "dead",
	"skip": "drop", "ignore": "drop", "discard": "drop", "respond": "reply", "publish": "reply", "requeue": "retry", "later": "retry",
}

// mock makes a mock; ok is false when it has a problem.
func (b *testBuilder) mock(n *node) (testspec.Mock, bool) {
	m := testspec.Mock{Handler: n.label, Times: int(n.val("times").integer), Pos: b.loader.pos(n)}
	if v := n.val("error"); v.set {
		m.Outcome, m.Error = testspec.SaysFailed, v.text
		return m, v.ok
	}
	v := n.val("returns")
	if !v.set || !v.ok {
		return m, false
	}
	return m, b.returns(&m, v.expr)
}

// returns reads what a mock returns.
func (b *testBuilder) returns(m *testspec.Mock, e hclsyntax.Expression) bool {
	l := b.loader
	rng := eval.Range(l.report, e.Range())
	switch x := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return b.returns(m, x.Expression)
	case *hclsyntax.FunctionCallExpr:
		if slices.Contains(outcomeWords, x.Name) {
			return b.outcome(m, x)
		}
		if word := outcomeWord(x.Name); word != "" && !slices.Contains(eval.FunctionNames(), x.Name) {
			name := eval.Range(l.report, x.NameRange)
			l.fail(diag.UnknownFunction, name, fmt.Sprintf("there is no outcome %q", x.Name), "Outcomes are ack(), retry(), dead(…), drop(…) and reply(…).").Suggest(word).Edit(name, word)
			return false
		}
	case *hclsyntax.ScopeTraversalExpr:
		if word := outcomeWord(x.Traversal.RootName()); len(x.Traversal) == 1 && word != "" {
			l.fail(diag.UnknownReference, rng, fmt.Sprintf("the outcome %s stands without parentheses", x.Traversal.RootName()), "Outcomes are made by functions, as in handlers.").
				Suggest(word+"()").Edit(rng, word+"()")
			return false
		}
	}
	v, ok := b.body(e)
	if !ok {
		return false
	}
	if text, isText := eval.LiteralText(e); isText && slices.Contains(outcomeWords, strings.TrimSuffix(text, "()")) {
		word := strings.TrimSuffix(text, "()") + "()"
		l.add(diag.Warning, diag.TypeMismatch, rng, fmt.Sprintf("this returns the text %q, which is a reply", text), "Outcomes are made by functions, as in handlers.").Suggest(word).Edit(rng, word)
	}
	m.Outcome, m.Reply = testspec.SaysReply, &testspec.MockReply{Body: testspec.ToBody(v)}
	return true
}

// outcomeWord is the outcome that a word stands for, or "".
func outcomeWord(name string) string {
	if slices.Contains(outcomeWords, name) {
		return name
	}
	if alias := outcomeAliases[strings.ToLower(name)]; alias != "" {
		return alias
	}
	return diag.Nearest(name, outcomeWords)
}

// body evaluates a value that is to be published.
func (b *testBuilder) body(e hclsyntax.Expression) (cty.Value, bool) {
	l := b.loader
	v, ok := l.scope.Eval(e, eval.Use{Extra: l.extra})
	if ok && eval.IsSensitive(v) {
		l.fail(diag.ExpressionNotAllowed, eval.Range(l.report, e.Range()), "a reply cannot be a sensitive value", "It is shown in logs and tables.")
		return v, false
	}
	return v, ok && b.afford(v, eval.Range(l.report, e.Range()))
}

// most are how many arguments the functions of outcomes take.
var most = map[string]int{testspec.SaysAck: 0, testspec.SaysRetry: 1, testspec.SaysDead: 1, testspec.SaysDrop: 1, testspec.SaysReply: 2}

// shapes show how they are called.
var outcomeShapes = map[string]string{
	testspec.SaysAck: "ack()", testspec.SaysRetry: "retry() or retry({ after = \"5s\", reason = \"…\" })", testspec.SaysDead: "dead(\"reason\")",
	testspec.SaysDrop: "drop(\"reason\")", testspec.SaysReply: "reply(value) or reply(value, { to = \"route\", key = \"…\", headers = { … } })",
}

// outcome reads the call of a function that makes an outcome.
func (b *testBuilder) outcome(m *testspec.Mock, x *hclsyntax.FunctionCallExpr) bool {
	m.Outcome = x.Name
	if len(x.Args) > most[x.Name] || x.Name == testspec.SaysReply && len(x.Args) == 0 || x.ExpandFinal {
		b.loader.fail(diag.FunctionFailed, eval.Range(b.loader.report, x.Range()), x.Name+"() cannot be called like this", "Write "+outcomeShapes[x.Name]+".")
		return false
	}
	if len(x.Args) == 0 {
		return true
	}
	v, ok := b.body(x.Args[0])
	if !ok {
		return false
	}
	switch x.Name {
	case testspec.SaysRetry:
		return b.retry(m, x, v)
	case testspec.SaysReply:
		m.Reply = &testspec.MockReply{Body: testspec.ToBody(v)}
		return len(x.Args) == 1 || b.reply(m.Reply, x)
	}
	m.Reason, ok = b.text(x.Args[0], "the reason", v)
	return ok
}

// text is a string that a function is given.
func (b *testBuilder) text(e hclsyntax.Expression, what string, v cty.Value) (string, bool) {
	if v.IsNull() || v.Type() != cty.String {
		b.loader.fail(diag.WrongType, eval.Range(b.loader.report, e.Range()), fmt.Sprintf("%s must be a string, this is %s", what, eval.A(eval.TypeName(v.Type()))), "")
		return "", false
	}
	return v.AsString(), true
}

// options checks the object that a function is given; names are its members.
func (b *testBuilder) options(x *hclsyntax.FunctionCallExpr, e hclsyntax.Expression, v cty.Value, names ...string) (map[string]cty.Value, bool) {
	l := b.loader
	rng := eval.Range(l.report, e.Range())
	if v.IsNull() || !v.Type().IsObjectType() {
		d := l.fail(diag.WrongType, rng, fmt.Sprintf("%s() takes an object, this is %s", x.Name, eval.A(eval.TypeName(v.Type()))), "Write "+outcomeShapes[x.Name]+".")
		if !v.IsNull() && v.Type() == cty.String && x.Name == testspec.SaysRetry {
			text := "{ after = " + l.sourceOf(e.Range()) + " }"
			d.Suggest("retry("+text+")").Edit(rng, text)
		}
		return nil, false
	}
	for name := range v.AsValueMap() {
		if !slices.Contains(names, name) {
			l.fail(diag.UnknownArgument, rng, fmt.Sprintf("%s() takes no %q", x.Name, name), "It takes "+list(names)+".").Suggest(diag.Nearest(name, names))
			return nil, false
		}
	}
	return v.AsValueMap(), true
}

func (b *testBuilder) retry(m *testspec.Mock, x *hclsyntax.FunctionCallExpr, v cty.Value) bool {
	o, ok := b.options(x, x.Args[0], v, "after", "reason")
	if !ok {
		return false
	}
	if after, given := o["after"]; given {
		text, isText := b.text(x.Args[0], "after", after)
		if !isText {
			return false
		}
		d, err := eval.ParseDuration(text)
		if err != nil {
			b.loader.fail(diag.InvalidDuration, eval.Range(b.loader.report, x.Args[0].Range()), "after: "+err.Error(), "Units are us, ms, s, m, h, d and w.").
				Suggest(meantUnit(err))
			return false
		}
		m.After, m.HasAfter = d, true
	}
	if reason, given := o["reason"]; given {
		m.Reason, ok = b.text(x.Args[0], "the reason", reason)
	}
	return ok
}

// meantUnit is what a duration was probably meant to be, or "".
func meantUnit(err error) string {
	if unit, ok := errors.AsType[*eval.UnitError](err); ok {
		return unit.Suggestion
	}
	return ""
}

func (b *testBuilder) reply(r *testspec.MockReply, x *hclsyntax.FunctionCallExpr) bool {
	v, ok := b.body(x.Args[1])
	if !ok {
		return false
	}
	o, ok := b.options(x, x.Args[1], v, "to", "key", "headers")
	if !ok {
		return false
	}
	if to, given := o["to"]; given {
		r.To, ok = b.text(x.Args[1], "to", to)
	}
	if key, given := o["key"]; given && ok {
		r.Key, ok = b.text(x.Args[1], "key", key)
		r.HasKey = true
	}
	if headers, given := o["headers"]; given && ok {
		at := &value{ok: true, any: headers, expr: x.Args[1], rng: eval.Range(b.loader.report, x.Args[1].Range())}
		r.Headers, ok = b.texts(at, "headers", plainText)
	}
	return ok
}
