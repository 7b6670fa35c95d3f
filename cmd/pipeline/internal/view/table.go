package view

// cell is one field of a table.
type cell struct {
	text  string
	style style
}

// table is a small table whose rows are known before it is printed.
type table struct {
	head []string
	// right aligns a column to the right.
	right map[int]bool
	rows  [][]cell
	// floor are the least widths of columns, which grow with what is printed; nil
	// where the table is printed in one.
	floor []int
	// headless leaves the head out.
	headless bool
}

func (t *table) row(cells ...cell) { t.rows = append(t.rows, cells) }

// gap stands between columns.
const gap = 2

// append renders the table. The last column is cut to what is left of width,
// unless that is 0; a column with no text in any row is left out.
func (t *table) append(dst []byte, p paint, width int) []byte {
	widths := t.widths()
	if !t.headless {
		dst = t.line(dst, p, width, widths, func(i int) cell { return cell{t.head[i], dim} })
	}
	for _, row := range t.rows {
		dst = t.line(dst, p, width, widths, func(i int) cell { return row[i] })
	}
	return dst
}

// widths are the columns' widths; 0 for one that is left out.
func (t *table) widths() []int {
	widths := make([]int, len(t.head))
	for _, row := range t.rows {
		for i := range row {
			row[i].text = clean(row[i].text)
			widths[i] = max(widths[i], columns(row[i].text))
		}
	}
	for i, w := range widths {
		if w > 0 {
			widths[i] = max(w, columns(t.head[i]))
		}
	}
	for i := range t.floor {
		widths[i] = max(widths[i], t.floor[i])
		t.floor[i] = widths[i]
	}
	return widths
}

func (t *table) line(dst []byte, p paint, width int, widths []int, at func(int) cell) []byte {
	used, pending := 0, 0
	for i, w := range widths {
		if w == 0 {
			continue
		}
		c := at(i)
		last := i == len(widths)-1
		if last && width > 0 && used+pending < width {
			c.text = fit(c.text, width-used-pending)
		}
		space := w - columns(c.text)
		if t.right[i] {
			pending, space = pending+space, 0
		}
		if c.text != "" {
			dst = appendSpaces(dst, pending)
			dst = p.append(dst, c.style, c.text)
			used, pending = used+pending+columns(c.text), 0
		}
		pending += space + gap
	}
	return append(dst, '\n')
}
