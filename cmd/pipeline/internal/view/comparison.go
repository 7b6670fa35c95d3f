package view

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
)

// DefaultExamples is how many changed entries of a subscription are shown in
// text.
const DefaultExamples = 3

// Comparison prints where two versions of a pipeline differ. Its methods are
// called from one goroutine.
type Comparison struct {
	v     *View
	scrub *scrubber
	// examples bounds the entries that are shown for a subscription; negative
	// does not.
	examples int
	rows     []*comparedRow
	byLabel  map[string]*comparedRow
	// tally counts what the new version comes to.
	tally *Tally
	// changed counts entries, lastChanged is the last of them.
	changed     int64
	lastChanged struct {
		stream string
		id     broker.ID
	}
	// whole are subscriptions and streams that only one version has.
	whole int
	buf   []byte
}

// comparedRow is what was found about one subscription.
type comparedRow struct {
	label            string
	entries, changed int64
	kinds            map[kind]int64
	// varies counts entries that differ from themselves; firstVarying is one.
	varies             int64
	oldVaries, newSome bool
	firstVarying       broker.ID
	// shown is the text of the examples, in text.
	shown []byte
	shows int
}

// Comparison returns the view of a comparison. examples bounds the changed
// entries that are shown for a subscription; a negative number shows all.
func (v *View) Comparison(old, recent *spec.Pipeline, examples int) *Comparison {
	c := &Comparison{
		v: v, scrub: newScrubber(old, recent), examples: examples, byLabel: map[string]*comparedRow{}, tally: NewTally(recent),
	}
	for _, s := range recent.Subscriptions() {
		row := &comparedRow{label: s.Label, kinds: map[kind]int64{}}
		c.rows, c.byLabel[s.Label] = append(c.rows, row), row
	}
	return c
}

// Entry counts one entry of one subscription and, in JSON, prints what differs.
func (c *Comparison) Entry(x *engine.Compared) error {
	row := c.byLabel[x.New.Subscription.Label]
	row.entries++
	c.tally.Add(x.New.Subscription, x.New.Outcome)
	switch {
	case x.Same:
		return c.v.Err()
	case x.OldVaries || x.NewVaries:
		row.vary(x)
		return c.v.Err()
	}
	id := x.New.Outcome.ID
	if c.changed == 0 || c.lastChanged.id != id || c.lastChanged.stream != x.Stream.Name {
		c.changed++
		c.lastChanged.id, c.lastChanged.stream = id, x.Stream.Name
	}
	row.changed++
	hide := slices.Concat(c.scrub.of(x.Stream.Name, x.Old.Body, x.Old.Outcome), c.scrub.of(x.Stream.Name, x.New.Body, x.New.Outcome))
	slices.SortFunc(hide, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	changes := differences(c.scrub, hide, x)
	row.kinds[kindOf(x, changes)]++
	if c.examples >= 0 && row.shows >= c.examples {
		return c.v.Err()
	}
	row.shows++
	if c.v.o.JSON {
		c.buf = c.appendDifference(c.buf[:0], x, hide, changes)
		c.v.write(c.buf)
	} else {
		row.shown = c.appendExample(row.shown, x, changes)
	}
	return c.v.Err()
}

func (r *comparedRow) vary(x *engine.Compared) {
	if r.varies++; r.varies == 1 {
		r.firstVarying = x.New.Outcome.ID
	}
	r.oldVaries, r.newSome = r.oldVaries || x.OldVaries, r.newSome || x.NewVaries
}

// where says in which versions entries differ from themselves.
func (r *comparedRow) where() string {
	switch {
	case r.oldVaries && r.newSome:
		return "both"
	case r.oldVaries:
		return "old"
	}
	return "new"
}

// sortedKinds are the kinds of a row, the most frequent first.
func (r *comparedRow) sortedKinds() []kind {
	return slices.SortedFunc(maps.Keys(r.kinds), func(a, b kind) int {
		return cmp.Or(cmp.Compare(r.kinds[b], r.kinds[a]), cmp.Compare(a.name, b.name), cmp.Compare(a.old, b.old), cmp.Compare(a.new, b.new))
	})
}

// Changed is how many entries come to something else.
func (c *Comparison) Changed() int64 { return c.changed }

// Differs reports whether anything at all differs.
func (c *Comparison) Differs() bool { return c.changed > 0 || c.whole > 0 }

// Of is how many outcomes of the new version had the result.
func (c *Comparison) Of(r observe.Result) int64 { return c.tally.Of(r) }

// Changes prints the subscriptions that differ as a whole, and the streams that
// only one version declares.
func (c *Comparison) Changes(subs []engine.SubscriptionChange, old, recent *spec.Pipeline) {
	for i := range subs {
		c.wholeChange("subscription", string(subs[i].Change), subs[i].Label(), subs[i].Detail)
	}
	only := func(in, out *spec.Pipeline, change string) {
		for _, s := range in.Streams {
			if !slices.ContainsFunc(out.Streams, func(o *spec.Stream) bool { return o.Name == s.Name }) {
				c.wholeChange("stream", change, s.Name, "")
			}
		}
	}
	only(recent, old, string(engine.Added))
	only(old, recent, string(engine.Removed))
}

// wholeChange prints a subscription or stream that is not in both versions.
func (c *Comparison) wholeChange(what, change, name, detail string) {
	c.whole++
	if c.v.o.JSON {
		b := appendString(append([]byte(nil), `{"event":"`+what+`","change":"`+change+`","`+what+`":`...), name)
		if what == "subscription" {
			b = appendString(append(b, `,"detail":`...), detail)
		}
		c.v.write(append(b, '}', '\n'))
		return
	}
	words := map[string]string{"moved": "reads another stream", "role": "has another role"}[change]
	text := what + " " + clean(name) + " " + cmp.Or(words, "was "+change)
	if detail != "" {
		text += ": " + clean(detail)
	}
	c.v.write([]byte(text + "\n"))
}
