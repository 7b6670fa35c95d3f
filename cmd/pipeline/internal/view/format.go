package view

import (
	"bytes"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Formatted is what became of a file that was to be laid out.
type Formatted struct {
	File string
	// Changed: the layout differs from the file. Written: the file has it now.
	Changed, Written bool
	// ShowDiff shows the difference between Before and After, with secrets
	// masked in both, instead of the name.
	ShowDiff      bool
	Before, After []byte
	// Text is the layout of what was read from stdin; nil for a file.
	Text []byte
}

// Formatted prints what became of a file. A file that was laid out already is
// told in JSON only.
func (v *View) Formatted(f Formatted) {
	var difference []byte
	if f.ShowDiff && f.Changed {
		difference = diff.Diff(f.File+".orig", f.Before, f.File, f.After)
	}
	switch {
	case v.o.JSON:
		v.event(struct {
			Event   string  `json:"event"`
			File    string  `json:"file"`
			Changed bool    `json:"changed"`
			Written bool    `json:"written"`
			Diff    *string `json:"diff,omitempty"`
			Text    *string `json:"text,omitempty"`
		}{"formatted", f.File, f.Changed, f.Written, given(difference, f.ShowDiff), given(f.Text, f.Text != nil)})
	case f.ShowDiff:
		v.write(v.difference(difference))
	case f.Text != nil:
		v.write(f.Text)
	case f.Changed:
		v.write([]byte(clean(f.File) + "\n"))
	}
}

func given(text []byte, ok bool) *string {
	if !ok {
		return nil
	}
	s := string(text)
	return &s
}

// difference is a difference as it is shown. A program gets it as it is, so that
// it can be applied; a terminal gets colours, and nothing that moves the cursor.
func (v *View) difference(text []byte) []byte {
	if v.o.Width == 0 {
		return text
	}
	colors := map[byte]style{'+': green, '-': red, '@': cyan}
	p := paint(v.o.Color)
	var b []byte
	for line := range bytes.Lines(text) {
		s := strings.TrimSuffix(string(line), "\n")
		b = append(p.append(b, colors[line[0]], clean(strings.ReplaceAll(s, "\t", "    "))), '\n')
	}
	return b
}
