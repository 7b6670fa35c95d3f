package topology

import (
	"strconv"
	"time"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/poll"
)

// Live is what a server said of a stream or a group at one moment.
type Live struct {
	// Exists is false for a stream or group that is absent on the server.
	Exists bool `json:"exists"`
	// Length of a stream, in entries.
	Length *int64 `json:"length,omitempty"`
	// Lag and Pending of a group, in entries; Lag is nil where the server does not
	// know it, because an undelivered entry was deleted.
	Lag     *int64 `json:"lag,omitempty"`
	Pending *int64 `json:"pending,omitempty"`
	// OldestPending and OldestUndelivered are ages by the server's clock; nil where
	// there is none. Of dead letters OldestPending is nil and OldestUndelivered the
	// age of the oldest.
	OldestPending     *Age `json:"oldest_pending_ms,omitempty"`
	OldestUndelivered *Age `json:"oldest_undelivered_ms,omitempty"`
	// Consumers of a group.
	Consumers *int64 `json:"consumers,omitempty"`
	// Problem is why nothing more is known; "" for none.
	Problem string `json:"problem,omitempty"`
}

// Age is how long ago something was, in data a number of milliseconds.
type Age time.Duration

// MarshalJSON is the number of milliseconds.
func (a Age) MarshalJSON() ([]byte, error) {
	return strconv.AppendInt(nil, time.Duration(a).Milliseconds(), 10), nil
}

// String is the age as people read it.
func (a Age) String() string { return view.Duration(max(0, time.Duration(a))) }

// words are the lines of a drawing.
func (l *Live) words() []string {
	switch {
	case l.Problem != "":
		return []string{l.Problem}
	case !l.Exists:
		return []string{"absent on the server"}
	}
	var lines []string
	if l.Length != nil {
		line := view.Count(*l.Length, "entry", "entries")
		if l.OldestUndelivered != nil {
			line += ", oldest " + l.OldestUndelivered.String()
		}
		return append(lines, line)
	}
	lag := "lag not known"
	if l.Lag != nil {
		lag = "lag " + view.Number(*l.Lag)
	}
	if l.OldestUndelivered != nil {
		lag += ", oldest " + l.OldestUndelivered.String()
	}
	lines = append(lines, lag)
	if l.Pending != nil {
		line := view.Number(*l.Pending) + " pending"
		if l.OldestPending != nil {
			line += ", oldest " + l.OldestPending.String()
		}
		lines = append(lines, line)
	}
	if l.Consumers != nil {
		lines = append(lines, view.Count(*l.Consumers, "consumer", "consumers"))
	}
	return lines
}

// Animate adds to the nodes what a server said of their streams and groups.
func (g *Graph) Animate(s *poll.Snapshot) {
	for _, n := range g.Nodes {
		switch n.Kind {
		case Stream, Letters:
			if found := s.Stream(n.Name); found != nil {
				n.Live = liveStream(found, n.Kind == Letters)
			}
		case Group:
			if found := s.Stream(n.Stream); found != nil {
				n.Live = liveGroup(found, n.Name)
			}
		}
	}
}

func liveStream(s *poll.Stream, letters bool) *Live {
	if !s.Known {
		return &Live{Problem: reason(s.Err)}
	}
	l := &Live{Exists: !s.Last.IsZero() || s.Length > 0, Length: &s.Length}
	if letters && s.Length > 0 {
		l.OldestUndelivered = aged(s.Oldest)
	}
	return l
}

func liveGroup(s *poll.Stream, name string) *Live {
	for i := range s.Groups {
		g := &s.Groups[i]
		switch {
		case g.Spec.Name != name:
			continue
		case g.Missing():
			return &Live{}
		case !g.Known:
			return &Live{Problem: reason(g.Err)}
		}
		consumers := int64(len(g.Consumers))
		l := &Live{Exists: true, Pending: &g.Pending, Consumers: &consumers, OldestPending: aged(g.OldestPending), OldestUndelivered: aged(g.OldestUndelivered)}
		if g.LagKnown {
			l.Lag = &g.Lag
		}
		return l
	}
	return nil
}

func reason(err error) string {
	if err == nil {
		return "not known"
	}
	return err.Error()
}

// aged is an age, nil for none.
func aged(d time.Duration) *Age {
	if d <= 0 {
		return nil
	}
	a := Age(d)
	return &a
}
