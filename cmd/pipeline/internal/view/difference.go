package view

import (
	"slices"
	"strconv"
	"strings"

	"pipeline/engine"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// change is one place where two versions come to something else.
type change struct {
	// path is the place for a program: replies[0].body.suspicious. words are the
	// same for a person: "reply to payments.screened .suspicious".
	path, words string
	// old and new are the values as JSON, "" where there is none.
	old, new string
}

// differ finds the changes of one entry. What is sensitive is compared as it is
// and masked in what comes out.
type differ struct {
	scrub   *scrubber
	hide    secrets
	changes []change
}

// differences are the changes of an entry in a subscription, the gravest first.
func differences(scrub *scrubber, hide secrets, x *engine.Compared) []change {
	d := &differ{scrub: scrub, hide: hide}
	o, n := x.Old.Outcome, x.New.Outcome
	d.texts("outcome", "outcome", string(o.Result), string(n.Result))
	d.plain("dead_letter", "dead letter to", orNone(letter(&x.Old)), orNone(letter(&x.New)))
	for i := range max(len(o.Replies), len(n.Replies)) {
		d.reply(i, o.Replies, n.Replies)
	}
	d.plain("after_ms", "again in", wait(o), wait(n))
	d.texts("reason", "reason", o.Reason, n.Reason)
	if !engine.SameError(o.Error, n.Error) {
		d.texts("error", "error", o.Error, n.Error)
	}
	d.texts("key", "key", o.Key, n.Key)
	return d.changes
}

// letter is the stream that a dead letter goes to, "" without one.
func letter(o *engine.DryOutcome) string {
	if !o.Outcome.Dead {
		return ""
	}
	return o.Subscription.Group.DeadLetter.Name
}

// wait is the time in milliseconds that the entry waits at least, "" where none
// is told.
func wait(o *observe.Outcome) string {
	if !o.HasAfter {
		return ""
	}
	return strconv.FormatInt(o.After.Milliseconds(), 10)
}

func (d *differ) texts(path, words, o, n string) {
	if o != n {
		d.changes = append(d.changes, change{path, words, quoted(d.hide.text(o)), quoted(d.hide.text(n))})
	}
}

// plain compares values that are JSON and hide nothing.
func (d *differ) plain(path, words, o, n string) {
	if o != n {
		d.changes = append(d.changes, change{path, words, o, n})
	}
}

// orNone is a text as JSON, "" for an empty one.
func orNone(text string) string {
	if text == "" {
		return ""
	}
	return quoted(text)
}

func quoted(text string) string { return string(appendString(nil, text)) }

// reply compares the replies at one place.
func (d *differ) reply(i int, old, recent []observe.Reply) {
	path := "replies[" + strconv.Itoa(i) + "]"
	words := func(r *observe.Reply) string {
		if max(len(old), len(recent)) == 1 {
			return "reply to " + r.Stream
		}
		return "reply " + strconv.Itoa(i+1) + " to " + r.Stream
	}
	switch {
	case i >= len(old):
		d.changes = append(d.changes, change{path: path, words: words(&recent[i]), new: d.whole(&recent[i])})
		return
	case i >= len(recent):
		d.changes = append(d.changes, change{path: path, words: words(&old[i]), old: d.whole(&old[i])})
		return
	}
	o, n := &old[i], &recent[i]
	d.texts(path+".stream", "reply "+strconv.Itoa(i+1)+" to", o.Stream, n.Stream)
	if o.Body != n.Body {
		d.bodies(path, words(n), o, n)
	}
	d.texts(path+".key", words(n)+" key", o.Key, n.Key)
	d.headers(path+".headers", words(n)+" header ", o.Headers, n.Headers)
}

// whole is a reply as an outcome's line has it.
func (d *differ) whole(r *observe.Reply) string {
	clean := d.scrub.reply(r, d.hide)
	return string(appendReply(nil, &clean))
}

// bodies compares two bodies that are not the same bytes.
func (d *differ) bodies(path, words string, o, n *observe.Reply) {
	if isJSON(o) && isJSON(n) {
		was, errOld := value.ParseJSON(o.Body, nil)
		is, errNew := value.ParseJSON(n.Body, nil)
		if errOld == nil && errNew == nil {
			hidden := splitPaths(append(slices.Clone(d.scrub.fields[o.Stream]), d.scrub.fields[n.Stream]...))
			d.values(spot{path + ".body", words + " "}, &was, &is, hidden)
			return
		}
	}
	show := func(r *observe.Reply) string {
		clean := d.scrub.reply(r, d.hide)
		if r.Codec == spec.CodecText {
			return quoted(clean.Body)
		}
		if r.Codec == spec.CodecBytes {
			return quoted(size(int64(len(r.Body))))
		}
		return clean.Body
	}
	d.changes = append(d.changes, change{path + ".body", words + " body", show(o), show(n)})
}

func splitPaths(fields []string) [][]string {
	paths := make([][]string, len(fields))
	for i, f := range fields {
		paths[i] = strings.Split(f, ".")
	}
	return paths
}

// spot is a place in a body, for a program and for a person.
type spot struct{ path, words string }

func (p spot) member(name string) spot {
	step := value.MemberPath(name, "")
	if step[0] != '[' {
		step = "." + step
	}
	return spot{p.path + step, p.words + step}
}

func (p spot) index(i int) spot {
	step := "[" + strconv.Itoa(i) + "]"
	return spot{p.path + step, p.words + step}
}

// values compares two bodies, place by place. hidden are the paths from here to
// what is sensitive.
func (d *differ) values(at spot, o, n *value.Value, hidden [][]string) {
	here := slices.ContainsFunc(hidden, func(path []string) bool { return len(path) == 0 })
	switch {
	case o == nil || n == nil || here || o.Kind() != n.Kind() || o.Kind() != value.Object && o.Kind() != value.Array:
		d.leaf(at, o, n, hidden, here)
	case o.Kind() == value.Array:
		for i := range max(o.Len(), n.Len()) {
			d.values(at.index(i), o.At(i), n.At(i), hidden)
		}
	default:
		for i := range o.Items() {
			name := o.Items()[i].Name()
			d.values(at.member(name), &o.Items()[i], n.Get(name), below(hidden, name))
		}
		for i := range n.Items() {
			if name := n.Items()[i].Name(); o.Get(name) == nil {
				d.values(at.member(name), nil, &n.Items()[i], below(hidden, name))
			}
		}
	}
}

// below are the paths that go on from a member.
func below(paths [][]string, name string) [][]string {
	var out [][]string
	for _, p := range paths {
		if p[0] == name {
			out = append(out, p[1:])
		}
	}
	return out
}

// leaf compares two values as a whole.
func (d *differ) leaf(at spot, o, n *value.Value, hidden [][]string, here bool) {
	show := func(v *value.Value, clean bool) string {
		switch {
		case v == nil:
			return ""
		case !clean:
			return jsonText(v)
		case here:
			return quoted(masked)
		}
		shown := *v
		for _, path := range hidden {
			shown = maskPath(shown, path)
		}
		shown = d.hide.value(shown)
		return jsonText(&shown)
	}
	if show(o, false) != show(n, false) {
		d.changes = append(d.changes, change{at.path, at.words, show(o, true), show(n, true)})
	}
}

// headers compares headers by name; of names that repeat the first counts.
func (d *differ) headers(path, words string, old, recent []outcome.Header) {
	lookup := func(in []outcome.Header, name string) (raw, shown string) {
		for _, h := range in {
			if h.Name == name {
				return quoted(h.Value), quoted(d.hide.text(h.Value))
			}
		}
		return "", ""
	}
	var names []string
	for _, h := range slices.Concat(old, recent) {
		if !slices.Contains(names, h.Name) {
			names = append(names, h.Name)
		}
	}
	for _, name := range names {
		was, wasShown := lookup(old, name)
		is, isShown := lookup(recent, name)
		if was != is {
			at := spot{path, words}.member(name)
			d.changes = append(d.changes, change{at.path, words + name, wasShown, isShown})
		}
	}
}
