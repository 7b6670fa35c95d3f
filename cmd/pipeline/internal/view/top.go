package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"pipeline/engine/poll"
	"pipeline/lang/diag"
)

// TopSorts are the orders of the groups on a full screen, the first one that of the
// file.
var TopSorts = []string{"file", "lag", "pending", "waiting", "read/s", "name"}

// Top is what a full screen shows.
type Top struct {
	Pipeline string
	Snapshot *poll.Snapshot
	Rates    Rates
	Problems []Problem
	// Sort is one of TopSorts. Filter chooses groups by a part of their names, or of
	// their streams' or subscriptions', in capitals or not; Typing says that it is being
	// typed.
	Sort, Filter string
	Typing       bool
	Now          time.Time
}

// Top renders a full screen.
func (v *View) Top(t *Top) []string {
	p := paint(v.o.Color)
	b := append(p.append(nil, bold, clean(t.Pipeline)), "  "...)
	b = append(append(t.server(b, p), topKeys(t)...), "\n\n"...)
	groups := &table{
		head:  []string{"group", "subscriptions", "stream", "added/s", "read/s", "lag", "oldest", "pending", "oldest", "consumers"},
		right: map[int]bool{3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true},
	}
	chosen := t.groups()
	for _, g := range chosen {
		groups.row(groupCells(g.stream, g.group, t.Rates)...)
	}
	if len(chosen) == 0 {
		b = append(b, "no group matches\n"...)
	} else {
		b = groups.append(b, p, 0)
	}
	letters := &table{head: []string{"dead letters", "entries", "oldest"}, right: map[int]bool{1: true, 2: true}}
	for i := range t.Snapshot.Streams {
		if s := &t.Snapshot.Streams[i]; s.DeadLetters {
			letters.row(letterCells(s)...)
		}
	}
	if len(letters.rows) > 0 {
		b = letters.append(append(b, '\n'), p, 0)
	}
	if len(t.Problems) > 0 {
		b = append(b, '\n')
	}
	for _, d := range t.Problems {
		color := map[diag.Severity]style{diag.Error: red, diag.Warning: yellow, diag.Notice: blue}[d.Severity]
		b = append(p.append(b, color, d.Severity.String()+"["+string(d.Code)+"]"), ": "...)
		b = append(append(b, clean(hideLogins(d.Summary))...), '\n')
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// server says whether the server answers.
func (t *Top) server(b []byte, p paint) []byte {
	switch {
	case t.Snapshot.Up():
		return append(p.append(b, green, "answered"), " at "+t.Snapshot.Answered.Format(time.TimeOnly)...)
	case t.Snapshot.Err == nil:
		return append(b, "asking the server"...)
	case t.Snapshot.Answered.IsZero():
		return p.append(b, red, clean(hideLogins("the server is away: "+t.Snapshot.Err.Error())))
	}
	return p.append(b, red, "the server is away; shown is what it said "+Duration(t.Now.Sub(t.Snapshot.Answered))+" ago")
}

// topKeys says what may be typed.
func topKeys(t *Top) string {
	keys := "\nq quit  s sort: " + t.Sort + "  / filter"
	if t.Typing {
		return keys + ": " + clean(t.Filter) + "_"
	}
	if t.Filter != "" {
		return keys + ": " + clean(t.Filter) + "  (Esc shows all)"
	}
	return keys
}

type topGroup struct {
	stream *poll.Stream
	group  *poll.Group
}

// groups are those that the filter chooses, in order.
func (t *Top) groups() []topGroup {
	var out []topGroup
	part := strings.ToLower(t.Filter)
	for i := range t.Snapshot.Streams {
		s := &t.Snapshot.Streams[i]
		for j := range s.Groups {
			g := &s.Groups[j]
			if strings.Contains(strings.ToLower(g.Spec.Name+" "+labelsOf(g.Spec)+" "+s.Spec.Name), part) {
				out = append(out, topGroup{s, g})
			}
		}
	}
	descending := func(key func(topGroup) float64) {
		slices.SortStableFunc(out, func(a, b topGroup) int { return cmp.Compare(key(b), key(a)) })
	}
	switch t.Sort {
	case "lag": // one that is not known comes first: it may be any
		descending(func(g topGroup) float64 {
			if !g.group.LagKnown {
				return 1e18
			}
			return float64(g.group.Lag)
		})
	case "pending":
		descending(func(g topGroup) float64 { return float64(g.group.Pending) })
	case "waiting":
		descending(func(g topGroup) float64 { return float64(max(g.group.OldestPending, g.group.OldestUndelivered)) })
	case "read/s":
		descending(func(g topGroup) float64 { return t.Rates.Read[g.group.Spec] })
	case "name":
		slices.SortStableFunc(out, func(a, b topGroup) int { return cmp.Compare(a.group.Spec.Name, b.group.Spec.Name) })
	}
	return out
}
