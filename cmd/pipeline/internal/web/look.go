package web

import (
	"html/template"
	"sync"
	"time"

	"pipeline/cmd/pipeline/internal/topology"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

// look is what is made of one look of the poller, once for all who ask.
type look struct {
	found   *poll.Snapshot
	history []*poll.Point
	rates   rates
	picture template.HTML
	// findings are what is wrong with the streams and groups, stream by stream.
	findings []problem
	// span is the time that charts show: what the history has, rounded up.
	span time.Duration
	// streams and groups are by their place in a point of the history.
	streamAt map[string]int
	groupAt  map[*spec.Group]int
}

// looks keeps the last one.
type looks struct {
	mu   sync.Mutex
	last *look
}

// look returns what there is to see now.
func (s *Site) look() *look {
	found := s.Poller.Latest()
	s.looks.mu.Lock()
	defer s.looks.mu.Unlock()
	if l := s.looks.last; l != nil && l.found == found {
		return l
	}
	l := &look{found: found, history: s.Poller.History(), streamAt: map[string]int{}, groupAt: map[*spec.Group]int{}}
	for i := range found.Streams {
		l.streamAt[found.Streams[i].Spec.Name] = i
		for j := range found.Streams[i].Groups {
			l.groupAt[found.Streams[i].Groups[j].Spec] = len(l.groupAt)
		}
	}
	l.rates, l.span = l.measure(), spanOf(l.history)
	l.picture, l.findings = s.draw(l), s.findings(found)
	s.looks.last = l
	return l
}

// rates are entries a second, over the last minute. What is not known is missing.
type rates struct {
	added map[string]float64
	read  map[*spec.Group]float64
}

// lately is the time that rates are measured over.
const lately = time.Minute

func (l *look) measure() rates {
	r := rates{map[string]float64{}, map[*spec.Group]float64{}}
	n := len(l.history)
	if n < 2 || !l.history[n-1].Up {
		return r
	}
	last := l.history[n-1]
	begin := n - 1
	for begin > 0 && last.At.Sub(l.history[begin-1].At) <= lately+poll.Every/2 {
		begin--
	}
	// A count is not known before its stream is there, so each begins by itself.
	speed := func(count func(*poll.Point) int64) (float64, bool) {
		for _, p := range l.history[begin : n-1] {
			if d := last.At.Sub(p.At).Seconds(); p.Up && count(p) >= 0 && d > 0 {
				v, ok := grown(count(p), count(last))
				return v / d, ok
			}
		}
		return 0, false
	}
	for name, i := range l.streamAt {
		if v, ok := speed(func(p *poll.Point) int64 { return p.Streams[i].Added }); ok {
			r.added[name] = v
		}
	}
	for g, i := range l.groupAt {
		if v, ok := speed(func(p *poll.Point) int64 { return p.Groups[i].Read }); ok {
			r.read[g] = v
		}
	}
	return r
}

// grown is how much a count has grown; one that is not known, or began anew, has
// not.
func grown(before, now int64) (float64, bool) {
	return float64(now - before), before >= 0 && now >= before
}

// pictureWide is how wide a drawing may be without being scrolled, in pixels.
const pictureWide = 1190

// draw draws the topology with what was found.
func (s *Site) draw(l *look) template.HTML {
	g := *s.graph
	g.Nodes, g.Edges = nil, nil
	copies := map[*topology.Node]*topology.Node{}
	groups := map[string]*spec.Group{}
	for _, group := range s.Pipeline.Groups {
		groups[group.Stream.Name+"\x00"+group.Name] = group
	}
	for _, n := range s.graph.Nodes {
		c := *n
		copies[n] = &c
		g.Nodes = append(g.Nodes, &c)
		if rate, known := l.rates.added[n.Name]; known && (n.Kind == topology.Stream || n.Kind == topology.Letters) {
			c.Notes = []string{rateText(rate) + " added/s"}
		}
		if rate, known := l.rates.read[groups[n.Stream+"\x00"+n.Name]]; known && n.Kind == topology.Group {
			c.Notes = []string{rateText(rate) + " read/s"}
		}
	}
	for _, e := range s.graph.Edges {
		c := *e
		c.From, c.To = copies[e.From], copies[e.To]
		g.Edges = append(g.Edges, &c)
	}
	g.Animate(l.found)
	return template.HTML(g.Part(pictureWide, s.behind)) //nolint:gosec // the drawing escapes every name
}

// behind is the page behind a node.
func (s *Site) behind(n *topology.Node) string {
	switch n.Kind {
	case topology.Group:
		return groupLink(n.Label)
	case topology.Letters:
		return link("/dead-letters", "stream", n.Name)
	case topology.Subscription:
		return handlerLink(n.Handler.Label)
	}
	return ""
}
