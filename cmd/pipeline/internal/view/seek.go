package view

import (
	"slices"
	"strings"

	"pipeline/cmd/pipeline/internal/seek"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// Seek is what moving a group comes to, before it is moved or afterwards.
type Seek struct {
	Event  string `json:"event"`
	Group  string `json:"group"`
	Stream string `json:"stream"`
	From   string `json:"from"`
	To     string `json:"to"`
	// First and Last are the oldest entry that is there and the stream's last id.
	First string `json:"first"`
	Last  string `json:"last"`
	// Again are entries that are delivered again, Skipped those that are passed over.
	Again   SeekSpan `json:"again"`
	Skipped SeekSpan `json:"skipped"`
	Freed   int64    `json:"freed"`
	Kept    int64    `json:"kept"`
	// Replies are the streams to which the group's replies go.
	Replies []string `json:"replies"`
	// Remembers: the group has an idempotency block.
	Remembers bool   `json:"idempotency"`
	Next      string `json:"next"`

	back, still bool
	again, skip string
}

// SeekSpan are entries that lie one behind the other. Exact: they were counted; else
// it is what the server counts, or the least that there are.
type SeekSpan struct {
	Entries int64  `json:"entries"`
	Exact   bool   `json:"exact"`
	First   string `json:"first"`
	Last    string `json:"last"`
}

func newSpan(s seek.Span) SeekSpan {
	out := SeekSpan{Entries: s.Entries, Exact: s.Exact || s.Entries == 0}
	if s.Entries > 0 {
		out.First, out.Last = s.First.String(), s.Last.String()
	}
	return out
}

// Entries says how many entries a span has: "12 entries", "about 2,000,341 entries",
// "more than 100,000 entries".
func Entries(s seek.Span) string {
	text := count(s.Entries, "entry", "entries")
	switch {
	case s.More:
		return "more than " + text
	case !s.Exact:
		return "about " + text
	}
	return text
}

// NewSeek is a preview as it is shown, with the command that acts on it.
func NewSeek(p *seek.Preview, next string) Seek {
	s := Seek{
		Group: p.Group.Name, Stream: p.Group.Stream.Name, From: p.From.String(), To: p.To.String(), First: p.First.String(), Last: p.Last.String(),
		Again: newSpan(p.Again), Skipped: newSpan(p.Skipped), Freed: p.Freed, Kept: p.Kept, Next: next,
		Replies: repliesOf(p.Group), Remembers: slices.ContainsFunc(p.Group.Subscriptions, func(s *spec.Subscription) bool { return s.Idempotency != nil }),
		back: p.Back(), still: p.Still(), again: Entries(p.Again), skip: Entries(p.Skipped),
	}
	return s
}

// NewSought is what was done.
func NewSought(p *seek.Preview, sought broker.Sought) Seek {
	s := NewSeek(p, "")
	s.From, s.To, s.Freed = sought.From.String(), sought.At.String(), sought.Freed
	return s
}

// repliesOf are the streams to which a group's subscriptions reply, each once.
func repliesOf(g *spec.Group) []string {
	streams := []string{}
	add := func(r *spec.Route) {
		if r != nil && !slices.Contains(streams, r.To.Name) {
			streams = append(streams, r.To.Name)
		}
	}
	for _, s := range g.Subscriptions {
		add(s.Reply)
		for _, r := range s.Routes {
			add(r)
		}
	}
	return streams
}

// Seek prints what moving a group would come to.
func (v *View) Seek(s Seek) {
	if v.o.JSON {
		s.Event = "seek"
		v.event(s)
		return
	}
	if s.stands(v) {
		return
	}
	p := paint(v.o.Color)
	b := append([]byte("would move the group "), s.where()...)
	b = s.effects(b, p)
	if s.Freed > 0 {
		b = p.append(b, yellow, "  "+count(s.Freed, "entry", "entries")+" of the group behind the position "+isAre(s.Freed)+
			" pending and would be delivered as new: stop the group's workers first")
		b = append(b, '\n')
	}
	b = append(b, "nothing was changed; to move the group:\n  "...)
	b = append(p.append(b, cyan, clean(s.Next)), '\n')
	v.write(b)
}

// Sought prints what moving a group came to.
func (v *View) Sought(s Seek) {
	if v.o.JSON {
		s.Event = "sought"
		v.event(s)
		return
	}
	if s.stands(v) {
		return
	}
	p := paint(v.o.Color)
	b := append(p.append(nil, green, "moved"), " the group "...)
	b = s.effects(append(b, s.where()...), p)
	if s.Freed > 0 {
		b = append(b, "  "+count(s.Freed, "pending entry", "pending entries")+" of them "+isAre(s.Freed)+" delivered as new\n"...)
	}
	v.write(b)
}

// stands says that there is nothing to do, where that is so.
func (s *Seek) stands(v *View) bool {
	if s.still {
		v.write([]byte("the group " + clean(s.Group) + " of " + clean(s.Stream) + " stands at " + s.To + " already\n"))
	}
	return s.still
}

func isAre(n int64) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// where is the group, and how it moves.
func (s *Seek) where() string {
	way := "forward"
	if s.back {
		way = "back"
	}
	return clean(s.Group) + " of " + clean(s.Stream) + " " + way + " from " + s.From + " to " + s.To + "\n"
}

// effects says what is delivered again or passed over.
func (s *Seek) effects(b []byte, p paint) []byte {
	line := func(st style, text string) {
		b = append(p.append(append(b, "  "...), st, clean(text)), '\n')
	}
	switch {
	case s.Skipped.Entries > 0:
		line(red, "passes over "+s.skip+" that nobody was given, "+s.Skipped.First+" to "+s.Skipped.Last+": they are never run")
	case s.Again.Entries > 0:
		text := "delivers again " + s.again + ", " + s.Again.First + " to " + s.Again.Last + ": their handlers run again"
		if len(s.Replies) > 0 {
			text += ", and what they reply is published again to " + strings.Join(s.Replies, ", ")
		}
		line(yellow, text)
		if s.Remembers {
			line(plain, "the group's idempotency block acknowledges those unrun whose keys it still remembers")
		}
	case s.back:
		line(plain, "no entry is left there to be delivered again")
	default:
		line(plain, "passes over no entry")
	}
	if s.Kept > 0 {
		line(plain, count(s.Kept, "pending entry", "pending entries")+" before the position "+map[bool]string{true: "stays", false: "stay"}[s.Kept == 1]+" pending, to be settled as ever")
	}
	return b
}
