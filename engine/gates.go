package engine

import (
	"fmt"

	"pipeline/engine/backlog"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// gates returns the gauges of the streams with a max_backlog that a subscription
// replies to; nil where there are none. A stream has one gauge for all of them.
// The subscription's own stream has none: copies that its retries make take the
// place of what is acknowledged, and waiting for oneself would never end.
func (e *Engine) gates(s *spec.Subscription) map[string]*backlog.Gauge {
	routes := s.Routes
	if s.Reply != nil {
		routes = []*spec.Route{s.Reply}
	}
	var gates map[string]*backlog.Gauge
	for _, r := range routes {
		if r.To.MaxBacklog == 0 || r.To.Name == s.Group.Stream.Name {
			continue
		}
		g := e.gauges[r.To.Name]
		if g == nil {
			g = backlog.New(e.cfg.Broker, e.cfg.Clock, r.To.Name, r.To.MaxBacklog, e.backlogEvent)
			e.gauges[r.To.Name] = g
		}
		if gates == nil {
			gates = make(map[string]*backlog.Gauge)
		}
		gates[r.To.Name] = g
	}
	return gates
}

// backlogEvent tells of a change of the room that there is in a stream.
func (e *Engine) backlogEvent(s backlog.State) {
	ev := observe.Event{
		Name: observe.EventBacklogRoom, Level: sandbox.Info, Stream: s.Stream, Group: s.Group, Count: int(s.Entries),
		Message: s.String() + ": there is room for replies to it",
	}
	switch {
	case s.Level == backlog.Free && s.Was == backlog.Slowed && s.Reopened:
		return // that there is room was told when it let something through again
	case s.Level == backlog.Full:
		ev.Name, ev.Level = observe.EventBacklogFull, sandbox.Warn
		ev.Message = fmt.Sprintf("%s: replies to it are withheld until it has %d or less; they are kept, and so are the entries that they answer", s, s.Reopens())
	case s.Level == backlog.Slowed && !s.Reopened:
		ev.Name = observe.EventBacklogSlowed
		ev.Message = s.String() + ": replies to it are slowed down"
	}
	e.event(ev)
}

// HandBack makes everything that waits for room in a stream with a max_backlog
// be handed back, instead of being held until there is room: its entries stay
// pending, and whoever is given them next runs them again. It is for those who
// are about to end Run and know that nobody makes room meanwhile.
func (e *Engine) HandBack() {
	for _, s := range e.subs {
		if n := s.session.Load(); n != nil {
			n.settler.GiveUp()
		}
	}
}
