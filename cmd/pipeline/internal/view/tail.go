package view

import (
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// EntryPrinter prints entries of streams as they come, one a line. What streams declare
// sensitive is masked as with Letters. It is not safe for concurrent use.
type EntryPrinter struct {
	*Letters
	sources map[string]*deadletters.Source
	// Full cuts no body.
	Full bool
}

// Entries returns a printer of the entries of a pipeline; show prints what is
// sensitive, too.
func (v *View) Entries(p *spec.Pipeline, show bool) *EntryPrinter {
	e := &EntryPrinter{Letters: v.Letters(p, show), sources: map[string]*deadletters.Source{}}
	for _, s := range deadletters.Sources(p) {
		e.sources[s.Stream.Name] = s
	}
	return e
}

// Entry prints an entry of a stream, if its body as it is shown holds the text.
func (e *EntryPrinter) Entry(s *spec.Stream, entry broker.Entry, holds string) bool {
	d := e.letter(s, entry)
	o := e.open(&d)
	body := o.bodyText()
	if o.unreadable && body == "" {
		body = strings.Join(e.rawLines(&d, o, false), " ")
	}
	if !strings.Contains(body, holds) {
		return false
	}
	key := o.hide.text(d.Key())
	if e.v.o.JSON {
		e.v.event(struct {
			Event   string    `json:"event"`
			Stream  string    `json:"stream"`
			ID      string    `json:"id"`
			At      time.Time `json:"at"`
			Key     string    `json:"key"`
			Fields  [][2]any  `json:"fields"`
			Body    any       `json:"body"`
			Problem string    `json:"problem"`
		}{"entry", s.Name, d.ID.String(), letterTime(&d), key, e.fieldsJSON(&d, o), openedJSON(o), o.hide.text(o.problem)})
		return true
	}
	c := paint(e.v.o.Color)
	b := c.append(nil, dim, letterTime(&d).Format("2006-01-02 15:04:05.000")+" ")
	b = c.append(b, cyan, clean(s.Name))
	b = append(c.append(b, dim, " "+d.ID.String()), ' ')
	if d.Known && d.Facts.Reason != "" {
		b = append(c.append(b, red, clean(d.Facts.Reason)+": "+clean(o.hide.text(d.Facts.Error))), ' ')
	}
	if key != "" {
		b = append(b, "key="+legible(key)+" "...)
	}
	if !e.Full {
		body = shorten(body, shownBody)
	}
	e.v.write(append(append(b, legible(body)...), '\n'))
	return true
}

// letter is the entry as Letters takes it: a dead letter as it is, any other as one
// of its own stream.
func (e *EntryPrinter) letter(s *spec.Stream, entry broker.Entry) deadletters.Letter {
	if source := e.sources[s.Name]; source != nil {
		if d := deadletters.Read(source, entry); d.Known {
			return d
		}
	}
	d := deadletters.Waiting(&spec.Group{Stream: s, DeadLetter: s}, entry)
	d.Known = false
	return d
}
