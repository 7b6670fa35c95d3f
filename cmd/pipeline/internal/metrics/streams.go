package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

// streamChildren are the series of one stream, groupChildren those of a group, in
// the order of a poller's snapshot.
type streamChildren struct {
	length, letters, lettersAge child
	groups                      []groupChildren
}

type groupChildren struct{ lag, pending, oldestPending, oldestUndelivered, consumers, gap child }

func nameStreams(p *spec.Pipeline) []streamChildren {
	var out []streamChildren
	for _, s := range poll.Outline(p) {
		c := streamChildren{
			length: streamLength.child(p.Name, s.Spec.Name), letters: deadLetters.child(p.Name, s.Spec.Name),
			lettersAge: deadLettersAge.child(p.Name, s.Spec.Name),
		}
		for _, g := range s.Groups {
			base := []string{p.Name, s.Spec.Name, g.Spec.Name}
			c.groups = append(c.groups, groupChildren{
				groupLag.child(base...), groupPending.child(base...), oldestPending.child(base...),
				oldestUndelivered.child(base...), groupConsumers.child(base...), trimGap.child(base...),
			})
		}
		out = append(out, c)
	}
	return out
}

// streams sends what the poller found last. What is not known is left out, and so
// is everything once the server has not answered for a while: an old number would
// pass for one of now.
func (m *Metrics) streams(ch chan<- prometheus.Metric) {
	if m.poller == nil {
		return
	}
	found := m.poller.Latest()
	if !found.Asked.IsZero() {
		m.children.up.send(ch, boolean(found.Up()))
	}
	if !found.Fresh(m.clock.Now()) {
		return
	}
	for i := range found.Streams {
		s, c := &found.Streams[i], &m.children.streams[i]
		if s.Known {
			c.length.send(ch, float64(s.Length))
		}
		if s.Known && s.DeadLetters {
			c.letters.send(ch, float64(s.Length))
			if !s.Last.IsZero() {
				c.lettersAge.send(ch, s.Oldest.Seconds())
			}
		}
		for j := range s.Groups {
			c.groups[j].send(ch, &s.Groups[j])
		}
	}
}

func (c *groupChildren) send(ch chan<- prometheus.Metric, g *poll.Group) {
	if !g.Known {
		return
	}
	if g.LagKnown {
		c.lag.send(ch, float64(g.Lag))
	}
	c.pending.send(ch, float64(g.Pending))
	c.oldestPending.send(ch, g.OldestPending.Seconds())
	c.oldestUndelivered.send(ch, g.OldestUndelivered.Seconds())
	c.consumers.send(ch, float64(len(g.Consumers)))
	c.gap.send(ch, float64(g.TrimGap))
}
