package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

func (l *loader) buildGroup(p *spec.Pipeline, n *node) {
	g := &builtGroup{node: n, spec: &spec.Group{Label: n.label, Name: n.label, Pos: l.pos(n)}}
	if v := n.val("name"); v.set && v.ok {
		g.spec.Name = v.text
		l.checkName(v, "group")
	}
	if stream := n.val("stream").ref; stream != nil {
		g.spec.Stream = l.built.streams[stream]
	}
	g.spec.Start = l.groupStart(n)
	l.deadLetter(g)
	for _, c := range n.all("subscription") {
		sub := &builtSub{node: c, group: g, spec: l.buildSubscription(g, c, p.Trace)}
		enabled := c.val("enabled")
		sub.enabled = enabled.flag && enabled.ok
		g.subs = append(g.subs, sub)
		l.built.subs[c] = sub.spec
		if sub.enabled {
			g.spec.Subscriptions = append(g.spec.Subscriptions, sub.spec)
		}
	}
	l.built.groups = append(l.built.groups, g)
	p.Groups = append(p.Groups, g.spec)
}

// deadLetterSuffix is added to the source's name for the default dead-letter
// stream.
const deadLetterSuffix = ".dead"

// deadLetter sets the group's dead-letter stream: the one that is named, or a
// default one beside the source, which no stream block declares.
func (l *loader) deadLetter(g *builtGroup) {
	if d := g.node.one("dead_letter"); d != nil {
		if to := d.val("to").ref; to != nil {
			g.spec.DeadLetter = l.built.streams[to]
		}
		return
	}
	source := g.spec.Stream
	if source == nil {
		return
	}
	dead := &spec.Stream{
		Name: source.Name + deadLetterSuffix, Codec: source.Codec, Body: source.Body, Sensitive: source.Sensitive,
		MaxEntrySize: source.MaxEntrySize, Pos: g.spec.Pos,
	}
	for n, s := range l.built.streams {
		if s.Name == dead.Name {
			dead = l.built.streams[n]
		}
	}
	g.spec.DeadLetter = dead
}

// groupStart reads start as the id that XGROUP CREATE takes.
func (l *loader) groupStart(n *node) string {
	v := n.val("start")
	switch {
	case !v.ok || v.text == "new":
		return "$"
	case v.text == "beginning":
		return "0"
	case isEntryID(v.text):
		return v.text
	}
	arg := n.schema.Arg("start")
	d := l.fail(diag.InvalidValue, v.rng, fmt.Sprintf("start cannot be %q", v.text), fmt.Sprintf("It is %s, or %s.", either(arg.Allowed), arg.Also))
	if id := dateID(v.text); id != "" {
		d.Detail += " An id begins with milliseconds since 1970."
		d.Suggest(id)
	}
	if near := meantValue(arg, v.text); near != "" {
		d.Suggest(near)
		if isConstant(v.expr) {
			d.Edit(v.rng, fmt.Sprintf("%q", near))
		}
	}
	return "$"
}

// isEntryID reports whether a text is an id of a stream: milliseconds, and
// perhaps a sequence number, each of at most 64 bits.
func isEntryID(s string) bool {
	ms, seq, hasSeq := strings.Cut(s, "-")
	return isDigits(ms) && len(ms) > 1 && (!hasSeq || isDigits(seq))
}

func isDigits(s string) bool {
	return s != "" && len(s) <= 20 && strings.Trim(s, "0123456789") == ""
}

func (l *loader) buildSubscription(g *builtGroup, n *node, trace spec.Trace) *spec.Subscription {
	s := &spec.Subscription{
		Label: n.label, Group: g.spec, Consumer: n.label, Retry: spec.DefaultRetry(),
		Batch: int(n.val("batch").integer), Block: n.val("block").dur,
		OnInvalid: spec.Policy(n.val("on_invalid").text), OnFailure: spec.Policy(n.val("on_failure").text), Pos: l.pos(n),
		Trace: buildTrace(n, trace),
	}
	if h := n.val("handler").ref; h != nil {
		s.Handler = l.built.handlers[h]
	}
	if v := n.val("consumer"); v.set && v.ok {
		s.Consumer = v.text
		l.checkName(v, "consumer")
	}
	if r := n.val("retry").ref; r != nil {
		s.Retry = *l.built.retries[r]
	}
	stream := g.node.val("stream").ref
	s.Claim = l.buildClaim(n.one("claim"))
	l.buildWorkers(s, n.one("workers"), stream)
	if r := n.one("reply"); r != nil {
		s.Reply = l.buildRoute(r, stream)
	}
	for _, r := range n.all("route") {
		s.Routes = append(s.Routes, l.buildRoute(r, stream))
	}
	if i := n.one("idempotency"); i != nil {
		s.Idempotency = &spec.Idempotency{Window: i.val("window").dur}
		s.Idempotency.Key = l.compile(i, "key", l.bodies(stream), eval.WantIdentity)
	}
	return s
}

// buildTrace is what the trace block of n says, else what holds without one.
func buildTrace(n *node, otherwise spec.Trace) spec.Trace {
	if t := n.one("trace"); t != nil {
		return spec.Trace(t.val("parent").text)
	}
	return otherwise
}

func (l *loader) buildClaim(n *node) *spec.Claim {
	if n == nil {
		return nil
	}
	c := &spec.Claim{MinIdle: n.val("min_idle").dur, Using: spec.Using(n.val("using").text), Only: n.val("only").flag}
	if c.Only && c.Using == spec.UsingRead {
		using, only := n.val("using"), n.val("only")
		l.fail(diag.Conflict, using.rng, "only and using = \"read\" exclude each other",
			"A claiming read always brings new entries too. Remove using: with only, XAUTOCLAIM is used.").Relate(only.rng, "only is set here")
	}
	return c
}

func (l *loader) buildWorkers(s *spec.Subscription, n *node, stream *node) {
	if n == nil {
		s.Workers = spec.Workers{Count: 1, HoldLimit: int(defaultInteger("hold_limit"))}
		return
	}
	s.Workers = spec.Workers{
		Count: int(n.val("count").integer), Hold: n.val("while_retrying").text == "hold", HoldLimit: int(n.val("hold_limit").integer),
	}
	s.Workers.Key = l.compile(n, "key", l.bodies(stream), eval.WantScalar)
}

// buildRoute makes a route, or the reply.
func (l *loader) buildRoute(n *node, source *node) *spec.Route {
	r := &spec.Route{Label: n.label, Pos: l.pos(n)}
	to := n.val("to").ref
	if to != nil {
		r.To = l.built.streams[to]
	}
	b := l.withReply(l.bodies(source), to)
	r.Key = l.compile(n, "key", b, eval.WantScalar)
	if n.schema.Arg("when") != nil {
		r.When = l.compile(n, "when", b, eval.WantBool)
		l.checkWhen(n, r, b)
	}
	r.Headers = l.headers(n, b)
	return r
}

// compile compiles an expression over an entry; without one it is nil.
func (l *loader) compile(n *node, arg string, b eval.Bodies, want eval.Want) spec.Expr {
	v := n.val(arg)
	if !v.set || !v.ok {
		return nil
	}
	e, ok := l.scope.Compile(v.expr, b, want, arg)
	if !ok {
		v.ok = false
		return nil
	}
	if arg == "key" {
		l.constantKey(n, v, e, b)
	}
	return e
}

// headers compiles the headers of a route, in the order of their names.
func (l *loader) headers(n *node, b eval.Bodies) []spec.RouteHeader {
	v := n.val("headers")
	if !v.set || !v.ok {
		return nil
	}
	cons := bodyOf(v.expr)
	if cons == nil {
		l.fail(diag.WrongType, v.rng, "headers must be written as an object", "Write headers = { name = expression }.").Suggest(pairs(v.expr))
		return nil
	}
	var out []spec.RouteHeader
	for _, item := range cons.Items {
		if h, ok := l.header1(item.KeyExpr, item.ValueExpr, b, out); ok {
			out = append(out, h)
		}
	}
	slices.SortFunc(out, func(a, b spec.RouteHeader) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// pairs writes a list of texts "name=value" as an object, or "".
func pairs(e hclsyntax.Expression) string {
	list, ok := e.(*hclsyntax.TupleConsExpr)
	if !ok {
		return ""
	}
	var out []string
	for _, e := range list.Exprs {
		text, _ := eval.LiteralText(e)
		name, value, found := strings.Cut(text, "=")
		if !found || !hclsyntax.ValidIdentifier(name) {
			return ""
		}
		out = append(out, fmt.Sprintf("%s = %q", name, value))
	}
	return "{ " + strings.Join(out, ", ") + " }"
}

// defaultInteger is the schema's default of an argument of workers.
func defaultInteger(name string) int64 {
	sub := schema.Pipeline.Block("group", "").Block("subscription", "")
	v := &value{}
	readDefault(v, sub.Block("workers", "").Arg(name))
	return v.integer
}

// defaultLimits are the limits of a handler without a limits block.
func (l *loader) defaultLimits() spec.Limits {
	limits := schema.Pipeline.Block("handler", "").Block("limits", "")
	read := func(name string) *value {
		v := &value{}
		readDefault(v, limits.Arg(name))
		return v
	}
	return spec.Limits{Timeout: read("timeout").dur, Memory: read("memory").integer, Instructions: read("instructions").integer}
}
