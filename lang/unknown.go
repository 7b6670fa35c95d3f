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

// unknownArgument reports an argument that the block does not have, and
// returns the one that was meant when it belongs to this very block: decoding
// goes on as if it were corrected, so that nothing is missed a second time.
func (l *loader) unknownArgument(n *node, attr *hclsyntax.Attribute) *schema.Arg {
	name := attr.Name
	rng := eval.Range(l.report, attr.NameRange)
	if l.report.Full() {
		l.fail(diag.UnknownArgument, rng, noArgument(n, name), "")
		return nil
	}
	if arg := meantArgument(n, name); arg != nil {
		l.fail(diag.UnknownArgument, rng, noArgument(n, name), "").Suggest(arg.Name).Edit(rng, arg.Name)
		return arg
	}
	if b := meantBlock(n.schema, name); b != nil && (b.Name == name || nearer(b, name) || !isScalar(attr.Expr)) {
		l.excuse(b)
		d := l.fail(diag.BlockAsArgument, rng, fmt.Sprintf("%s is a block, not an argument", b.Name), "Write "+shape(b)+", without an equals sign.")
		if b.Name != name {
			d.Suggest(b.Name)
		}
		return nil
	}
	if place, arg := l.elsewhere(n, name); arg != nil {
		l.misplaced(n, name, rng, place, arg)
		return nil
	}
	if b := topBlock(n, name); b != nil {
		l.excuse(b)
		l.fail(diag.MisplacedArgument, rng, fmt.Sprintf("%s is a block at the top level of the file", b.Name), "Write "+shape(b)+" there.")
		return nil
	}
	n.bad = true
	l.fail(diag.UnknownArgument, rng, noArgument(n, name), l.known(n))
	return nil
}

func noArgument(n *node, name string) string {
	if n.block == nil {
		return fmt.Sprintf("there is no argument %q at the top level", name)
	}
	return fmt.Sprintf("%s block has no argument %q", eval.A(n.schema.Name), name)
}

// known lists what a block takes.
func (l *loader) known(n *node) string {
	var parts []string
	if names := n.schema.ArgNames(); len(names) > 0 {
		parts = append(parts, "Its arguments are "+list(names)+".")
	}
	if names := n.schema.BlockNames(); len(names) > 0 {
		word := "Its blocks are "
		if n.block == nil {
			word = "Here stand the blocks "
		}
		parts = append(parts, word+list(names)+".")
	}
	if len(parts) == 0 {
		return "It takes none."
	}
	return strings.Join(parts, " ")
}

// meantArgument is the argument of the block that a name stands for: one edit
// away, or another tool's word. One that is still free is preferred.
func meantArgument(n *node, name string) *schema.Arg {
	var free, used []string
	for _, a := range n.schema.Args {
		if n.args[a.Name] == nil && !setIn(n, a.Name) {
			free = append(free, a.Name)
		} else {
			used = append(used, a.Name)
		}
	}
	lower := strings.ToLower(name)
	for _, a := range n.schema.Args {
		if slices.Contains(a.Synonyms, lower) && slices.Contains(free, a.Name) {
			return a
		}
	}
	if near := diag.Nearest(name, free); near != "" {
		return n.schema.Arg(near)
	}
	return n.schema.Arg(diag.Nearest(name, used))
}

// setIn reports whether the file sets an argument under its right name.
func setIn(n *node, name string) bool {
	return n.block != nil && n.block.Body.Attributes[name] != nil
}

// meantBlock is the nested block that a name stands for.
func meantBlock(s *schema.Block, name string) *schema.Block {
	if b := s.Block(name, ""); b != nil {
		return b
	}
	if near := diag.Nearest(name, s.BlockNames()); near != "" {
		return s.Block(near, "")
	}
	lower := strings.ToLower(name)
	for _, b := range s.Blocks {
		if slices.Contains(b.Synonyms, lower) {
			return b
		}
	}
	return nil
}

// isScalar reports whether a value is no object, so that no block can be meant.
func isScalar(e hclsyntax.Expression) bool {
	_, isObject := e.(*hclsyntax.ObjectConsExpr)
	return !isObject
}

// topBlock is the block of the top level that is called name.
func topBlock(n *node, name string) *schema.Block {
	if n.block == nil {
		return nil
	}
	return schema.Pipeline.Block(name, "")
}

// place is a block of the schema with its distance from where one stands.
type place struct {
	path     []string
	block    *schema.Block
	distance int
}

// elsewhere finds the nearest other block that has the argument, by its name or
// else by another tool's word or a misspelling in the blocks right below.
func (l *loader) elsewhere(n *node, name string) (place, *schema.Arg) {
	places := l.places(n)
	for _, p := range places {
		if a := p.block.Arg(name); a != nil {
			return p, a
		}
	}
	lower := strings.ToLower(name)
	for _, p := range places {
		if p.distance > 1 {
			break
		}
		for _, a := range p.block.Args {
			if slices.Contains(a.Synonyms, lower) {
				return p, a
			}
		}
		if near := diag.Nearest(name, p.block.ArgNames()); near != "" && len(name) > 4 {
			return p, p.block.Arg(near)
		}
	}
	return place{}, nil
}

// places are all blocks, those next to n first: its children, its parents, the
// rest.
func (l *loader) places(n *node) []place {
	var own []string
	for p := n; p != nil && p.block != nil; p = p.parent {
		own = append([]string{p.schema.Name}, own...)
	}
	var out []place
	schema.Pipeline.Walk(func(path []string, b *schema.Block) {
		if len(path) == 0 || b == n.schema {
			return
		}
		out = append(out, place{path, b, distance(own, path)})
	})
	slices.SortStableFunc(out, func(a, b place) int { return a.distance - b.distance })
	return out
}

// distance is how many steps of the tree lie between two paths; steps up count
// double, so that children come first.
func distance(from, to []string) int {
	common := 0
	for common < min(len(from), len(to)) && from[common] == to[common] {
		common++
	}
	return 2*(len(from)-common) + len(to) - common
}

// misplaced reports an argument that belongs to another block.
func (l *loader) misplaced(n *node, name string, rng diag.Range, p place, arg *schema.Arg) {
	for _, step := range p.path {
		l.excused[step] = true
	}
	l.excused[p.block.Name+"."+arg.Name] = true
	what := arg.Name
	if what != name {
		what = fmt.Sprintf("%s is called %s, and it", name, arg.Name)
	}
	detail := fmt.Sprintf("Write %s { %s = … }.", strings.TrimSuffix(shape(p.block), " { … }"), arg.Name)
	if p.distance > 1 || n.block == nil {
		detail = fmt.Sprintf("Move it there: %s.", strings.Join(p.path, " → "))
	}
	home := p.block.Name
	if p.block.Variant != "" {
		home = fmt.Sprintf("%s %q", p.block.Name, p.block.Variant)
	}
	d := l.fail(diag.MisplacedArgument, rng, fmt.Sprintf("%s belongs inside the %s block", what, home), detail)
	if arg.Name != name {
		d.Suggest(arg.Name)
	}
	if open := n.one(p.block.Name); open != nil {
		d.Relate(l.header(open), "the block is here")
	}
}

// excuse keeps a block, and what it requires, from being missed.
func (l *loader) excuse(b *schema.Block) { l.excused[b.Name] = true }

// unknownBlock reports a block that does not exist here, and returns the one
// that was meant, as which it is decoded.
func (l *loader) unknownBlock(parent *node, block *hclsyntax.Block) *schema.Block {
	name, rng := block.Type, eval.Range(l.report, block.TypeRange)
	if l.report.Full() {
		l.fail(diag.UnknownBlock, rng, noBlock(parent, name), "")
		return nil
	}
	if arg := parent.schema.Arg(name); arg != nil {
		l.argumentAsBlock(parent, block, arg, rng)
		return nil
	}
	if parent.schema.Free {
		l.fail(diag.ArgumentAsBlock, rng, fmt.Sprintf("%s takes arguments only", parent), fmt.Sprintf("Write %s = { … }.", name))
		return nil
	}
	near := meantBlock(parent.schema, name)
	if p := l.blockElsewhere(parent, name); p != nil && !nearer(near, name) {
		l.excuse(p.block)
		parent.bad = true
		l.fail(diag.MisplacedBlock, rng, fmt.Sprintf("%s belongs %s", name, within(p.path)), "Move the block there.")
		return nil
	}
	if near != nil {
		l.fail(diag.UnknownBlock, rng, noBlock(parent, name), "").Suggest(near.Name).Edit(rng, near.Name)
		label := ""
		if len(block.Labels) > 0 {
			label = block.Labels[0]
		}
		return parent.schema.Block(near.Name, label)
	}
	parent.bad = true
	l.excuseAll(parent)
	l.fail(diag.UnknownBlock, rng, noBlock(parent, name), l.known(parent))
	return nil
}

// nearer reports whether the block meant differs from the name only in what
// people mix up: a plural, a dash.
func nearer(b *schema.Block, name string) bool {
	return b != nil && b.Name != name && strings.TrimSuffix(strings.ToLower(name), "s") == b.Name
}

// excuseAll keeps what an unknown block could have been from being missed.
func (l *loader) excuseAll(parent *node) {
	for _, b := range parent.schema.Blocks {
		if b.Min > 0 {
			l.excuse(b)
		}
	}
}

func noBlock(parent *node, name string) string {
	if parent.block == nil {
		return fmt.Sprintf("there is no block %q", name)
	}
	return fmt.Sprintf("%s block has no block %q", eval.A(parent.schema.Name), name)
}

// argumentAsBlock reports an argument with braces in place of an equals sign.
func (l *loader) argumentAsBlock(parent *node, block *hclsyntax.Block, arg *schema.Arg, rng diag.Range) {
	l.excused[parent.schema.Name+"."+arg.Name] = true
	d := l.fail(diag.ArgumentAsBlock, rng, fmt.Sprintf("%s is an argument, not a block", arg.Name), fmt.Sprintf("Write %s = %s.", arg.Name, sample(arg)))
	if arg.Kind == schema.Headers || arg.Kind == schema.Any {
		d.Detail = fmt.Sprintf("Write %s = { … }.", arg.Name)
		at := eval.Range(l.report, hcl.Range{Filename: block.TypeRange.Filename, Start: block.TypeRange.End, End: block.TypeRange.End})
		d.Edit(at, " =")
	}
}

// blockElsewhere is the nearest other place where a block of the name stands.
func (l *loader) blockElsewhere(n *node, name string) *place {
	for _, p := range l.places(n) {
		if p.block.Name == name {
			return &p
		}
	}
	return nil
}

// within says where a path of blocks leads, in words.
func within(path []string) string {
	if len(path) == 1 {
		return "at the top level of the file"
	}
	return fmt.Sprintf("inside a %s block", path[len(path)-2])
}

// shape is how a block is written.
func shape(b *schema.Block) string {
	if len(b.Labels) > 0 {
		if b.Labels[0].Allowed != nil {
			return fmt.Sprintf("%s %q { … }", b.Name, b.Labels[0].Allowed[0])
		}
		return b.Name + " \"name\" { … }"
	}
	return b.Name + " { … }"
}
