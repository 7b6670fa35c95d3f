package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/schema"
)

// place is a block of the schema with its distance from where one stands.
type place struct {
	path     []string
	block    *schema.Block
	distance int
	// below: one gets there from block to nested block.
	below bool
}

// elsewhere finds the nearest other block that has the argument, by its name or
// else by another tool's word or a misspelling in the blocks below.
func (l *loader) elsewhere(n *node, name string) (place, *schema.Arg) {
	places := l.places(n)
	for _, p := range places {
		if a := p.block.Arg(name); a != nil {
			return p, a
		}
	}
	for _, p := range places {
		if !p.below {
			continue
		}
		for _, a := range p.block.Args {
			if isSynonym(a.Synonyms, name) {
				return p, a
			}
		}
		if near := diag.Nearest(name, p.block.ArgNames()); p.distance < 2 && near != "" && len(name) > 4 {
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
	l.schema().Walk(func(path []string, b *schema.Block) {
		if len(path) == 0 || b == n.schema {
			return
		}
		out = append(out, place{path, b, distance(own, path), len(own) > 0 && len(path) > len(own) && slices.Equal(own, path[:len(own)])})
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
func (l *loader) misplaced(n *node, attr *hclsyntax.Attribute, rng diag.Range, p place, arg *schema.Arg) {
	for _, step := range p.path {
		l.excused[step] = true
	}
	l.excused[p.block.Name+"."+arg.Name] = true
	what := arg.Name
	if what != attr.Name {
		what = fmt.Sprintf("%s is called %s, and it", attr.Name, arg.Name)
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
	if arg.Name != attr.Name {
		d.Suggest(arg.Name)
	}
	if n.parent != nil && slices.ContainsFunc(n.parent.schema.Excludes, func(pair [2]string) bool {
		return slices.Contains(pair[:], n.schema.Name) && slices.Contains(pair[:], p.block.Name)
	}) {
		d.Detail = fmt.Sprintf("Write %s in place of %s.", shape(p.block), n.schema.Name)
		d.Suggest(p.block.Name)
		return
	}
	l.move(d, n, attr, p, arg)
}
