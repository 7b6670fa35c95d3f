package view

import "time"

// Progress is how far long work has come.
type Progress struct {
	// What is being done: "published".
	What    string
	Entries int64
	Bytes   int64
	// Total is the size of the input in bytes; 0 when it is not known.
	Total   int64
	Elapsed time.Duration
	// About is roughly how many entries there will be; 0 when it is not known.
	// Then Bytes and Total are shown. At is the time of the last one, or zero.
	About int64
	At    time.Time
}

// Progress shows p on the last line of stderr, in place of the one before. It
// does nothing where stderr is no terminal or JSON is printed.
func (v *View) Progress(p Progress) {
	if !v.o.ErrTerminal || v.o.JSON {
		return
	}
	text := p.What + " " + count(p.Entries, "entry", "entries")
	if p.About > 0 {
		text += " of about " + number(p.About) + ", " + number(min(100, p.Entries*100/p.About)) + " %"
		if !p.At.IsZero() {
			text += ", at " + p.At.UTC().Format(time.RFC3339)
		}
	} else if p.Total > 0 {
		text += ", " + number(min(100, p.Bytes*100/p.Total)) + " % of " + size(p.Total)
	} else {
		text += ", " + size(p.Bytes)
	}
	if seconds := p.Elapsed.Seconds(); seconds > 0 {
		text += ", " + number(int64(float64(p.Entries)/seconds)) + " a second"
	}
	v.showProgress(text)
}

// showProgress shows a text in place of the progress before.
func (v *View) showProgress(text string) {
	if !v.o.ErrTerminal || v.o.JSON {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clearProgress()
	v.progress = text
	_, _ = v.o.Err.Write(paint(v.o.ErrColor).append(nil, dim, text))
}

// clearProgress takes the progress off the terminal, for a line to be printed.
func (v *View) clearProgress() {
	if v.progress == "" {
		return
	}
	v.progress = ""
	_, _ = v.o.Err.Write([]byte("\r\x1b[K"))
}
