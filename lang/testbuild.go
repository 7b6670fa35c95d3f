package lang

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/zclconf/go-cty/cty"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/testspec"
)

// testBuilder makes one test out of evaluated blocks.
type testBuilder struct {
	*testFile

	variant *variant
	each    map[string]cty.Value
	// checker is made for the first condition.
	checker *testspec.Checker
}

func (b *testBuilder) build(test *testspec.Test, n *node) {
	l := b.loader
	for _, e := range n.all("existing") {
		test.Existing = append(test.Existing, b.publish(e, "in")...)
	}
	for _, m := range n.all("mock") {
		if mock, ok := b.mock(m); ok {
			test.Mocks = append(test.Mocks, mock)
		}
	}
	for _, s := range n.all("step") {
		step := &testspec.Step{Name: s.label, Pos: l.pos(s), Advance: s.val("advance").dur}
		for _, f := range s.all("fault") {
			step.Faults = append(step.Faults, b.fault(f))
		}
		for _, p := range s.all("publish") {
			step.Publishes = append(step.Publishes, b.publish(p, "to")...)
		}
		for _, a := range s.all("assert") {
			if assert := b.assert(a); assert != nil {
				step.Asserts = append(step.Asserts, assert)
			}
		}
		test.Steps = append(test.Steps, step)
	}
	if e := n.one("expect_error"); e != nil {
		test.Expect = b.expect(e)
	}
}

// version is how versions of the server are written.
var version = regexp.MustCompile(`^\d{1,3}\.\d{1,3}(\.\d{1,3})?$`)

// server is the version of the server that a test asks for.
func (t *testFile) server(n *node) string {
	v := n.val("server")
	if v.set && v.ok && !version.MatchString(v.text) {
		d := t.loader.fail(diag.InvalidValue, v.rng, fmt.Sprintf("%q is no version of a server", v.text), "A version is written \"8.2.0\".")
		if found := regexp.MustCompile(`\d+\.\d+(\.\d+)?`).FindString(v.text); version.MatchString(found) {
			d.Suggest(found).Edit(v.rng, fmt.Sprintf("%q", found))
		}
	}
	return v.text
}

// startCodes are errors of a start that no file has.
var startCodes = []string{"claiming_read_unsupported", "autoclaim_unsupported"}

func (b *testBuilder) expect(n *node) *testspec.ExpectError {
	code := n.val("code")
	known := slices.Clone(startCodes)
	for _, c := range diag.Codes() {
		known = append(known, string(c))
	}
	if code.set && code.ok && !slices.Contains(known, code.text) {
		d := b.loader.add(diag.Warning, diag.InvalidValue, code.rng, fmt.Sprintf("there is no error %q", code.text), "Codes stand in brackets in messages, and in the reference of diagnostics.")
		if near := diag.Nearest(code.text, known); near != "" {
			d.Suggest(near).Edit(code.rng, fmt.Sprintf("%q", near))
		}
	}
	return &testspec.ExpectError{Code: code.text, Mentions: n.val("mentions").list, Pos: b.loader.pos(n)}
}

// fault makes a fault; one in a subscription that does not run can never strike.
func (b *testBuilder) fault(n *node) testspec.Fault {
	f := testspec.Fault{
		Kind: n.label, At: n.val("at").text, Nth: int(n.val("nth").integer), For: n.val("for").dur, Pos: b.loader.pos(n),
	}
	in := n.val("in")
	if in.ref == nil {
		return f
	}
	f.Subscription = in.ref.label
	runs := func(s *spec.Subscription) bool { return s.Label == f.Subscription }
	if b.variant.pipeline != nil && !slices.ContainsFunc(b.variant.pipeline.Subscriptions(), runs) {
		b.loader.fail(diag.UnknownReference, in.rng, fmt.Sprintf("subscription %q is disabled in this test", f.Subscription), "Nothing can go wrong in it. Enable it by variables { … }, or name another one.").
			Relate(in.ref.val("enabled").rng, "it is disabled here")
	}
	return f
}

// assert makes an assert; nil when its condition cannot be evaluated.
func (b *testBuilder) assert(n *node) *testspec.Assert {
	l := b.loader
	attr := n.args["condition"]
	if attr == nil || l.poisoned(n, attr) {
		return nil
	}
	use := eval.Use{Extra: map[string]cty.Value{}}
	maps.Copy(use.Extra, b.each)
	for _, root := range testspec.Roots {
		use.Extra[root.Name] = cty.NilVal
	}
	late, ok := l.scope.Late(attr.Expr, use)
	if !ok {
		return nil
	}
	if b.checker == nil {
		b.checker = b.newChecker()
	}
	if !b.checker.Condition(late) {
		return nil
	}
	return testspec.NewAssert(late, b.checker.Labels, n.val("message").text, eval.Range(l.report, attr.Expr.Range()))
}

// newChecker is what conditions are checked against.
func (b *testBuilder) newChecker() *testspec.Checker {
	l := b.loader
	c := &testspec.Checker{
		Report: l.report, Labels: testspec.Labels{}, Bodies: map[string]*spec.Type{},
		Lost: func(root, label string) bool { return l.lost[root] || l.lost["."+label] },
	}
	for _, root := range testspec.Roots {
		c.Labels[root.Name] = l.names(root.Name)
	}
	streams := b.variant.loader.built.streams
	for n, s := range streams {
		c.Bodies["stream."+n.label] = s.Entry
	}
	for n, s := range b.variant.loader.built.subs {
		if s.Group != nil && s.Group.Stream != nil {
			c.Bodies["subscription."+n.label] = s.Group.Stream.Entry
		}
	}
	return c
}
