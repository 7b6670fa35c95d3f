package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

func noArguments() map[string]*hclsyntax.Attribute { return map[string]*hclsyntax.Attribute{} }

// labelText checks a label that is a text in words.
func (l *loader) labelText(n *node) bool {
	rng := eval.Range(l.report, n.block.LabelRanges[0])
	switch {
	case strings.TrimSpace(n.label) == "":
		l.fail(diag.InvalidName, rng, fmt.Sprintf("the name of this %s is empty", n.schema.Name), "Say in words what it is about.")
	case strings.ContainsFunc(n.label, func(r rune) bool { return r < 0x20 || r == 0x7f }):
		l.fail(diag.InvalidName, rng, fmt.Sprintf("the name of this %s holds a control character", n.schema.Name), "")
	default:
		return true
	}
	return false
}

// wrongFile reports a block of the pipeline among its tests, and the other way
// round.
func (l *loader) wrongFile(parent *node, block *hclsyntax.Block, rng diag.Range) bool {
	name := block.Type
	switch {
	case parent.block != nil:
		return false
	case l.table == schema.Test && schema.Pipeline.Block(name, "") != nil && name != "variable":
		l.fail(diag.MisplacedBlock, rng, fmt.Sprintf("%s belongs to the pipeline, not to its tests", eval.A(name+" block")), "Move it to a file whose name does not end in "+testSuffix+".")
	case l.table == nil && name == "test":
		l.fail(diag.MisplacedBlock, rng, "tests stand in files of their own", "Move it to a file beside this one whose name ends in "+testSuffix+".")
	default:
		return false
	}
	parent.bad = true
	return true
}

// structure checks what the table cannot say of a test.
func (t *testFile) structure(n *node) {
	l := t.loader
	if n.label != "" && !n.bad {
		if first, taken := t.suite.names[n.label]; taken {
			l.fail(diag.DuplicateName, l.header(n), fmt.Sprintf("a second test %q", n.label), "Names of tests are unique. Rename one.").Relate(first, "the first is here")
			n.bad = true
		} else {
			t.suite.names[n.label] = l.header(n)
		}
	}
	steps, expects := n.all("step"), n.one("expect_error")
	if len(steps) == 0 && expects == nil && !n.bad && !n.unknown && !l.excused["step"] && !l.excused["expect_error"] {
		l.fail(diag.MissingBlock, l.header(n), fmt.Sprintf("%s has no step", n), "Add one: step \"…\" { … }; or expect_error { code = \"…\" } for a service that must refuse to start.")
		n.bad = true
	}
	asserts := 0
	for _, step := range steps {
		asserts += len(step.all("assert"))
		n.unknown = n.unknown || step.bad || step.unknown
		for _, p := range step.all("publish") {
			t.publishes(p)
		}
	}
	if len(steps) > 0 && asserts == 0 && expects == nil && !n.bad && !n.unknown && !l.excused["assert"] {
		l.add(diag.Warning, diag.MissingBlock, l.header(n), fmt.Sprintf("%s asserts nothing", n), "It passes whatever happens. Add an assert to one of its steps.")
	}
	t.mocks(n)
}

// publishes checks that a publish block says what to publish, once.
func (t *testFile) publishes(n *node) {
	l := t.loader
	given := setOf(n, "entry", "entries", "raw")
	switch {
	case len(given) == 0 && !n.bad && !n.unknown:
		l.fail(diag.MissingArgument, l.header(n), "publish needs an entry", "Set entry = { … }, entries = [ … ] or raw = { field = \"…\" }.")
		n.bad = true
	case len(given) > 1:
		l.exclude(n, given[0], given[1], "One block publishes one of them. Write two.")
	case n.args["raw"] != nil:
		for _, name := range []string{"key", "headers"} {
			if n.args[name] != nil {
				l.exclude(n, "raw", name, "raw is all fields of the entry; a header is its field h:name.")
			}
		}
	}
}

// setOf are the arguments of these that are set.
func setOf(n *node, names ...string) []string {
	var out []string
	for _, name := range names {
		if n.args[name] != nil {
			out = append(out, name)
		}
	}
	return out
}

// exclude reports two arguments that may not stand together, at the later one.
func (l *loader) exclude(n *node, a, b, detail string) {
	first, second := n.args[a], n.args[b]
	if first.SrcRange.Start.Byte > second.SrcRange.Start.Byte {
		first, second = second, first
	}
	l.fail(diag.Conflict, eval.Range(l.report, second.NameRange), fmt.Sprintf("%s and %s exclude each other", first.Name, second.Name), detail).
		Relate(eval.Range(l.report, first.NameRange), first.Name+" is set here")
	n.bad = true
}

// mocks checks the mocks of a test: what they answer, and that each is reached.
func (t *testFile) mocks(n *node) {
	l := t.loader
	last := map[string]*node{}
	for _, m := range n.all("mock") {
		given := setOf(m, "error", "returns")
		switch {
		case len(given) == 0 && !m.bad && !m.unknown:
			l.fail(diag.MissingArgument, l.header(m), fmt.Sprintf("%s needs an answer", m), "Set error = \"…\", or returns to a value or to ack(), retry(), dead(\"…\") or drop().")
		case len(given) > 1:
			l.exclude(m, "error", "returns", "A call fails or returns. For both in turn write two mocks, the first with times.")
		}
		if m.label == "" || m.bad {
			continue
		}
		t.mocked(m)
		if before := last[m.label]; before != nil && before.args["times"] == nil {
			l.fail(diag.Conflict, l.header(m), fmt.Sprintf("this mock of %q is never reached", m.label), "The one before it answers every call: give that one times.").Relate(l.header(before), "the one before is here")
		}
		last[m.label] = m
	}
}

// mocked checks that a mock's label is a handler.
func (t *testFile) mocked(m *node) {
	l := t.loader
	if l.named["handler"][m.label] != nil || t.suite.base.loader.lost["handler"] {
		return
	}
	rng := eval.Range(l.report, m.block.LabelRanges[0])
	d := l.fail(diag.UnknownReference, rng, fmt.Sprintf("there is no handler %q", m.label), "")
	m.bad = true
	near := diag.Nearest(m.label, l.names("handler"))
	if sub := l.named["subscription"][m.label]; near == "" && sub != nil {
		if h, ok := attrExpr(sub.args["handler"]).(*hclsyntax.ScopeTraversalExpr); ok && len(h.Traversal) == 2 {
			near = strings.TrimPrefix(l.sourceOf(h.Range()), "handler.")
			d.Detail = fmt.Sprintf("%s is a subscription; a mock stands in for its handler.", m.label)
		}
	}
	if near != "" {
		d.Suggest(near).Edit(rng, fmt.Sprintf("%q", near))
		return
	}
	if d.Detail == "" {
		d.Detail = "The pipeline has " + list(l.names("handler")) + "."
	}
}
