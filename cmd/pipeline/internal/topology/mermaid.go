package topology

import (
	"strconv"
	"strings"
)

// Mermaid is the graph as a flowchart of Mermaid, which wikis and forges draw.
func (g *Graph) Mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for _, n := range g.Nodes {
		shape := mermaidShapes[n.Kind]
		b.WriteString("  " + n.ID + shape[0] + `"` + n.joined("<br>", entities) + `"` + shape[1] + "\n")
	}
	for _, e := range g.Edges {
		arrow := " -->"
		if e.Way == Buries {
			arrow = " -.->"
		}
		if c := e.caption(); c != "" {
			arrow += `|"` + entities(c) + `"|`
		}
		b.WriteString("  " + e.From.ID + arrow + " " + e.To.ID + "\n")
	}
	return b.String()
}

var mermaidShapes = map[Kind][2]string{
	Stream: {"([", "])"}, Letters: {"[(", ")]"}, Group: {"[", "]"}, Subscription: {"(", ")"},
}

// entities is a text as a label of Mermaid. What has a meaning to it, to HTML, or
// to the Markdown that labels are read as, is written as an entity: all of ASCII
// but letters, digits, single spaces, and signs between letters or digits. A colon
// would be fatal before a semicolon, for Mermaid looks for "style…:…#…;".
func entities(s string) string {
	text := []rune(short(s, longest))
	plain := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] >= 0x80 || text[i] >= '0' && text[i] <= '9' ||
			text[i] >= 'a' && text[i] <= 'z' || text[i] >= 'A' && text[i] <= 'Z')
	}
	var b strings.Builder
	for i, r := range text {
		switch {
		case plain(i),
			r == ' ' && (plain(i-1) || i > 0 && text[i-1] == ',') && plain(i+1),
			r == ',' && plain(i-1),
			strings.ContainsRune("._-/", r) && plain(i-1) && plain(i+1):
			b.WriteRune(r)
		default:
			b.WriteString("#" + strconv.Itoa(int(r)) + ";")
		}
	}
	return b.String()
}
