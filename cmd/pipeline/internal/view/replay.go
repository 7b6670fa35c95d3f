package view

import (
	"pipeline/cmd/pipeline/internal/replay"
	"pipeline/engine/broker/redis"
	"pipeline/engine/observe"
)

// Replay is what running a range again comes to, before it is run.
type Replay struct {
	Event        string   `json:"event"`
	Subscription string   `json:"subscription"`
	Stream       string   `json:"stream"`
	Group        string   `json:"group"`
	First        string   `json:"from"`
	Last         string   `json:"to"`
	Entries      int64    `json:"entries"`
	Exact        bool     `json:"exact"`
	Pending      int64    `json:"pending"`
	Begun        bool     `json:"begun"`
	Ended        bool     `json:"ended"`
	Publish      bool     `json:"publish"`
	Replies      []string `json:"replies"`
	DeadLetters  string   `json:"dead_letters"`
	Next         string   `json:"next"`
}

// NewReplay is a preview as it is shown, with the command that acts on it.
func NewReplay(r *replay.Range, p *replay.Preview, next string) Replay {
	g := r.Subscription.Group
	only := *g
	only.Subscriptions = only.Subscriptions[:0:0]
	only.Subscriptions = append(only.Subscriptions, r.Subscription)
	return Replay{
		Event: "replay", Subscription: r.Subscription.Label, Stream: g.Stream.Name, Group: r.Group, First: r.First.String(), Last: r.Last.String(),
		Entries: p.Entries, Exact: !p.More, Pending: p.Pending, Begun: p.State == redis.ReplayBegun, Ended: p.State == redis.ReplayEnded,
		Publish: r.Publish, Replies: repliesOf(&only), DeadLetters: g.DeadLetter.Name, Next: next,
	}
}

// Replay prints what running a range again would come to.
func (v *View) Replay(r Replay) {
	if v.o.JSON {
		v.event(r)
		return
	}
	p := paint(v.o.Color)
	span := clean(r.Stream) + " from " + r.First + " to " + r.Last
	if r.Ended {
		v.write([]byte("the replay " + clean(r.Group) + " of " + span + " has ended: nothing is left to run\n"))
		return
	}
	entries := count(r.Entries, "entry", "entries")
	if !r.Exact {
		entries = "more than " + entries
	}
	b := []byte("would run " + entries + " of " + span + " with " + clean(r.Subscription) + ", in the new group " + clean(r.Group) + "\n")
	if r.Begun {
		b = append(b, "  it was begun before and goes on; "+count(r.Pending, "entry", "entries")+" of it "+isAre(r.Pending)+" pending\n"...)
	}
	line := func(st style, text string) { b = append(p.append(append(b, "  "...), st, clean(text)), '\n') }
	switch {
	case len(r.Replies) == 0:
	case r.Publish:
		for _, to := range r.Replies {
			line(yellow, "what it replies is published to "+to+", once for each entry of this replay; what was published before is there twice then")
		}
	default:
		for _, to := range r.Replies {
			line(plain, "what it replies is counted, and not published to "+to+": --publish publishes it")
		}
	}
	line(plain, "an entry that fails for good becomes a dead letter in "+r.DeadLetters)
	b = append(b, "nothing was changed; to run them:\n  "...)
	b = append(p.append(b, cyan, clean(r.Next)), '\n')
	v.write(b)
}

// Replayed is what a replay came to.
type Replayed struct {
	Event       string           `json:"event"`
	Group       string           `json:"group"`
	Stream      string           `json:"stream"`
	Ended       bool             `json:"ended"`
	Outcomes    map[string]int64 `json:"outcomes"`
	Unpublished int64            `json:"unpublished"`
	Next        string           `json:"next"`
}

// Replayed prints what a replay came to.
func (v *View) Replayed(r *replay.Range, of *replay.Result, next string) {
	out := Replayed{
		Event: "replayed", Group: r.Group, Stream: r.Subscription.Group.Stream.Name, Ended: of.Ended, Outcomes: map[string]int64{},
		Unpublished: of.Unpublished, Next: next,
	}
	for result, n := range of.Settled {
		if n > 0 {
			out.Outcomes[string(result)] = n
		}
	}
	if v.o.JSON {
		v.event(out)
		return
	}
	p := paint(v.o.Color)
	text := ""
	for _, result := range Results() {
		if n := of.Settled[result]; n > 0 {
			text += ", " + string(result) + " " + number(n)
		}
	}
	if text == "" {
		text = ", nothing was left to run"
	}
	b := append(p.append(nil, green, "replayed"), text[1:]...)
	b = append(b, '\n')
	if n := of.Settled[observe.ResultReply]; n > 0 && of.Unpublished > 0 {
		b = append(b, "  "+count(of.Unpublished, "reply was", "replies were")+" not published\n"...)
	}
	if next != "" {
		b = append(b, "to go on:\n  "...)
		b = append(p.append(b, cyan, clean(next)), '\n')
	}
	v.write(b)
}
