package view

import (
	"strings"

	"pipeline/lang/diag"
)

// Explanation is all there is to say about a code. Parts may be empty.
type Explanation struct {
	Code diag.Code `json:"code"`
	// Meaning is what was found, Action what to do about it.
	Meaning string `json:"meaning"`
	Action  string `json:"action"`
	// Exits are the exit codes that it comes with.
	Exits []int `json:"exits,omitempty"`
	// Text are paragraphs: why it matters.
	Text []string `json:"text"`
	// Bad prints Report; Good is the same without the problem.
	Bad    []Listing `json:"bad,omitempty"`
	Report string    `json:"report,omitempty"`
	Good   []Listing `json:"good,omitempty"`
	// Part says that the examples are parts of a pipeline.
	Part bool `json:"part,omitempty"`
}

// Listing is a file of an example or, without a name, a command.
type Listing struct {
	Name string `json:"name,omitempty"`
	Text string `json:"text"`
}

// proseWidth is how wide a text is set at most: longer lines are hard to read.
const proseWidth = 88

// Explain prints the explanation of a code.
func (v *View) Explain(e Explanation) {
	if v.o.JSON {
		v.event(struct {
			Event string `json:"event"`
			Explanation
		}{"explanation", e})
		return
	}
	p := paint(v.o.Color)
	dst := append(p.append(nil, bold, string(e.Code)), "\n\n"...)
	dst = v.prose(dst, e.Meaning+" "+e.Action)
	if len(e.Exits) > 0 {
		dst = v.prose(dst, "Exit code: "+exits(e.Exits)+".")
	}
	for _, text := range e.Text {
		dst = v.prose(dst, text)
	}
	if e.Report != "" {
		of := "This"
		if e.Part {
			of = "In a pipeline that is otherwise complete, this"
		}
		dst = v.prose(dst, of+" is reported:")
		dst = v.listings(dst, e.Bad)
		dst = indented(dst, e.Report)
		dst = v.prose(dst, "And this is right:")
		dst = v.listings(dst, e.Good)
	}
	v.write(dst[:len(dst)-1]) // without the last empty line
}

// exits joins exit codes: "1 or 2".
func exits(codes []int) string {
	var words []string
	for _, c := range codes {
		words = append(words, number(int64(c)))
	}
	return strings.Join(words, " or ")
}

// prose sets a paragraph, with an empty line behind it.
func (v *View) prose(dst []byte, text string) []byte {
	width := proseWidth
	if v.o.Width > 0 {
		width = min(width, v.o.Width)
	}
	used := 0
	for word := range strings.FieldsSeq(text) {
		n := columns(word)
		switch {
		case used == 0:
		case used+1+n > width:
			dst, used = append(dst, '\n'), 0
		default:
			dst, used = append(dst, ' '), used+1
		}
		dst, used = append(dst, word...), used+n
	}
	return append(dst, "\n\n"...)
}

// listings prints files and commands, indented, each with its name above.
func (v *View) listings(dst []byte, listings []Listing) []byte {
	for _, l := range listings {
		text := l.Text
		if l.Name != "" && len(listings) > 1 {
			dst = paint(v.o.Color).append(append(dst, "    "...), dim, "# "+l.Name)
			dst = append(dst, '\n')
		}
		dst = indented(dst, text)
	}
	return dst
}

// indented prints text that is shown as it is, with an empty line behind it.
func indented(dst []byte, text string) []byte {
	for line := range strings.Lines(strings.TrimRight(text, "\n") + "\n") {
		if line != "\n" {
			dst = append(dst, "    "...)
		}
		dst = append(dst, line...)
	}
	return append(dst, '\n')
}

// Code is a code in one line.
type Code struct {
	Code    diag.Code `json:"code"`
	Meaning string    `json:"meaning"`
}

// Codes prints codes, one a line.
func (v *View) Codes(codes []Code) {
	if v.o.JSON {
		for _, c := range codes {
			v.event(struct {
				Event string `json:"event"`
				Code
			}{"code", c})
		}
		return
	}
	t := table{head: []string{"CODE", "MEANING"}}
	for _, c := range codes {
		t.row(cell{string(c.Code), plain}, cell{c.Meaning, plain})
	}
	v.write(t.append(nil, paint(v.o.Color), v.o.Width))
}
