package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

// node is a block of the file beside its entry in the schema.
type node struct {
	schema *schema.Block
	file   *file
	block  *hclsyntax.Block
	parent *node
	label  string
	// args are the arguments by their name in the schema, also when they are
	// misspelt in the file; free are those of blocks that take any.
	args map[string]*hclsyntax.Attribute
	free []*hclsyntax.Attribute
	// blocks are the nested blocks in file order.
	blocks []*node
	vals   map[string]*value
	// bad: the block has a problem that makes conclusions from it unsafe;
	// unknown: it has arguments that may stand for what it lacks.
	bad, unknown bool
}

// all are the nested blocks of a type.
func (n *node) all(name string) []*node {
	var out []*node
	for _, c := range n.blocks {
		if c.schema.Name == name {
			out = append(out, c)
		}
	}
	return out
}

// one is the first nested block of a type, or nil.
func (n *node) one(name string) *node {
	for _, c := range n.blocks {
		if c.schema.Name == name {
			return c
		}
	}
	return nil
}

// String names the block as in a file: group "ledger".
func (n *node) String() string {
	if n.block == nil {
		return "the top level"
	}
	if len(n.schema.Labels) > 0 && n.label != "" {
		return fmt.Sprintf("%s %q", n.schema.Name, n.label)
	}
	return n.schema.Name
}

// tree checks the structure of all files against the schema.
func (l *loader) tree() {
	l.root = &node{schema: l.schema(), args: map[string]*hclsyntax.Attribute{}}
	for _, f := range l.files {
		l.body(l.root, f, f.body)
	}
	l.multiplicity(l.root, diag.Range{File: l.path})
	l.indexNames()
	if l.root.one("pipeline") == nil && !l.excused["pipeline"] {
		l.fail(diag.NoPipeline, diag.Range{File: l.path}, "no pipeline is declared", "Add a block pipeline \"name\" { } to the file.")
	}
}

// body fills a node with the arguments and blocks of one body.
func (l *loader) body(n *node, f *file, body *hclsyntax.Body) {
	for _, attr := range sortedAttributes(body) {
		arg := n.schema.Arg(attr.Name)
		switch {
		case arg != nil:
			n.args[arg.Name] = attr
		case n.schema.Free:
			n.free = append(n.free, attr)
		default:
			if arg = l.unknownArgument(n, f, attr); arg != nil && n.args[arg.Name] == nil {
				n.args[arg.Name] = attr
			}
		}
	}
	for _, block := range body.Blocks {
		l.block(n, f, block)
	}
}

// block checks one block and all below it.
func (l *loader) block(parent *node, f *file, block *hclsyntax.Block) {
	label := ""
	if len(block.Labels) > 0 {
		label = block.Labels[0]
	}
	s := parent.schema.Block(block.Type, label)
	if s == nil {
		if s = l.unknownBlock(parent, block); s == nil {
			return
		}
	}
	if s.Variant != "" && s.Variant != label {
		s = parent.schema.Block(s.Name, nearLabel(label, s.Labels[0].Allowed))
	}
	n := &node{schema: s, file: f, block: block, parent: parent, label: label, args: map[string]*hclsyntax.Attribute{}}
	if !l.labels(n) {
		n.bad, l.lost[s.Name] = true, true
	}
	parent.blocks = append(parent.blocks, n)
	l.body(n, f, block.Body)
	if n.schema.Variant == "" || !n.bad {
		l.multiplicity(n, l.header(n))
	}
}

// header is the first line of a block: its type and labels.
func (l *loader) header(n *node) diag.Range {
	end := n.block.TypeRange
	if k := len(n.block.LabelRanges); k > 0 {
		end = n.block.LabelRanges[k-1]
	}
	return eval.Range(l.report, hcl.RangeBetween(n.block.TypeRange, end))
}

// labels checks the labels of a block.
func (l *loader) labels(n *node) bool {
	want, got := n.schema.Labels, n.block.Labels
	if len(got) > len(want) {
		rng := eval.Range(l.report, hcl.RangeBetween(n.block.LabelRanges[len(want)], n.block.LabelRanges[len(got)-1]))
		before := n.block.TypeRange
		if len(want) > 0 {
			before = n.block.LabelRanges[len(want)-1]
		}
		gap := eval.Range(l.report, hcl.Range{Filename: before.Filename, Start: before.End, End: n.block.LabelRanges[len(got)-1].End})
		l.fail(diag.ExtraLabel, rng, fmt.Sprintf("%s takes %s", eval.A(n.schema.Name+" block"), count(len(want), "label")), "Remove what is too much.").Edit(gap, "")
		return len(want) > 0
	}
	if len(got) < len(want) {
		shape := fmt.Sprintf("%s %q { … }", n.schema.Name, want[0].Name)
		if allowed := want[0].Allowed; allowed != nil {
			shape = fmt.Sprintf("%s %q { … }", n.schema.Name, allowed[0])
		}
		d := l.fail(diag.MissingLabel, eval.Range(l.report, n.block.TypeRange), fmt.Sprintf("this %s block has no %s", n.schema.Name, want[0].Name), "Write "+shape+".")
		l.labelFromName(d, n)
		return false
	}
	if len(want) == 0 {
		return true
	}
	if want[0].Text {
		return l.labelText(n)
	}
	return l.labelValue(n, want[0])
}

// labelFromName proposes what a block without a label says in its argument
// name.
func (l *loader) labelFromName(d *diag.Diagnostic, n *node) {
	attr := n.block.Body.Attributes["name"]
	if attr == nil || n.schema.Labels[0].Allowed != nil {
		return
	}
	if text, _ := eval.LiteralText(attr.Expr); identifier(text) != "" {
		d.Suggest(fmt.Sprintf("%s %q", n.schema.Name, identifier(text)))
	}
}

// labelValue checks the label itself.
func (l *loader) labelValue(n *node, want schema.Label) bool {
	rng := eval.Range(l.report, n.block.LabelRanges[0])
	if want.Allowed != nil {
		if slices.Contains(want.Allowed, n.label) {
			return l.available(n, rng)
		}
		code := diag.InvalidValue
		if n.schema.Name == "grant" {
			code = diag.UnknownGrant
		}
		d := l.fail(code, rng, fmt.Sprintf("there is no %s %q", n.schema.Name, n.label), "Known are "+quotedList(want.Allowed)+".")
		if near := nearLabel(n.label, want.Allowed); near != "" {
			d.Suggest(near).Edit(rng, fmt.Sprintf("%q", near))
		} else if n.schema.Name == "broker" && !otherBroker(n.label) {
			d.Detail = "The label is the kind of broker, not its name. " + d.Detail
			d.Suggest(want.Allowed[0])
		}
		return false
	}
	if hclsyntax.ValidIdentifier(n.label) {
		return true
	}
	d := l.fail(diag.InvalidName, rng, fmt.Sprintf("%q cannot be used as a name", n.label), "References such as "+n.schema.Name+".name need letters, digits and underscores, beginning with a letter. A stream's or group's name on the server is set with name.")
	d.Suggest(identifier(n.label))
	return false
}

// available reports what the language reserves for later versions.
func (l *loader) available(n *node, rng diag.Range) bool {
	if !n.schema.Later() {
		return true
	}
	l.fail(diag.GrantUnavailable, rng, fmt.Sprintf("%s %q is not in this version", n.schema.Name, n.label), "It comes later. Only log can be granted now.")
	return false
}

// labelAliases are what people call the labels that are a closed list.
var labelAliases = map[string]string{
	"logs": "log", "logging": "log", "logger": "log", "console": "log", "print": "log", "https": "http", "net": "http", "network": "http", "fetch": "http", "cache": "kv", "store": "kv", "db": "sql", "database": "sql", "postgres": "sql",
	"valkey": "redis", "keydb": "redis", "inmemory": "memory", "in-memory": "memory", "mem": "memory", "local": "memory", "embedded": "memory",
}

// otherBroker reports whether a label names another kind of server.
func otherBroker(label string) bool {
	return slices.Contains([]string{"kafka", "redpanda", "rabbitmq", "amqp", "nats", "jetstream", "sqs", "pubsub", "pulsar", "postgres", "mysql", "kinesis", "mqtt", "zeromq"}, strings.ToLower(label))
}

func nearLabel(label string, allowed []string) string {
	if alias := labelAliases[strings.ToLower(label)]; slices.Contains(allowed, alias) {
		return alias
	}
	return diag.Nearest(label, allowed)
}

// multiplicity checks what must be there and what may be there once.
func (l *loader) multiplicity(n *node, at diag.Range) {
	for _, arg := range n.schema.Args {
		if arg.Required && n.args[arg.Name] == nil {
			l.missingArgument(n, arg, at)
		}
	}
	for _, name := range n.schema.BlockNames() {
		s, have := n.schema.Block(name, ""), n.all(name)
		if s.Max > 0 && len(have) > s.Max {
			for _, extra := range have[s.Max:] {
				l.tooMany(extra, have[0])
			}
		}
		if len(have) < s.Min && !l.excused[name] && !n.bad {
			l.fail(diag.MissingBlock, at, fmt.Sprintf("%s has no %s", n, name), "Add one: "+s.Why+".")
		}
	}
	for _, pair := range n.schema.Excludes {
		l.excludes(n, pair)
	}
}

// missingArgument reports a required argument that is not set.
func (l *loader) missingArgument(n *node, arg *schema.Arg, at diag.Range) {
	n.bad = true
	if n.unknown || l.excused[n.schema.Name+"."+arg.Name] {
		return
	}
	detail := "Set it: " + arg.Name + " = " + sample(arg) + "."
	if arg.Why != "" {
		detail += " It has no default: " + arg.Why + "."
	}
	d := l.fail(diag.MissingArgument, at, fmt.Sprintf("%s needs %s", n, arg.Name), detail)
	if only := l.onlyBlock(n, arg); only != "" {
		d.Suggest(fmt.Sprintf("%s = %s.%s", arg.Name, arg.Target, only))
	}
}

// onlyBlock is the label of the one block that a missing reference can name,
// or "". Dead letters go to a stream that says so.
func (l *loader) onlyBlock(n *node, arg *schema.Arg) string {
	found := ""
	if arg.Kind != schema.Reference || l.report.Full() {
		return ""
	}
	for _, f := range l.files {
		for _, b := range f.body.Blocks {
			if b.Type != arg.Target || len(b.Labels) != 1 || !hclsyntax.ValidIdentifier(b.Labels[0]) {
				continue
			}
			if n.schema.Name == "dead_letter" && !strings.Contains(b.Labels[0], "dead") && !strings.Contains(b.Labels[0], "dlq") {
				continue
			}
			if found != "" {
				return ""
			}
			found = b.Labels[0]
		}
	}
	return found
}

// tooMany reports a block that stands too often.
func (l *loader) tooMany(extra, first *node) {
	summary := fmt.Sprintf("a second %s block", extra.schema.Name)
	detail := "There may be one. Remove or merge the second."
	if extra.schema.Name == "reply" {
		detail = "A value goes to one reply stream. For several, use route blocks instead."
	}
	d := l.fail(diag.DuplicateBlock, l.header(extra), summary, detail).Relate(l.header(first), "the first is here")
	if extra.schema.Name == "reply" {
		d.Suggest("route")
	}
}

// excludes reports two blocks or arguments that may not stand together.
func (l *loader) excludes(n *node, pair [2]string) {
	a, b := n.one(pair[0]), n.one(pair[1])
	if a == nil || b == nil {
		return
	}
	detail := "A reply goes to one stream; routes choose among several. A route without when does what reply does."
	if pair[1] == "expect_error" {
		detail = "A service that refuses to start runs no step. Remove one of them, or write two tests."
	}
	l.fail(diag.Conflict, l.header(b), fmt.Sprintf("%s and %s exclude each other", pair[0], pair[1]), detail).
		Relate(l.header(a), "the "+pair[0]+" block is here")
}
