package view

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// What show prints of a letter unless it is asked for all of it.
const (
	shownBody   = 4 << 10
	shownHeader = 256
	shownFields = 50
)

// NextStep is a command that may come next.
type NextStep struct {
	Does    string `json:"does"`
	Command string `json:"command"`
}

// One prints everything about a letter; full cuts nothing. next are commands to
// go on with.
func (l *Letters) One(d *deadletters.Letter, full bool, next []NextStep) {
	o := l.open(d)
	if l.v.o.JSON {
		l.v.event(l.oneJSON(d, o, next))
		return
	}
	p := paint(l.v.o.Color)
	b := p.append(nil, bold, clean(d.Source.Stream.Name)+" "+d.ID.String())
	b = append(b, '\n')
	b = appendFacts(b, p, l.facts(d, o))
	b = l.appendFields(b, p, d, o, full)
	b = l.appendBody(b, p, d, o, full)
	b = append(b, "next\n"...)
	for _, s := range next {
		b = append(b, "  "+s.Does+"\n    "...)
		b = append(p.append(b, cyan, clean(s.Command)), '\n')
	}
	l.v.write(b)
}

// fact is a name with what is known under it.
type fact struct{ name, text string }

func appendFacts(b []byte, p paint, facts []fact) []byte {
	wide := 0
	for _, f := range facts {
		if f.text != "" {
			wide = max(wide, columns(clean(f.name)))
		}
	}
	for _, f := range facts {
		if f.text == "" {
			continue
		}
		name := clean(f.name)
		b = p.append(append(b, "  "...), dim, name)
		b = appendSpaces(b, wide-columns(name)+gap)
		b = append(append(b, clean(f.text)...), '\n')
	}
	return b
}

func (l *Letters) facts(d *deadletters.Letter, o *opened) []fact {
	f := &d.Facts
	if !d.Known {
		return []fact{{"reason", "none: this is no dead letter of a pipeline"}, {"at", letterTime(d).Format(time.RFC3339Nano)}}
	}
	facts := []fact{{"reason", f.Reason}, {"error", o.hide.text(f.Error)}, {"entry", entryText(f)}, {"group", f.Group}}
	if d.Group() == nil {
		facts[3].text += " (this pipeline declares no such group there)"
	}
	facts = append(facts,
		fact{"subscription", f.Subscription}, fact{"consumer", f.Consumer}, fact{"attempts", number(int64(f.Attempts))},
		fact{"first delivery", moment(f.FirstDelivery)}, fact{"last delivery", moment(f.LastDelivery)},
		fact{"buried", moment(letterTime(d))}, fact{"pipeline version", f.PipelineVersion},
	)
	if f.PipelineVersion != l.p.Version && f.PipelineVersion != "" && l.p.Version != "" {
		facts[len(facts)-1].text += " (this file is " + l.p.Version + ")"
	}
	return append(facts, fact{"key", o.hide.text(d.Key())})
}

// entryText is the entry that a letter was, with the time in its id.
func entryText(f *codec.DeadLetter) string {
	text := f.ID + " of " + f.Stream
	if id, err := broker.ParseID(f.ID); err == nil {
		if at := deadletters.At(id); at.Year() > 2000 && at.Year() < 10000 {
			text += ", added " + moment(at)
		}
	}
	return text
}

// shownField is a field of an entry with what is sensitive masked; the body is
// shown apart.
func (o *opened) shownField(f broker.Field, isBody bool) broker.Field {
	first, _, _ := strings.Cut(f.Name, ".")
	for _, path := range o.fields {
		head, _, _ := strings.Cut(path, ".")
		if f.Name == path || first == head && !strings.HasPrefix(f.Name, codec.HeaderPrefix) {
			return broker.Field{Name: f.Name, Value: masked}
		}
	}
	switch {
	case isBody && len(o.fields) > 0:
		return broker.Field{Name: f.Name, Value: o.bodyText()}
	case (o.unreadable && len(o.fields) > 0 || o.astray) && !strings.HasPrefix(f.Name, codec.HeaderPrefix):
		return broker.Field{Name: f.Name, Value: masked}
	}
	return broker.Field{Name: f.Name, Value: o.hide.text(f.Value)}
}

// bodyText is the body with what is sensitive masked: as JSON, or as it is.
func (o *opened) bodyText() string {
	if o.unreadable {
		if len(o.fields) > 0 {
			return masked // it might hold what must not be seen
		}
		return o.body.Raw
	}
	if o.codec == spec.CodecText || o.codec == spec.CodecBytes {
		return o.hide.text(o.body.Value.Text())
	}
	v := o.body.Value
	if o.astray {
		v = inPlace(v, o.entry)
	}
	for _, f := range o.fields {
		v = maskPath(v, strings.Split(f, "."))
	}
	if len(o.hide) > 0 {
		v = o.hide.value(v)
	}
	return jsonText(&v)
}

// appendFields appends the headers, and the other fields where they are not the
// body.
func (l *Letters) appendFields(b []byte, p paint, d *deadletters.Letter, o *opened, full bool) []byte {
	var headers []fact
	for _, f := range d.Original() {
		name, ok := strings.CutPrefix(f.Name, codec.HeaderPrefix)
		if !ok {
			continue
		}
		text := legible(o.shownField(f, false).Value)
		if !full {
			text = shorten(text, shownHeader)
		}
		headers = append(headers, fact{legible(name), text})
	}
	left := 0
	if !full && len(headers) > shownFields {
		headers, left = headers[:shownFields], len(headers)-shownFields
	}
	if len(headers) == 0 {
		return b
	}
	b = appendFacts(append(b, "headers\n"...), p, headers)
	if left > 0 {
		b = append(b, "  and "+count(int64(left), "header more", "headers more")+"; --full shows them\n"...)
	}
	return b
}

func (l *Letters) appendBody(b []byte, p paint, d *deadletters.Letter, o *opened, full bool) []byte {
	text := o.bodyText()
	length := int64(len(o.body.Raw))
	if length == 0 && !o.unreadable {
		length = int64(len(text))
	}
	b = append(b, "body, "+string(o.codec)+", "+size(length)...)
	if o.problem != "" {
		b = p.append(append(b, "; "...), yellow, clean(o.hide.text(o.problem)))
	}
	b = append(b, '\n')
	lines := bodyLines(text, o)
	if o.unreadable && o.body.Raw == "" {
		lines = l.rawLines(d, o, full)
	}
	used := 0
	for i, line := range lines {
		if !full && used+len(line) > shownBody {
			b = append(append(b, "  "...), clean(shorten(line, shownBody-used))...)
			return append(b, "\n  … cut after "+size(shownBody)+" of "+size(length)+", "+count(int64(len(lines)-i-1), "line", "lines")+" more; --full shows all\n"...)
		}
		used += len(line)
		b = append(append(append(b, "  "...), clean(line)...), '\n')
	}
	return b
}

// rawLines are the fields of an entry of which no body can be made.
func (l *Letters) rawLines(d *deadletters.Letter, o *opened, full bool) []string {
	var lines []string
	for _, f := range d.Original() {
		if strings.HasPrefix(f.Name, codec.HeaderPrefix) {
			continue
		}
		shown := o.shownField(f, false)
		lines = append(lines, legible(shown.Name)+" = "+legible(shown.Value))
		if !full && len(lines) == shownFields {
			return append(lines, "… more fields; --full shows them")
		}
	}
	return lines
}

// bodyLines are the lines in which a body is shown: JSON indented, text as it is,
// bytes as base64.
func bodyLines(text string, o *opened) []string {
	if text == "" {
		return nil
	}
	var pretty bytes.Buffer
	isJSON := !o.unreadable && o.codec != spec.CodecText && o.codec != spec.CodecBytes
	if isJSON && json.Indent(&pretty, []byte(text), "", "  ") == nil {
		text = pretty.String()
	}
	if !utf8.ValidString(text) {
		return []string{"base64 " + base64.StdEncoding.EncodeToString([]byte(text))}
	}
	return strings.Split(text, "\n")
}

// legible is a text as it is, or as JSON writes it where it is not plain.
func legible(s string) string {
	if s != "" && isClean(s) {
		return s
	}
	if !utf8.ValidString(s) {
		return "base64 " + base64.StdEncoding.EncodeToString([]byte(s))
	}
	v := value.NewString(s)
	out, _ := value.AppendJSON(nil, &v) // a valid string cannot fail
	return escapeHostile(string(out))
}

// escapeHostile writes as JSON escapes what JSON leaves as it is and a terminal or a
// browser would act on: marks that turn the direction of what follows, for one.
func escapeHostile(s string) string {
	if !strings.ContainsFunc(s, hostile) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if !hostile(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, "\\u%04x", unit)
		}
	}
	return b.String()
}

// shorten cuts a text at n bytes.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:max(0, n)] + "…"
}

// textJSON is a text as JSON: a string, or {"base64":…} for bytes that are none.
func textJSON(s string) any {
	if utf8.ValidString(s) {
		return s
	}
	return map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(s))}
}

func (l *Letters) oneJSON(d *deadletters.Letter, o *opened, next []NextStep) any {
	return struct {
		letterJSON
		Fields  [][2]any   `json:"fields"`
		Codec   string     `json:"codec"`
		Body    any        `json:"body"`
		Problem string     `json:"problem"`
		Next    []NextStep `json:"next"`
	}{newLetterJSON(d, o.hide), l.fieldsJSON(d, o), string(o.codec), openedJSON(o), o.hide.text(o.problem), next}
}
