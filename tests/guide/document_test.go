//go:build linux

package guide

import (
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// block is a fenced block of a document.
type block struct {
	language   string
	attributes map[string]string
	lines      []string
	// line is the number of the first line of its content.
	line int
}

// fence finds the info string of a fenced block: ```console title="terminal 2"
var (
	fence     = regexp.MustCompile("^```([a-z]+)((?: [a-z]+=\"[^\"]*\")*)$")
	attribute = regexp.MustCompile(`([a-z]+)="([^"]*)"`)
)

// blocks reads the fenced blocks of a document in order.
func blocks(text string) ([]block, error) {
	var found []block
	var open *block
	for i, line := range strings.Split(text, "\n") {
		switch {
		case open != nil && line == "```":
			found = append(found, *open)
			open = nil
		case open != nil:
			open.lines = append(open.lines, line)
		case strings.HasPrefix(line, "```"):
			parts := fence.FindStringSubmatch(line)
			if parts == nil {
				return nil, fmt.Errorf("line %d: a fence needs a language and attributes of the form name=\"value\": %s", i+1, line)
			}
			open = &block{language: parts[1], attributes: map[string]string{}, line: i + 2}
			for _, a := range attribute.FindAllStringSubmatch(parts[2], -1) {
				open.attributes[a[1]] = a[2]
			}
		}
	}
	if open != nil {
		return nil, fmt.Errorf("line %d: a fenced block does not end", open.line-1)
	}
	return found, nil
}

// The steps of a document.
type (
	// write puts a file into the working folder.
	write struct {
		line       int
		file, text string
	}
	// edit replaces lines of a file, which must hold them exactly once.
	edit struct {
		line           int
		file, old, new string
	}
	// command is typed into a terminal.
	command struct {
		line     int
		terminal string
		text     string
		// stays: the command still runs when the document goes on.
		stays bool
		// soon: what it looks at may take a moment; it is typed again until it shows that.
		soon  bool
		shows shows
	}
	// goesOn is what a command that stays shows later.
	goesOn struct {
		line     int
		terminal string
		// interrupt types an interrupt first.
		interrupt bool
		// ends: the command has ended after these lines.
		ends  bool
		shows shows
	}
)

// shows are the lines that a terminal is expected to show.
type shows struct {
	lines []string
	// anyOrder: what runs at the same time may come in any order.
	anyOrder bool
}

const (
	prompt    = "$ "
	more      = "> "
	interrupt = "^C"
)

// steps reads what a document does: blocks with a title are files, diffs with a title change them, and console
// blocks are terminals, each with its own shell. A command stays if its terminal goes on later without another
// command, or is interrupted.
func steps(text string) ([]any, error) {
	all, err := blocks(text)
	if err != nil {
		return nil, err
	}
	var list []any
	last := map[string]any{} // the last step of each terminal
	for _, b := range all {
		title := b.attributes["title"]
		switch {
		case b.language == "console":
			typed, err := terminalSteps(b, title, last)
			if err != nil {
				return nil, err
			}
			list = append(list, typed...)
		case b.language == "diff" && title != "":
			list = append(list, newEdit(b, title))
		case title != "":
			list = append(list, &write{b.line, title, strings.Join(b.lines, "\n") + "\n"})
		}
	}
	return list, nil
}

// newEdit makes an edit of a diff: lines with + or - in front, others stay and say where.
func newEdit(b block, file string) *edit {
	var old, replaced []string
	for _, line := range b.lines {
		if line == "" {
			line = " "
		}
		if line[0] != '+' {
			old = append(old, line[1:])
		}
		if line[0] != '-' {
			replaced = append(replaced, line[1:])
		}
	}
	return &edit{b.line, file, strings.Join(old, "\n") + "\n", strings.Join(replaced, "\n") + "\n"}
}

func terminalSteps(b block, terminal string, last map[string]any) ([]any, error) {
	var list []any
	anyOrder, soon := b.attributes["order"] == "any", b.attributes["shows"] == "soon"
	var current *shows
	add := func(step any, s *shows) {
		s.anyOrder = anyOrder
		list, last[terminal], current = append(list, step), step, s
	}
	// resume begins or ends what a command shows later.
	resume := func(line int, interrupt bool) error {
		switch step := last[terminal].(type) {
		case *command:
			step.stays = true
		case *goesOn:
			if step.ends && interrupt {
				return fmt.Errorf("line %d: nothing runs in this terminal that could be interrupted", line)
			}
		default:
			return fmt.Errorf("line %d: output without a command before it in this terminal", line)
		}
		step := &goesOn{line: line, terminal: terminal, interrupt: interrupt, ends: interrupt}
		add(step, &step.shows)
		return nil
	}
	for i, line := range b.lines {
		number := b.line + i
		if text, ok := strings.CutPrefix(line, prompt); ok {
			if step, ok := last[terminal].(*goesOn); ok {
				step.ends = true
			}
			step := &command{line: number, terminal: terminal, text: text, soon: soon}
			add(step, &step.shows)
			continue
		}
		step, isCommand := last[terminal].(*command)
		if text, ok := strings.CutPrefix(line, more); ok && isCommand && current != nil && len(current.lines) == 0 {
			step.text += "\n" + text
			continue
		}
		if line == interrupt || current == nil {
			if err := resume(number, line == interrupt); err != nil {
				return nil, err
			}
			if line == interrupt {
				continue
			}
		}
		current.lines = append(current.lines, strings.TrimRight(line, " "))
	}
	return list, nil
}

// apply makes an edit in a text.
func (e *edit) apply(text string) (string, error) {
	var places []int
	for at, offset := 0, 0; at >= 0; offset++ {
		if at = strings.Index(("\n" + text)[offset:], "\n"+e.old); at >= 0 {
			offset += at
			places = append(places, offset)
		}
	}
	if len(places) != 1 {
		return "", fmt.Errorf("%s holds these lines %d times instead of once:\n%s", e.file, len(places), e.old)
	}
	return text[:places[0]] + e.new + text[places[0]+len(e.old):], nil
}

// anchors are the headings of a document as links name them.
func anchors(text string) []string {
	var found []string
	drop := regexp.MustCompile("[^a-z0-9 _-]")
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if title, ok := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); ok && strings.HasPrefix(line, "#") && !fenced {
			name := drop.ReplaceAllString(strings.ToLower(strings.TrimSpace(title)), "")
			found = append(found, strings.ReplaceAll(name, " ", "-"))
		}
	}
	return found
}

var link = regexp.MustCompile(`\]\(([^)\s]*)\)`)

// TestLinksLead checks that every relative link of the documents leads to a file and a heading in it.
func TestLinksLead(t *testing.T) {
	t.Parallel()
	for _, name := range documents {
		text := readDocument(t, name)
		for _, l := range link.FindAllStringSubmatch(text, -1) {
			target, heading, _ := strings.Cut(l[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			inside := text
			if target != "" {
				content, err := os.ReadFile(path.Join("..", "..", path.Dir(name), target))
				if err != nil {
					if _, err = os.Stat(path.Join("..", "..", path.Dir(name), target)); err != nil || heading != "" {
						t.Errorf("%s: the link %s leads nowhere", name, l[1])
					}
					continue
				}
				inside = string(content)
			}
			if heading != "" && !slices.Contains(anchors(inside), heading) {
				t.Errorf("%s: the link %s leads to no heading; there are %s", name, l[1], strconv.Quote(strings.Join(anchors(inside), " ")))
			}
		}
	}
}
