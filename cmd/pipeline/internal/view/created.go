package view

// Step is a command to go on with.
type Step struct {
	Command string `json:"command"`
	// Why is what it is good for, as the end of "to …".
	Why string `json:"why"`
}

// Created prints the name of a file that was created.
func (v *View) Created(file string) {
	if v.o.JSON {
		v.event(struct {
			Event string `json:"event"`
			File  string `json:"file"`
		}{"created", file})
		return
	}
	v.write([]byte("created " + clean(file) + "\n"))
}

// Paste prints blocks that are to be added to a file by hand.
func (v *View) Paste(into, text string) {
	if v.o.JSON {
		v.event(struct {
			Event string `json:"event"`
			File  string `json:"file"`
			Text  string `json:"text"`
		}{"paste", into, text})
		return
	}
	v.write([]byte("\nAdd this to " + clean(into) + ":\n\n" + text))
}

// Next prints commands to go on with.
func (v *View) Next(steps []Step) {
	if v.o.JSON {
		for _, s := range steps {
			v.event(struct {
				Event string `json:"event"`
				Step
			}{"next", s})
		}
		return
	}
	width := 0
	for _, s := range steps {
		width = max(width, columns(clean(s.Command)))
	}
	p := paint(v.o.Color)
	b := []byte("\nNext:\n")
	for _, s := range steps {
		b = p.pad(append(b, "  "...), bold, clean(s.Command), width+2)
		b = append(append(b, clean(s.Why)...), '\n')
	}
	v.write(b)
}
