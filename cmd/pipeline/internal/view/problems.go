package view

import (
	"bytes"
	"encoding/json"
	"strconv"

	"pipeline/lang/diag"
)

// event prints v as one line of JSON. It is for lines that are few.
func (v *View) event(e any) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(e); err != nil {
		// Only a type that JSON lacks could fail; the tests encode each.
		panic(err)
	}
	v.write(b.Bytes())
}

// Report prints the diagnostics of a pipeline in full. It prints nothing when
// there are none.
func (v *View) Report(r *diag.Report) {
	var b bytes.Buffer
	// A buffer takes every byte.
	if v.o.JSON {
		_ = r.WriteJSON(&b)
	} else {
		_ = r.WriteText(&b, diag.TextOptions{Color: v.o.ErrColor, Width: v.o.ErrWidth})
	}
	v.say([]byte(hideLogins(b.String())))
}

// Warnings prints the warnings of a pipeline that runs in spite of them, one a
// line. Notices are for validate to show.
func (v *View) Warnings(r *diag.Report) {
	for _, d := range r.All() {
		if d.Severity == diag.Warning {
			v.Diagnostic(d)
		}
	}
}

// Problem is a problem, and the command to go on with; "" for none.
type Problem struct {
	diag.Diagnostic

	Command string `json:"command,omitempty"`
}

// Diagnostic prints one problem outside of any report: a line of JSON, or one
// line of text with its remedy below.
func (v *View) Diagnostic(d diag.Diagnostic) { v.Problem(Problem{Diagnostic: d}) }

// Problem prints one problem as Diagnostic does, and in text its command below.
func (v *View) Problem(d Problem) {
	for _, text := range []*string{&d.Range.File, &d.Summary, &d.Detail, &d.Suggestion, &d.Command} {
		*text = hideLogins(*text)
	}
	if v.o.JSON {
		d.Edits = append([]diag.Edit{}, d.Edits...)
		v.event(struct {
			Event string `json:"event"`
			Problem
		}{"diagnostic", d})
		return
	}
	p := paint(v.o.ErrColor)
	color := map[diag.Severity]style{diag.Error: red, diag.Warning: yellow, diag.Notice: blue}[d.Severity]
	line := p.append(nil, color, d.Severity.String()+"["+string(d.Code)+"]")
	line = append(line, ": "...)
	if d.Range.File != "" {
		line = append(line, place(d.Range)...)
		line = append(line, ": "...)
	}
	line = append(line, clean(d.Summary)...)
	line = append(line, '\n')
	if d.Detail != "" {
		line = append(append(append(line, "  "...), clean(d.Detail)...), '\n')
	}
	if d.Suggestion != "" {
		line = append(append(append(line, "  Did you mean "...), p.text(bold, `"`+clean(d.Suggestion)+`"`)...), "?\n"...)
	}
	if d.Command != "" {
		line = append(p.append(append(line, "  $ "...), cyan, clean(d.Command)), '\n')
	}
	v.say(line)
}

func place(r diag.Range) string {
	s := clean(r.File)
	if r.Start.Line > 0 {
		s += ":" + strconv.Itoa(r.Start.Line)
	}
	if r.Start.Column > 0 {
		s += ":" + strconv.Itoa(r.Start.Column)
	}
	return s
}

// Failure is why a command ends with a code other than 0.
type Failure struct {
	// Exit is the exit code.
	Exit int
	// Code is a stable word for the reason; it may be empty.
	Code string
	// Message says what happened.
	Message string
}

// Failure prints the reason of a non-zero exit.
func (v *View) Failure(f Failure) {
	f.Message = hideLogins(f.Message)
	if v.o.JSON {
		v.event(struct {
			Event   string `json:"event"`
			Exit    int    `json:"exit"`
			Code    string `json:"code"`
			Message string `json:"message"`
		}{"error", f.Exit, f.Code, f.Message})
		return
	}
	line := paint(v.o.ErrColor).append(nil, red, "error")
	if f.Code != "" {
		line = append(append(append(line, '['), f.Code...), ']')
	}
	line = append(line, ": "...)
	line = append(line, clean(f.Message)...)
	v.say(append(line, '\n'))
}

// Text prints finished lines of help.
func (v *View) Text(lines []byte) { v.write(lines) }

// Note prints a remark that is no problem to stderr, in text only.
func (v *View) Note(text string) {
	if v.o.JSON {
		return
	}
	v.say(append(paint(v.o.ErrColor).append(nil, dim, clean(text)), '\n'))
}
