package harness

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
)

// String is the whole state as text: the same in every run. It is meant for
// people and for comparing; its form may change.
func (h *Harness) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "time %s (%v)\n", h.Now().UTC().Format(time.RFC3339Nano), h.Now().Sub(h.cfg.Start))
	for _, w := range h.workers {
		h.dumpWorker(&b, w)
	}
	for _, s := range h.cfg.Pipeline.Subscriptions() {
		for _, c := range h.Calls(s.Label) {
			h.dumpCall(&b, &c)
		}
	}
	for _, s := range h.streams() {
		for _, e := range h.Entries(s.Name) {
			fmt.Fprintf(&b, "entry %s %v %q\n", s.Label, e.ID, e.Fields)
		}
	}
	for _, g := range h.cfg.Pipeline.Groups {
		for _, p := range h.Pending(g.Label) {
			fmt.Fprintf(&b, "pending %s %v %s deliveries %d idle %v", g.Label, p.ID, p.Consumer, p.Deliveries, p.Idle)
			if r := p.Record; !r.At.IsZero() {
				fmt.Fprintf(&b, " starts %d asked %d due %v error %q", r.Starts, r.Asked, r.Due.Sub(h.cfg.Start), r.Error)
			}
			b.WriteByte('\n')
		}
	}
	for _, e := range h.events {
		fmt.Fprintf(&b, "event %v %s %s", e.At.Sub(h.cfg.Start), e.Worker, e.Name)
		for _, s := range []string{e.Subscription, e.Stream, e.Group, e.Message} {
			if s != "" {
				b.WriteString(" " + s)
			}
		}
		if e.Err != nil {
			fmt.Fprintf(&b, ": %v", e.Err)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func (h *Harness) dumpWorker(b *strings.Builder, w *Worker) {
	state := "alive"
	switch {
	case w.crashed:
		state = "crashed"
	case w.ended:
		state = "stopped"
	case w.stalled:
		state = "stalled"
	}
	fmt.Fprintf(b, "%s %s\n", w.name, state)
	if w.crashed {
		return
	}
	for _, s := range w.Snapshot().Subscriptions {
		fmt.Fprintf(b, "  %s as %s held %d parked %d dead %d", s.Label, s.Consumer, s.Held, s.Parked, s.Dead)
		for _, result := range slices.Sorted(maps.Keys(s.Settled)) {
			fmt.Fprintf(b, " %s %d", result, s.Settled[result])
		}
		if s.Err != nil {
			fmt.Fprintf(b, " failed: %v", s.Err)
		}
		b.WriteByte('\n')
	}
}

func (h *Harness) dumpCall(b *strings.Builder, c *Call) {
	fmt.Fprintf(b, "call %s %v at %v by %s deliveries %d attempt %d entry %s key %q: %s", c.Subscription, c.ID,
		c.Time.Sub(h.cfg.Start), c.Consumer, c.Deliveries, c.Attempt, text(&c.Entry), c.Key, c.Outcome)
	flag := func(set bool, name string) {
		if set {
			b.WriteString(" " + name)
		}
	}
	flag(!c.Ran, "unrun")
	flag(c.Said != "" && c.Said != string(c.Outcome), "said "+c.Said)
	flag(!c.Settled, "unsettled")
	flag(c.Dead, "dead-lettered")
	flag(c.HasAfter, "after "+c.After.String())
	flag(c.Reason != "", "reason "+value.Quote(c.Reason))
	flag(c.Error != "", string(c.Kind)+" "+value.Quote(c.Error))
	flag(c.Elapsed > 0, "took "+c.Elapsed.String())
	for i := range c.Replies {
		r := &c.Replies[i]
		fmt.Fprintf(b, " reply %s %s key %q%s", r.Stream, text(&r.Body), r.Key, headersText(r.Headers))
	}
	for _, l := range c.Logs {
		fmt.Fprintf(b, " log %d %q%s", l.Level, l.Message, headersText(l.Attrs))
	}
	b.WriteByte('\n')
}

func headersText(headers []outcome.Header) string {
	var b strings.Builder
	for _, h := range headers {
		fmt.Fprintf(&b, " %s=%q", h.Name, h.Value)
	}
	return b.String()
}

// text is a value as JSON; one that JSON cannot carry is quoted.
func text(v *value.Value) string {
	out, err := value.AppendJSON(nil, v)
	if err != nil {
		return value.Quote(v.Text())
	}
	return string(out)
}
