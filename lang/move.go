package lang

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

// move adds the edits that put a misplaced argument where it belongs, when
// there is one such place: a nested block that is there or can be made, or the
// block around.
func (l *loader) move(d *diag.Diagnostic, n *node, attr *hclsyntax.Attribute, p place, arg *schema.Arg) {
	text := arg.Name + " = " + l.sourceOf(attr.Expr.Range())
	if p.below && p.distance == 1 {
		switch home := blocksOf(n.block.Body, p.block.Name); {
		case len(home) == 1:
			l.relocate(d, attr, home[0], arg, text)
		case len(home) == 0 && canBeMade(p.block, arg):
			d.Edit(eval.Range(l.report, attr.SrcRange), l.block1(p.block.Name, text, attr.SrcRange))
		}
		return
	}
	if n.parent != nil && n.parent.block != nil && n.parent.schema == p.block {
		l.relocate(d, attr, n.parent.block, arg, text)
	}
}

// relocate moves an argument to the first line of a block that lacks it.
func (l *loader) relocate(d *diag.Diagnostic, attr *hclsyntax.Attribute, home *hclsyntax.Block, arg *schema.Arg, text string) {
	d.Relate(eval.Range(l.report, home.TypeRange), "the block is here")
	d.Detail = "Move it there."
	if home.Body.Attributes[arg.Name] != nil {
		d.Detail = "It is set there already: remove this one."
	}
	if home.Body.Attributes[arg.Name] != nil || home.OpenBraceRange.Start.Line == home.CloseBraceRange.Start.Line {
		return
	}
	at := home.OpenBraceRange
	at.Start = at.End
	indent := strings.Repeat(" ", home.TypeRange.Start.Column+1)
	edits := []diag.Edit{
		{Range: l.wholeLines(attr.SrcRange), Text: ""},
		{Range: eval.Range(l.report, at), Text: "\n" + indent + text},
	}
	slices.SortFunc(edits, func(a, b diag.Edit) int { return a.Range.Start.Byte - b.Range.Start.Byte })
	d.Edits = append(d.Edits, edits...)
}

// blocksOf are the blocks of a type in a body.
func blocksOf(body *hclsyntax.Body, name string) []*hclsyntax.Block {
	var out []*hclsyntax.Block
	for _, b := range body.Blocks {
		if b.Type == name {
			out = append(out, b)
		}
	}
	return out
}

// canBeMade reports whether a block needs nothing besides one argument.
func canBeMade(b *schema.Block, only *schema.Arg) bool {
	for _, a := range b.Args {
		if a.Required && a != only {
			return false
		}
	}
	return len(b.Labels) == 0
}

// block1 writes a block with one argument in place of what stands at a range.
func (l *loader) block1(name, text string, at hcl.Range) string {
	indent := strings.Repeat(" ", at.Start.Column-1)
	return fmt.Sprintf("%s {\n%s  %s\n%s}", name, indent, text, indent)
}

// sourceOf is the text at a range.
func (l *loader) sourceOf(rng hcl.Range) string {
	src := l.report.Source(rng.Filename)
	if src == nil {
		return ""
	}
	return string(rng.SliceBytes(src.Text))
}

// wholeLines is a range with its indentation and its line break, when nothing
// else stands on its lines.
func (l *loader) wholeLines(rng hcl.Range) diag.Range {
	src := l.report.Source(rng.Filename)
	start, end := rng.Start.Byte, rng.End.Byte
	before := src.Text[:start]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	after, rest, _ := bytes.Cut(src.Text[end:], []byte("\n"))
	if len(bytes.TrimSpace(line)) > 0 || len(bytes.TrimSpace(after)) > 0 {
		return src.Range(start, end)
	}
	return src.Range(start-len(line), len(src.Text)-len(rest))
}
