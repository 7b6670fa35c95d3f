package topology

import (
	"strings"
)

// Dot is the graph in the language of Graphviz.
func (g *Graph) Dot() string {
	var b strings.Builder
	b.WriteString("digraph " + quote(g.Pipeline) + " {\n")
	b.WriteString("  rankdir=LR;\n  node [shape=box, fontname=\"monospace\", fontsize=11];\n  edge [fontname=\"monospace\", fontsize=10];\n")
	for _, n := range g.Nodes {
		b.WriteString("  " + n.ID + ` [label="` + n.joined(`\n`, quoted) + `"` + dotShapes[n.Kind] + "];\n")
	}
	for _, e := range g.Edges {
		b.WriteString("  " + e.From.ID + " -> " + e.To.ID)
		var with []string
		if c := e.caption(); c != "" {
			with = append(with, "label="+quote(c))
		}
		if e.Way == Buries {
			with = append(with, "style=dashed", `color="#b3261e"`)
		}
		if len(with) > 0 {
			b.WriteString(" [" + strings.Join(with, ", ") + "]")
		}
		b.WriteString(";\n")
	}
	b.WriteString("}\n")
	return b.String()
}

var dotShapes = map[Kind]string{
	Stream:       `, style="rounded,filled", fillcolor="#e3effb"`,
	Letters:      `, style="rounded,filled,dashed", fillcolor="#fbe6e4"`,
	Group:        `, style=filled, fillcolor="#f1f2f4"`,
	Subscription: `, style="rounded,filled", fillcolor="#e4f4e8"`,
}

func quote(s string) string { return `"` + quoted(s) + `"` }

// quoted is a text within the quotes of dot. A backslash begins an escape in a
// label (\N is the node's name), and so does an ampersand: labels know the entities
// of HTML.
func quoted(s string) string {
	return strings.NewReplacer(`\`, `\\`, `"`, `\"`, "&", "&amp;").Replace(short(s, longest))
}
