package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

// unknownBlock reports a block that does not exist here, and returns the one
// that was meant, as which it is decoded.
func (l *loader) unknownBlock(parent *node, block *hclsyntax.Block) *schema.Block {
	name, rng := block.Type, eval.Range(l.report, block.TypeRange)
	if l.report.Full() {
		l.fail(diag.UnknownBlock, rng, noBlock(parent, name), "")
		return nil
	}
	if l.wrongFile(parent, block, rng) {
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
		l.lose(p.block, block)
		d := l.fail(diag.MisplacedBlock, rng, fmt.Sprintf("%s belongs %s", name, within(p.path)), "Move the block there.")
		if home := l.homeOf(p.path); home != nil {
			d.Relate(l.header(&node{block: home}), "such a block is here")
		}
		return nil
	}
	if near != nil && (misspelt(near, name) || fits(parent, near, block)) {
		l.fail(diag.UnknownBlock, rng, noBlock(parent, name), "").Suggest(near.Name).Edit(rng, near.Name)
		label := ""
		if len(block.Labels) > 0 {
			label = block.Labels[0]
		}
		return parent.schema.Block(near.Name, label)
	}
	parent.bad = true
	l.excuseAll(parent)
	l.lose(near, block)
	l.noSuchBlock(parent, near, block, rng)
	return nil
}

// noSuchBlock reports a block that cannot be read as any other.
func (l *loader) noSuchBlock(parent *node, near *schema.Block, block *hclsyntax.Block, rng diag.Range) {
	word, foreign := foreignWords[block.Type]
	switch {
	case foreign:
		d := l.fail(diag.UnknownBlock, rng, noBlock(parent, block.Type), word.here)
		if word.needless {
			d.Edit(l.wholeLines(block.Range()), "")
		}
		if block.Type == "dynamic" && len(block.Labels) == 1 && parent.schema.Block(block.Labels[0], "") != nil {
			d.Suggest(block.Labels[0])
		}
	case block.Type == "resource" && len(block.Labels) == 2 && parent.schema.Block(block.Labels[0], "") != nil:
		shape := fmt.Sprintf("%s %q", block.Labels[0], block.Labels[1])
		l.fail(diag.UnknownBlock, rng, noBlock(parent, block.Type), "A block's type stands in front: "+shape+" { … }.").
			Suggest(shape).Edit(l.header(&node{block: block}), shape)
	case near != nil:
		l.fail(diag.UnknownBlock, rng, noBlock(parent, block.Type), "It is written "+shape(near)+".").Suggest(near.Name)
	default:
		l.fail(diag.UnknownBlock, rng, noBlock(parent, block.Type), l.known(parent))
	}
}

// lose keeps references to a block that was not read from being reported: by
// its type, when that is known, or to any block of its name.
func (l *loader) lose(b *schema.Block, block *hclsyntax.Block) {
	if b != nil {
		l.lost[b.Name] = true
	}
	for _, label := range block.Labels {
		l.lost["."+label] = true
	}
}

// nearer reports whether the block meant differs from the name only in what
// people mix up: a plural, a dash.
func nearer(b *schema.Block, name string) bool {
	return b != nil && b.Name != name && (diag.Same(strings.TrimSuffix(name, "s"), b.Name) || diag.Same(name, b.Name))
}

// excuseAll keeps what an unknown block could have been from being missed.
func (l *loader) excuseAll(parent *node) {
	for _, b := range parent.schema.Blocks {
		l.excuse(b)
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
	if arg.Kind == schema.Reference && len(block.Labels) == 1 && hclsyntax.ValidIdentifier(block.Labels[0]) {
		ref := fmt.Sprintf("%s = %s.%s", arg.Name, arg.Target, block.Labels[0])
		d.Detail = fmt.Sprintf("The block %s %q stands at the top level of the file.", arg.Target, block.Labels[0])
		d.Suggest(ref)
	}
	if arg.Kind == schema.Headers || arg.Kind == schema.Any {
		d.Detail = fmt.Sprintf("Write %s = { … }.", arg.Name)
		at := eval.Range(l.report, hcl.Range{Filename: block.TypeRange.Filename, Start: block.TypeRange.End, End: block.TypeRange.End})
		d.Edit(at, " =")
	}
}

// homeOf is the one block of the files in which a block of a path can stand,
// nil when there are several or none.
func (l *loader) homeOf(path []string) *hclsyntax.Block {
	if len(path) < 2 {
		return nil
	}
	var bodies []*hclsyntax.Body
	for _, f := range l.files {
		bodies = append(bodies, f.body)
	}
	var found []*hclsyntax.Block
	for _, name := range path[:len(path)-1] {
		found = nil
		for _, body := range bodies {
			found = append(found, blocksOf(body, name)...)
		}
		bodies = nil
		for _, b := range found {
			bodies = append(bodies, b.Body)
		}
	}
	if len(found) != 1 {
		return nil
	}
	return found[0]
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
		if b.Variant != "" {
			return fmt.Sprintf("%s %q { … }", b.Name, b.Variant)
		}
		if b.Labels[0].Allowed != nil {
			return fmt.Sprintf("%s %q { … }", b.Name, b.Labels[0].Allowed[0])
		}
		return b.Name + " \"name\" { … }"
	}
	return b.Name + " { … }"
}
