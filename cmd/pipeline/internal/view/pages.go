package view

// pageRows is how many rows of a long table are laid out together.
const pageRows = 500

// pages is a table that may be long: it is printed in parts, so that it need not
// be held in memory. Columns never become narrower from part to part.
type pages struct {
	v *View
	table
	headed bool
}

func (v *View) pages(right map[int]bool, head ...string) *pages {
	return &pages{v: v, table: table{head: head, right: right}}
}

func (p *pages) row(cells ...cell) {
	if p.table.row(cells...); len(p.rows) == pageRows {
		p.flush()
	}
}

// flush prints the rows of a part. A table of one part leaves out empty columns; in a
// longer one they may be filled later.
func (p *pages) flush() {
	if p.floor == nil {
		for _, name := range p.head {
			p.floor = append(p.floor, columns(name))
		}
	}
	p.end()
}

// end prints what is left and reports whether there was anything at all.
func (p *pages) end() bool {
	if len(p.rows) == 0 {
		return p.headed
	}
	p.headless = p.headed
	p.v.write(p.append(nil, paint(p.v.o.Color), p.v.o.Width))
	p.rows, p.headed = p.rows[:0], true
	return true
}
