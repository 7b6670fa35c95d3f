package view

import (
	"io"
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
)

// Selected is a selection of letters, before anything is done.
type Selected struct {
	Event  string             `json:"event"`
	Action deadletters.Action `json:"action"`
	// File holds the selection; "" when nothing was chosen.
	File      string              `json:"selection"`
	Filter    string              `json:"filter"`
	AllGroups bool                `json:"all_groups"`
	Letters   int64               `json:"letters"`
	Oldest    string              `json:"oldest"`
	Newest    string              `json:"newest"`
	Reasons   []deadletters.Count `json:"reasons"`
	Places    []SelectedPlace     `json:"places"`
	LeftOut   []deadletters.Count `json:"left_out"`
	Next      string              `json:"next"`
}

// SelectedPlace is what a selection holds of one group's letters.
type SelectedPlace struct {
	Letters string `json:"letters"`
	Stream  string `json:"stream"`
	Group   string `json:"group"`
	Count   int64  `json:"count"`
	// Readers are the groups that will see what is replayed; nil when that is not
	// known, or nothing is replayed.
	Readers []deadletters.GroupGets `json:"readers"`
}

// Selected prints a preview.
func (v *View) Selected(s Selected) {
	if v.o.JSON {
		s.Event = "selection"
		s.Reasons = append([]deadletters.Count{}, s.Reasons...)
		s.LeftOut = append([]deadletters.Count{}, s.LeftOut...)
		s.Places = append([]SelectedPlace{}, s.Places...)
		v.event(s)
		return
	}
	p := paint(v.o.Color)
	var b []byte
	for _, place := range s.Places {
		b = append(b, "would "+string(s.Action)+" "+count(place.Count, "letter", "letters")+" of "+clean(place.Letters)...)
		if place.Stream != "" {
			b = append(b, placeText(s, place)...)
		}
		b = append(b, '\n')
		for _, r := range place.Readers {
			b = append(append(b, "  "...), clean(r.Group)...)
			b = append(p.append(append(b, ' '), getsStyle[r.Gets], getsText(r.Gets, s.AllGroups)), '\n')
		}
	}
	if len(s.Places) == 0 {
		b = append(b, "no letter is chosen\n"...)
	} else {
		b = append(b, "  "+countsText(s.Reasons)+"; buried "+clean(s.Oldest)+" to "+clean(s.Newest)+"\n"...)
	}
	for _, c := range s.LeftOut {
		b = p.append(b, yellow, "left out: "+count(c.Count, "letter", "letters")+", "+clean(c.Value))
		b = append(b, '\n')
	}
	if s.File != "" {
		b = append(b, "the selection is in "+clean(s.File)+"\n"...)
	}
	if s.Next != "" {
		b = append(b, "nothing was changed; to "+string(s.Action)+" these letters and no others:\n  "...)
		b = append(p.append(b, cyan, clean(s.Next)), '\n')
	}
	v.write(b)
}

func placeText(s Selected, place SelectedPlace) string {
	switch {
	case s.Action == deadletters.Drop:
		return ", buried by the group " + clean(place.Group) + " of " + clean(place.Stream)
	case s.AllGroups:
		return " to " + clean(place.Stream) + ", for every group"
	}
	return " to " + clean(place.Stream) + ", for the group " + clean(place.Group)
}

var getsStyle = map[deadletters.Gets]style{
	deadletters.Runs: green, deadletters.Unrun: dim, deadletters.Again: yellow, deadletters.Nobody: yellow, deadletters.Absent: red,
}

func getsText(g deadletters.Gets, allGroups bool) string {
	switch g {
	case deadletters.Runs:
		return "runs them"
	case deadletters.Nobody:
		return "has no enabled subscription: nobody runs them"
	case deadletters.Unrun:
		return "acknowledges them unrun"
	case deadletters.Absent:
		return "does not exist on the server"
	}
	if allGroups {
		return "is declared by no file and gets them again"
	}
	return "is declared by no file and gets them again, unless it heeds x-retry-group"
}

// countsText is "failed 2, rejected 1".
func countsText(counts []deadletters.Count) string {
	var parts []string
	for _, c := range counts {
		name := c.Value
		if name == "" {
			name = "no reason"
		}
		parts = append(parts, clean(name)+" "+number(c.Count))
	}
	return strings.Join(parts, ", ")
}

// Acted is what became of a selection.
type Acted struct {
	Event     string `json:"event"`
	File      string `json:"selection"`
	Letters   int64  `json:"letters"`
	Done      int64  `json:"done"`
	Gone      int64  `json:"gone"`
	Changed   int64  `json:"changed"`
	Refused   int64  `json:"refused"`
	Unknown   int64  `json:"unknown"`
	Left      int64  `json:"left"`
	Millis    int64  `json:"elapsed_ms"`
	PerSecond int64  `json:"per_second"`
	Next      string `json:"next"`
}

// NewActed is what a result says.
func NewActed(r deadletters.Result, elapsed time.Duration) Acted {
	a := Acted{
		Letters: r.Total, Done: r.Done, Gone: r.Gone, Changed: r.Changed, Refused: r.Refused, Unknown: r.Unknown, Left: r.Left(),
		Millis: elapsed.Milliseconds(),
	}
	if elapsed > 0 {
		a.PerSecond = int64(float64(r.Done) / elapsed.Seconds())
	}
	return a
}

var pastTense = map[deadletters.Action]string{deadletters.Replay: "replayed", deadletters.Drop: "dropped"}

// Acted prints what became of a selection.
func (v *View) Acted(action deadletters.Action, a Acted) {
	if v.o.JSON {
		a.Event = pastTense[action]
		v.event(a)
		return
	}
	p := paint(v.o.Color)
	b := p.append(nil, green, pastTense[action])
	b = append(b, " "+number(a.Done)+" of "+count(a.Letters, "letter", "letters")...)
	for _, part := range []struct {
		n    int64
		text string
	}{
		{a.Gone, "gone already"}, {a.Changed, "of another content"}, {a.Refused, "not possible"},
		{a.Unknown, "sent, and the answer was lost"}, {a.Left, "not come to"},
	} {
		if part.n > 0 {
			b = append(b, ", "+number(part.n)+" "+part.text...)
		}
	}
	b = append(b, "; "+Duration(time.Duration(a.Millis)*time.Millisecond)+", "+number(a.PerSecond)+" a second\n"...)
	if a.Next != "" {
		b = append(b, "go on with\n  "...)
		b = append(p.append(b, cyan, clean(a.Next)), '\n')
	}
	v.write(b)
}

// LetterProblem prints why a letter stays where it is.
func (v *View) LetterProblem(c deadletters.Chosen, why string) {
	if v.o.JSON {
		v.event(struct {
			Event   string `json:"event"`
			Letters string `json:"letters"`
			ID      string `json:"id"`
			Problem string `json:"problem"`
		}{"letter_problem", c.Letters, c.ID, why})
		return
	}
	v.say([]byte(clean(c.Letters) + " " + clean(c.ID) + ": " + clean(why) + "\n"))
}

// Exported says where letters were exported to.
func (v *View) Exported(file string, letters int64) {
	if v.o.JSON {
		v.event(struct {
			Event   string `json:"event"`
			File    string `json:"file"`
			Letters int64  `json:"letters"`
		}{"exported", file, letters})
		return
	}
	v.write([]byte(paint(v.o.Color).text(green, "exported") + " " + count(letters, "letter", "letters") + " to " + clean(file) + "\n"))
}

// Output is where results go, for data that is passed on as it is. It fails once
// a write has failed.
func (v *View) Output() io.Writer { return output{v} }

type output struct{ v *View }

func (o output) Write(data []byte) (int, error) {
	o.v.write(data)
	o.v.mu.Lock()
	defer o.v.mu.Unlock()
	if o.v.failed != nil {
		return 0, o.v.failed
	}
	return len(data), nil
}
