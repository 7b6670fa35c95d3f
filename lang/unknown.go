package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

// unknownArgument reports an argument that the block does not have, and
// returns the one that was meant when it belongs to this very block: decoding
// goes on as if it were corrected, so that nothing is missed a second time.
func (l *loader) unknownArgument(n *node, f *file, attr *hclsyntax.Attribute) *schema.Arg {
	name := attr.Name
	rng := eval.Range(l.report, attr.NameRange)
	if l.report.Full() {
		l.fail(diag.UnknownArgument, rng, noArgument(n, name), "")
		return nil
	}
	if arg := meantArgument(n, name); arg != nil {
		return l.renamed(n, rng, name, arg)
	}
	if l.blockAsArgument(n, f, attr, rng) {
		return nil
	}
	if place, arg := l.elsewhere(n, name); arg != nil && !l.isForeign(n, name, place) {
		l.misplaced(n, attr, rng, place, arg)
		return nil
	}
	if arg := qualifiedArgument(n, name); arg != nil {
		return l.renamed(n, rng, name, arg)
	}
	if b := l.topBlock(n, name); b != nil {
		l.excuse(b)
		l.fail(diag.MisplacedArgument, rng, fmt.Sprintf("%s is a block at the top level of the file", b.Name), "Write "+shape(b)+" there.")
		return nil
	}
	n.bad, n.unknown = true, true
	l.noSuchArgument(n, attr, rng)
	return nil
}

// renamed reports an argument that is called otherwise here.
func (l *loader) renamed(n *node, rng diag.Range, name string, arg *schema.Arg) *schema.Arg {
	l.fail(diag.UnknownArgument, rng, noArgument(n, name), "").Suggest(arg.Name).Edit(rng, arg.Name)
	return arg
}

// isForeign reports whether a name is rather another tool's word than the
// argument of a far block.
func (l *loader) isForeign(n *node, name string, p place) bool {
	_, foreign := foreignWords[name]
	return p.distance > 1 && (foreign || name == "name" && n.block != nil)
}

// noSuchArgument reports an argument that stands for none.
func (l *loader) noSuchArgument(n *node, attr *hclsyntax.Attribute, rng diag.Range) {
	if attr.Name == "name" && n.block != nil && len(n.schema.Labels) > 0 && n.schema.Labels[0].Allowed == nil {
		l.fail(diag.UnknownArgument, rng, noArgument(n, "name"), fmt.Sprintf("Its name is the label: %s \"name\" { … }.", n.schema.Name))
		return
	}
	word, ok := foreignWords[attr.Name]
	if !ok {
		l.fail(diag.UnknownArgument, rng, noArgument(n, attr.Name), l.known(n))
		return
	}
	d := l.fail(diag.UnknownArgument, rng, noArgument(n, attr.Name), word.here)
	if word.needless {
		d.Edit(l.wholeLines(attr.SrcRange), "")
	}
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

// topBlock is the block of the top level that is called name.
func (l *loader) topBlock(n *node, name string) *schema.Block {
	if n.block == nil {
		return nil
	}
	return l.schema().Block(name, "")
}

// excuse keeps a block, and what it requires, from being missed.
func (l *loader) excuse(b *schema.Block) { l.excused[b.Name] = true }
