package topology

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strconv"
)

// style is the drawing's style sheet. Colours follow the scheme that the reader's
// system asks for; a kind is also told by its caption and its box, for those who
// see no colours. Names have a prefix, because a page may hold several drawings
// and styles of its own; variables of CSS would be shorter, and black in programs
// that do not know them.
const style = `
.pl { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; }
.pl-back { fill: #ffffff; }
.pl-box { stroke: #7b8796; }
.pl-stream .pl-box { fill: #e3effb; }
.pl-group .pl-box { fill: #f1f2f4; }
.pl-subscription .pl-box { fill: #e4f4e8; }
.pl-dead_letters .pl-box { fill: #fbe6e4; stroke-dasharray: 5 3; }
.pl-kind { font-size: 10px; fill: #5a6676; }
.pl-name { font-size: 13px; font-weight: 600; fill: #1c2430; }
.pl-note { font-size: 11px; fill: #46505e; }
.pl-edge { fill: none; stroke: #7b8796; stroke-width: 1.5; }
.pl-buries { stroke: #b3261e; stroke-dasharray: 5 3; }
.pl-tip { fill: #7b8796; }
.pl-label { font-size: 11px; fill: #46505e; stroke: #ffffff; stroke-width: 4px; paint-order: stroke; text-anchor: middle; }
@media (prefers-color-scheme: dark) {
  .pl-back { fill: #14181f; }
  .pl-stream .pl-box { fill: #1d3349; }
  .pl-group .pl-box { fill: #262b33; }
  .pl-subscription .pl-box { fill: #1d3a27; }
  .pl-dead_letters .pl-box { fill: #4a2422; }
  .pl-kind { fill: #a3adbb; }
  .pl-name { fill: #e6eaf0; }
  .pl-note { fill: #c0c8d2; }
  .pl-buries { stroke: #ff8a80; }
  .pl-label { fill: #c0c8d2; stroke: #14181f; }
}
`

// SVG draws the graph: layers from left to right, streams first. The file stands
// alone, and may be put into a page as it is.
func (g *Graph) SVG() string { return g.draw("<style>"+style+"</style>\n", 0, nil) }

// Part is the drawing as a part of a page that has the style of Style. It is made
// smaller, as far as it can be read then, to fit into width pixels. Link gives the
// address behind a node, "" for none.
func (g *Graph) Part(width int, link func(*Node) string) string { return g.draw("", width, link) }

// smallest is how far a drawing is made smaller.
const smallest = 0.72

// Style is the style sheet of Part, which a page that forbids styles within itself
// serves apart.
func Style() string { return style }

func (g *Graph) draw(styled string, fit int, link func(*Node) string) string {
	l := layer(g)
	width, height := l.place()
	lines, bottom := l.route(height - margin + laneGap)
	if bottom > height-margin+laneGap {
		height = bottom + margin - laneGap/2
	}
	d := &drawing{link: link}
	scale, role := 1.0, "img"
	if link != nil {
		scale, role = min(1, max(smallest, float64(fit)/float64(width))), "group" // an image has no links in it
	}
	d.printf(`<svg xmlns="http://www.w3.org/2000/svg" class="pl" role="%s" width="%d" height="%d" viewBox="0 0 %d %d">`+"\n",
		role, int(scale*float64(width)), int(scale*float64(height)), width, height)
	d.element("title", "", "Topology of the pipeline "+short(g.Pipeline, longest))
	d.printf("%s", styled)
	d.printf(`<defs><marker id="pl-tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto" markerUnits="userSpaceOnUse">` +
		`<path class="pl-tip" d="M0 0L8 4L0 8z"/></marker></defs>` + "\n")
	d.printf(`<rect class="pl-back" width="%d" height="%d"/>`+"\n", width, height)
	for _, line := range lines {
		d.edge(line)
	}
	for _, layer := range l.layers {
		for _, v := range layer {
			if v.node != nil {
				d.node(v)
			}
		}
	}
	for _, line := range lines { // above the boxes' lines
		if text := line.edge.caption(); text != "" && line.edge.Way != Buries { // that is told by colour, dashes and the box
			d.element("text", fmt.Sprintf(`class="pl-label" x="%d" y="%d"`, line.label.x, line.label.y-4), short(text, longest))
		}
	}
	d.printf("</svg>\n")
	return d.String()
}

// drawing is an SVG as it is written.
type drawing struct {
	bytes.Buffer

	// link is the address behind a node; nil for a drawing without links.
	link func(*Node) string
}

func (d *drawing) printf(format string, args ...any) { fmt.Fprintf(&d.Buffer, format, args...) }

// element writes an element with a text in it, escaped.
func (d *drawing) element(name, attributes, text string) {
	if attributes != "" {
		attributes = " " + attributes
	}
	d.printf("<%s%s>", name, attributes)
	_ = xml.EscapeText(&d.Buffer, []byte(text)) // a buffer takes everything
	d.printf("</%s>\n", name)
}

func (d *drawing) edge(l line) {
	d.printf(`<path class="pl-edge pl-%s" data-from="%s" data-to="%s" marker-end="url(#pl-tip)" d="M%s`,
		l.edge.Way, l.edge.From.ID, l.edge.To.ID, l.curves[0].from)
	for _, c := range l.curves {
		if c.straight {
			d.printf("L%s", c.to)
			continue
		}
		middle := (c.from.x + c.to.x) / 2
		d.printf("C%s %s %s", point{middle, c.from.y}, point{middle, c.to.y}, c.to)
	}
	d.printf(`"/>` + "\n")
}

// String is the point as a path has it.
func (p point) String() string { return strconv.Itoa(p.x) + " " + strconv.Itoa(p.y) }

func (d *drawing) node(v *vertex) {
	n := v.node
	round := map[Kind]int{Stream: 12, Letters: 12, Subscription: 5}[n.Kind]
	address := ""
	if d.link != nil {
		address = d.link(n)
	}
	if address != "" {
		d.printf(`<a href="`)
		_ = xml.EscapeText(&d.Buffer, []byte(address)) // a buffer takes everything
		d.printf("\">\n")
		defer d.printf("</a>\n")
	}
	d.printf(`<g class="pl-node pl-%s" data-node="%s">`+"\n", n.Kind, n.ID)
	d.element("title", "", short(n.caption()+" "+n.Name, whole))
	d.printf(`<rect class="pl-box" x="%d" y="%d" width="%d" height="%d" rx="%d"/>`+"\n", v.x, v.y, v.width, v.height, round)
	y := v.y + lineHeight
	text := func(class, line string) {
		d.element("text", fmt.Sprintf(`class="%s" x="%d" y="%d"`, class, v.x+padding, y), short(line, longest))
		y += lineHeight
	}
	text("pl-kind", n.caption())
	text("pl-name", n.Name)
	for _, line := range n.notes() {
		text("pl-note", line)
	}
	d.printf("</g>\n")
}

// whole is how much of a name is told beside the drawing.
const whole = 1000
