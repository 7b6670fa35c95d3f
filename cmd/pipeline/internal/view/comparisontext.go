package view

import (
	"strconv"
	"strings"

	"pipeline/engine"
)

// maxChanges is how many places of one entry are shown in text.
const maxChanges = 8

// appendExample appends one changed entry: its id, then a line for each place.
func (c *Comparison) appendExample(b []byte, x *engine.Compared, changes []change) []byte {
	p := paint(c.v.o.Color)
	b = append(b, "  "...)
	b = p.append(b, dim, x.New.Outcome.ID.String())
	b = append(b, '\n')
	for i, ch := range changes {
		if i == maxChanges {
			return append(b, "    … and "+count(int64(len(changes)-i), "place more", "places more")+"\n"...)
		}
		room := maxDetail
		if c.v.o.Width > 0 {
			room = max(c.v.o.Width-len("    "), 16)
		}
		before := "    " + fit(clean(ch.words), room) + ": "
		room = max((room-columns(before))/2, 16)
		b = append(b, before...)
		b = p.append(b, red, plainValue(ch, ch.old, room))
		b = append(b, " → "...)
		b = append(p.append(b, green, plainValue(ch, ch.new, room)), '\n')
	}
	return b
}

// plainValue is a value for a person: outcomes and waiting times not as JSON.
func plainValue(ch change, text string, room int) string {
	switch {
	case text == "":
		return "(none)"
	case ch.path == "outcome":
		text = strings.Trim(text, `"`)
	case ch.path == "after_ms":
		text += "ms"
	}
	return fit(clean(text), room)
}

// text prints what was found about each subscription.
func (c *Comparison) text() {
	p := paint(c.v.o.Color)
	var b []byte
	for _, row := range c.rows {
		if row.changed == 0 && row.varies == 0 {
			continue
		}
		b = p.append(b, bold, clean(row.label))
		b = append(b, ": "+changeWords(row.changed, row.entries)...)
		for i, k := range row.sortedKinds() {
			b = append(b, map[bool]string{true: ": ", false: ", "}[i == 0]...)
			b = append(b, k.words(row.kinds[k])...)
		}
		b = append(b, '\n')
		if row.varies > 0 {
			versions := map[string]string{"old": "the old version", "new": "the new version", "both": "both versions"}[row.where()]
			b = append(b, "  "...)
			b = p.append(b, yellow, "not deterministic")
			b = append(b, " in "+versions+": "+count(row.varies, "entry gave", "entries gave")+
				" two results when run twice, and "+map[bool]string{true: "is", false: "are"}[row.varies == 1]+
				" not counted; the first is "+row.firstVarying.String()+"\n"...)
		}
		b = append(b, row.shown...)
		if more := row.changed - int64(row.shows); more > 0 && row.shows > 0 {
			b = append(b, "  … "+number(more)+" more\n"...)
		}
	}
	c.v.write(b)
}

// changeWords says how many of the entries change.
func changeWords(changed, entries int64) string {
	if changed == 0 {
		return "none of " + count(entries, "entry", "entries") + " changes"
	}
	verb := "change"
	if changed == 1 {
		verb = "changes"
	}
	return number(changed) + " of " + count(entries, "entry", "entries") + " " + verb
}

// Summary prints what was found, and last how many entries change.
func (c *Comparison) Summary(s DrySummary) {
	if c.v.o.JSON {
		c.summaryJSON(s)
		return
	}
	c.text()
	b := []byte(changeWords(c.changed, s.Entries) + ", each run through both versions and nothing written" + s.speed() + "\n")
	c.v.write(s.text(b))
}

// NotRun says that a subscription was not run in either version.
func (c *Comparison) NotRun(label, reason string) {
	if c.v.o.JSON {
		b := appendString([]byte(`{"event":"not_run","subscription":`), label)
		b = appendString(append(b, `,"reason":`...), reason)
		c.v.write(append(b, '}', '\n'))
		return
	}
	c.v.write([]byte("not run: " + clean(label) + ", " + clean(reason) + "\n"))
}

// appendDifference appends the line of a changed entry.
func (c *Comparison) appendDifference(b []byte, x *engine.Compared, hide secrets, changes []change) []byte {
	b = appendString(append(b, `{"event":"difference","subscription":`...), x.New.Subscription.Label)
	b = append(b, `,"id":"`...)
	b = x.New.Outcome.ID.Append(b)
	b = appendString(append(b, `","stream":`...), x.Stream.Name)
	b = c.appendSide(append(b, `,"old":`...), &x.Old, hide)
	b = c.appendSide(append(b, `,"new":`...), &x.New, hide)
	b = append(b, `,"changes":[`...)
	for i, ch := range changes {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"path":`...), ch.path)
		if ch.old != "" {
			b = append(append(b, `,"old":`...), ch.old...)
		}
		if ch.new != "" {
			b = append(append(b, `,"new":`...), ch.new...)
		}
		b = append(b, '}')
	}
	return append(b, "]}\n"...)
}

// appendSide appends what one version comes to.
func (c *Comparison) appendSide(b []byte, side *engine.DryOutcome, hide secrets) []byte {
	o := c.scrub.outcome(side.Outcome, hide)
	b = append(append(append(b, `{"outcome":"`...), o.Result...), '"')
	b = appendString(append(b, `,"dead_letter":`...), letter(side))
	b = append(b, `,"replies":[`...)
	for i := range o.Replies {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendReply(b, &o.Replies[i])
	}
	b = strconv.AppendInt(append(b, `],"after_ms":`...), o.After.Milliseconds(), 10)
	b = appendString(append(b, `,"reason":`...), o.Reason)
	b = appendString(append(b, `,"error":`...), o.Error)
	return append(appendString(append(b, `,"key":`...), o.Key), '}')
}

// summaryJSON prints what was found about subscriptions that vary, and the last
// line.
func (c *Comparison) summaryJSON(s DrySummary) {
	var b []byte
	for _, row := range c.rows {
		if row.varies > 0 {
			b = appendString(append(b, `{"event":"not_deterministic","subscription":`...), row.label)
			b = append(b, `,"version":"`+row.where()+`","entries":`...)
			b = strconv.AppendInt(b, row.varies, 10)
			b = append(b, `,"first_id":"`+row.firstVarying.String()+"\"}\n"...)
		}
	}
	b = strconv.AppendInt(append(b, `{"event":"summary","entries":`...), s.Entries, 10)
	b = strconv.AppendInt(append(b, `,"changed":`...), c.changed, 10)
	b = append(b, `,"subscriptions":[`...)
	for i, row := range c.rows {
		if i > 0 {
			b = append(b, ',')
		}
		b = row.appendJSON(b)
	}
	b = append(b, `],"outcomes":`...)
	b = s.appendLive(c.tally.appendCounts(b))
	c.v.write(append(b, '}', '\n'))
}

func (r *comparedRow) appendJSON(b []byte) []byte {
	b = appendString(append(b, `{"subscription":`...), r.label)
	b = strconv.AppendInt(append(b, `,"entries":`...), r.entries, 10)
	b = strconv.AppendInt(append(b, `,"changed":`...), r.changed, 10)
	b = strconv.AppendInt(append(b, `,"not_deterministic":`...), r.varies, 10)
	b = append(b, `,"kinds":[`...)
	for i, k := range r.sortedKinds() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(append(b, `{"kind":`...), k.name)
		if k.name == "outcome" {
			b = appendString(append(b, `,"old":`...), k.old)
			b = appendString(append(b, `,"new":`...), k.new)
		}
		b = strconv.AppendInt(append(b, `,"entries":`...), r.kinds[k], 10)
		b = append(b, '}')
	}
	return append(b, "]}"...)
}
