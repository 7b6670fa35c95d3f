package view

import (
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/spec"
)

// Seen is an entry, or a letter, as it may be shown: with what its streams declare
// sensitive masked, for whoever lays it out in another way than lines of text.
type Seen struct {
	// At is when it was written, by its id; zero where that is no time.
	At time.Time
	// Error and Key are a letter's and an entry's; "" without one.
	Error, Key string
	// Headers are those of the entry, without what dead letters and retries add.
	// HeadersLeft is how many more there are.
	Headers     []SeenField
	HeadersLeft int
	Codec       spec.Codec
	// Size is of the body, in bytes, as it stands in the stream.
	Size int64
	// Lines are the body: JSON indented, text as it is, bytes as base64. Cut says
	// that there is more.
	Lines []string
	Cut   bool
	// Problem is why the body cannot be decoded as it is declared; "" for none.
	Problem string
	// Masks reports that something may be masked.
	Masks bool
}

// SeenField is a name and a value, both fit for one line.
type SeenField struct{ Name, Value string }

// See is a letter as it may be shown, with at most limit bytes of its body.
func (l *Letters) See(d *deadletters.Letter, limit int) *Seen {
	o := l.open(d)
	s := &Seen{
		At: letterTime(d), Error: o.hide.text(d.Facts.Error), Key: legibleOrNone(o.hide.text(d.Key())), Codec: o.codec,
		Problem: o.hide.text(o.problem), Masks: len(o.fields) > 0,
	}
	if o.unreadable && s.Masks {
		s.Problem = "the body cannot be read, and it may hold what must not be seen"
	}
	for _, f := range d.Original() {
		name, ok := strings.CutPrefix(f.Name, codec.HeaderPrefix)
		switch {
		case !ok:
		case len(s.Headers) == shownFields:
			s.HeadersLeft++
		default:
			s.Headers = append(s.Headers, SeenField{fit(legible(name), shownHeader), shorten(legible(o.shownField(f, false).Value), shownHeader)})
		}
	}
	l.seeBody(s, d, o, limit)
	return s
}

func (l *Letters) seeBody(s *Seen, d *deadletters.Letter, o *opened, limit int) {
	text := o.bodyText()
	s.Size = int64(len(o.body.Raw))
	if s.Size == 0 && !o.unreadable {
		s.Size = int64(len(text))
	}
	lines := bodyLines(text, o)
	if o.unreadable && o.body.Raw == "" {
		lines = l.rawLines(d, o, false)
	}
	for _, line := range lines {
		line = clean(strings.ReplaceAll(line, "\t", "    "))
		if len(line) > limit {
			s.Lines, s.Cut = append(s.Lines, shorten(line, limit)), true
			return
		}
		limit -= len(line) + 1
		s.Lines = append(s.Lines, line)
	}
}

func legibleOrNone(s string) string {
	if s == "" {
		return ""
	}
	return legible(s)
}

// See is an entry of a stream as it may be shown, with at most limit bytes of its
// body.
func (e *EntryPrinter) See(s *spec.Stream, entry broker.Entry, limit int) *Seen {
	d := e.letter(s, entry)
	return e.Letters.See(&d, limit)
}

// Size writes bytes as people read them.
func Size(bytes int64) string { return size(bytes) }

// HideLogins masks the passwords of URLs in a text.
func HideLogins(text string) string { return hideLogins(text) }
