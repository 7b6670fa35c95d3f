package topology

import (
	"slices"
	"strings"
)

// Text is the graph as a tree for a terminal: below each stream its groups, below
// each group what it does with entries. Streams that no group reads come last.
func (g *Graph) Text() string {
	var b strings.Builder
	title := short(g.Pipeline, whole)
	if g.Version != "" {
		title += " " + short(g.Version, whole)
	}
	b.WriteString(title + "\n")
	var unread []*Node
	for _, n := range g.Nodes {
		if n.Kind != Stream && n.Kind != Letters {
			continue
		}
		groups := g.from(n)
		if len(groups) == 0 {
			unread = append(unread, n)
			continue
		}
		b.WriteString("\n" + n.line() + "\n")
		for i, e := range groups {
			g.branch(&b, e.To, "", i == len(groups)-1)
		}
	}
	if len(unread) > 0 {
		b.WriteString("\nread by no group of this pipeline\n")
	}
	for i, n := range unread {
		b.WriteString(stems[i == len(unread)-1][0] + n.line() + "\n")
	}
	return b.String()
}

// stems stand before a line of the tree, and before the lines below it, by whether
// it is the last of its branch.
var stems = map[bool][2]string{false: {"├─ ", "│  "}, true: {"└─ ", "   "}}

// branch writes a node and what is below it.
func (g *Graph) branch(b *strings.Builder, n *Node, indent string, last bool) {
	b.WriteString(indent + stems[last][0] + n.line() + "\n")
	indent += stems[last][1]
	// What becomes of entries, and what of those that fail.
	next := g.from(n)
	slices.SortStableFunc(next, func(x, y *Edge) int { return order(x) - order(y) })
	for i, e := range next {
		last := i == len(next)-1
		if e.Way == Hands {
			g.branch(b, e.To, indent, last)
			continue
		}
		b.WriteString(indent + stems[last][0] + short(e.caption(), whole) + " → " + short(e.To.Name, whole) + "\n")
	}
}

func order(e *Edge) int {
	if e.Way == Buries {
		return 1
	}
	return 0
}

// line is a node in one line.
func (n *Node) line() string {
	line := n.caption() + " " + n.Name
	if notes := n.notes(); len(notes) > 0 {
		line += " (" + strings.Join(notes, ", ") + ")"
	}
	return short(line, whole)
}
