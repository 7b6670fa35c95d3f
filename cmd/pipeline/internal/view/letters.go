package view

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/engine/codec"
	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// Letters prints dead letters. What streams declare sensitive is masked, as
// scrubber says, unless it was asked to show it. It is not safe for concurrent
// use.
type Letters struct {
	v        *View
	p        *spec.Pipeline
	show     bool
	decoders map[*spec.Stream]*codec.Decoder
	arena    value.Arena
	tab      *pages
}

// Letters returns a printer of the letters of a pipeline; show prints what is
// sensitive, too.
func (v *View) Letters(p *spec.Pipeline, show bool) *Letters {
	return &Letters{
		v: v, p: p, show: show, decoders: map[*spec.Stream]*codec.Decoder{},
		tab: v.pages(map[int]bool{6: true}, "id", "at", "group", "subscription", "entry", "reason", "attempts", "error"),
	}
}

// Sensitive reports whether something of the letters of a source may not be
// shown without being asked for.
func (l *Letters) Sensitive(s *deadletters.Source) bool {
	if len(s.Stream.Sensitive) > 0 {
		return true
	}
	return slices.ContainsFunc(s.Groups, func(g *spec.Group) bool { return len(g.Stream.Sensitive) > 0 })
}

// fields are the sensitive ones of a letter: those of the stream that its entry
// stood in and of the dead-letter stream, or where that stream is not known, those
// of any.
func (l *Letters) fields(d *deadletters.Letter) []string {
	if l.show {
		return nil
	}
	from := d.Stream()
	fields := slices.Clone(d.Source.Stream.Sensitive)
	for _, s := range l.p.Streams {
		if from == nil || s == from {
			fields = append(fields, s.Sensitive...)
		}
	}
	slices.Sort(fields)
	return slices.Compact(fields)
}

// opened is what a letter carries, ready to be shown.
type opened struct {
	body codec.Body
	// codec is how the body is written.
	codec spec.Codec
	// problem is why it cannot be decoded; unreadable means not even without its
	// declared type.
	problem    string
	unreadable bool
	// astray: it has not its declared type, entry, and a sensitive member is not in its place, so
	// that its value may stand anywhere in it: in a field of another name, in JSON within a string.
	astray bool
	entry  *spec.Type
	// fields are the sensitive ones, hide their values.
	fields []string
	hide   secrets
}

// open decodes a letter. It is valid until the next open.
func (l *Letters) open(d *deadletters.Letter) *opened {
	o := &opened{fields: l.fields(d)}
	stream := d.Stream()
	if stream == nil {
		stream = d.Source.Stream
	}
	o.codec, o.entry = stream.Codec, stream.Entry
	l.arena.Reset()
	original := d.Original()
	if err := l.decoder(stream, false).Decode(original, &l.arena, &o.body); err != nil {
		o.problem = err.Error()
		if err := l.decoder(stream, true).Decode(original, &l.arena, &o.body); err != nil {
			o.unreadable = true
			if len(o.fields) > 0 {
				o.hide = unknown
			}
			return o
		}
	}
	for _, f := range o.fields {
		o.hide = secretsAt(o.hide, &o.body.Value, strings.Split(f, "."))
	}
	slices.SortFunc(o.hide, func(a, b string) int { return len(b) - len(a) })
	o.astray = o.problem != "" && len(o.fields) > 0 && o.codec != spec.CodecText && o.codec != spec.CodecBytes &&
		slices.ContainsFunc(o.fields, func(f string) bool { return !hasPath(&o.body.Value, strings.Split(f, ".")) })
	return o
}

// decoder is that of a stream, or a loose one that takes any body of its codec.
func (l *Letters) decoder(s *spec.Stream, loose bool) *codec.Decoder {
	if loose {
		untyped := *s
		untyped.Entry, untyped.MaxEntrySize = nil, math.MaxInt64
		s = &untyped
	} else if known := l.decoders[s]; known != nil {
		return known
	}
	decoder, err := codec.NewDecoder(s)
	if err != nil { // no pipeline file can declare such a stream
		decoder, _ = codec.NewDecoder(&spec.Stream{Codec: spec.CodecBytes})
	}
	if !loose {
		l.decoders[s] = decoder
	}
	return decoder
}

// scrubbed opens a letter only where something of it has to be hidden.
func (l *Letters) scrubbed(d *deadletters.Letter) secrets {
	if len(l.fields(d)) == 0 {
		return nil
	}
	return l.open(d).hide
}

// Masks reports whether something of the entries of a stream is masked.
func (l *Letters) Masks(s *spec.Stream) bool { return !l.show && len(s.Sensitive) > 0 }

// Masked stands for what is not shown.
const Masked = masked

// Scrub is a text about a letter as it may be shown.
func (l *Letters) Scrub(d *deadletters.Letter, text string) string { return l.scrubbed(d).text(text) }

// Error is a letter's error as it may be shown.
func (l *Letters) Error(d *deadletters.Letter) string { return l.scrubbed(d).text(d.Facts.Error) }

// letterJSON is what a line says about a letter.
type letterJSON struct {
	Event    string    `json:"event"`
	Letters  string    `json:"letters"`
	ID       string    `json:"id"`
	At       time.Time `json:"at"`
	Known    bool      `json:"known"`
	Reason   string    `json:"reason"`
	Error    string    `json:"error"`
	Stream   string    `json:"stream"`
	Entry    string    `json:"entry"`
	Group    string    `json:"group"`
	Sub      string    `json:"subscription"`
	Consumer string    `json:"consumer"`
	Attempts int       `json:"attempts"`
	First    string    `json:"first_delivery"`
	Last     string    `json:"last_delivery"`
	Version  string    `json:"pipeline_version"`
	Key      string    `json:"key"`
}

func newLetterJSON(d *deadletters.Letter, hide secrets) letterJSON {
	f := &d.Facts
	return letterJSON{
		Event: "letter", Letters: d.Source.Stream.Name, ID: d.ID.String(), At: letterTime(d), Known: d.Known,
		Reason: f.Reason, Error: hide.text(f.Error), Stream: f.Stream, Entry: f.ID, Group: f.Group, Sub: f.Subscription,
		Consumer: f.Consumer, Attempts: f.Attempts, First: moment(f.FirstDelivery), Last: moment(f.LastDelivery),
		Version: f.PipelineVersion, Key: hide.text(d.Key()),
	}
}

// letterTime is when a letter was written, by the server's clock. A forged id
// may lie beyond any calendar.
func letterTime(d *deadletters.Letter) time.Time {
	if at := deadletters.At(d.ID); at.Year() > 0 && at.Year() < 10000 {
		return at
	}
	return time.Time{}
}

// moment is a time as JSON has it, or "" for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

// Row prints a letter as one line of a list.
func (l *Letters) Row(d *deadletters.Letter) {
	hide := l.scrubbed(d)
	if l.v.o.JSON {
		l.v.event(newLetterJSON(d, hide))
		return
	}
	f := &d.Facts
	reason, attempts, text := f.Reason, strconv.Itoa(f.Attempts), hide.text(f.Error)
	if !d.Known {
		reason, attempts, text = "", "", "no dead letter of a pipeline"
	}
	l.tab.row(
		cell{d.ID.String(), dim}, cell{letterTime(d).Format(time.DateTime), plain}, cell{f.Group, plain}, cell{f.Subscription, plain},
		cell{f.ID, dim}, cell{reason, red}, cell{attempts, plain}, cell{text, yellow},
	)
}

// LetterPage is what a list showed of one dead-letter stream.
type LetterPage struct {
	Event   string `json:"event"`
	Letters string `json:"letters"`
	// Total is the length of the stream.
	Total int64 `json:"total"`
	// Matched is how many letters the filter chooses, where they were counted.
	Matched *int64 `json:"matched,omitempty"`
	Shown   int64  `json:"shown"`
	// After is where the next page begins, "" at the end.
	After string `json:"after"`
}

// Shown prints what the lists of each stream came to.
func (l *Letters) Shown(list []LetterPage) {
	if l.v.o.JSON {
		for _, page := range list {
			page.Event = "dead_letters"
			l.v.event(page)
		}
		return
	}
	var b []byte
	if l.tab.end() {
		b = append(b, '\n')
	}
	for _, page := range list {
		b = append(append(b, clean(page.Letters)+": "+pageText(page)...), '\n')
	}
	l.v.write(b)
}

func pageText(p LetterPage) string {
	total := count(p.Total, "letter", "letters")
	switch {
	case p.Total == 0:
		return "no dead letters"
	case p.Matched != nil && *p.Matched == p.Total:
		return total
	case p.Matched != nil:
		return number(*p.Matched) + " of " + total + " chosen"
	case p.After != "":
		return number(p.Shown) + " of " + total + " shown; --after " + p.After + " goes on"
	case p.Shown == p.Total:
		return total
	}
	return number(p.Shown) + " of " + total + " chosen"
}
