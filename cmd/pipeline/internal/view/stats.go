package view

import (
	"strconv"
	"strings"
	"time"

	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

// Rates are how fast entries go through a pipeline, a second. What is not known is
// missing.
type Rates struct {
	// Over is the time that they were measured over.
	Over time.Duration
	// Added are entries added to a stream, by its key; Read are entries given to a
	// group.
	Added map[string]float64
	Read  map[*spec.Group]float64
}

// Stats prints the groups of a pipeline, a line each, its dead letters, and what is
// wrong.
func (v *View) Stats(s *poll.Snapshot, r Rates, problems []Problem) {
	if v.o.JSON {
		v.statsJSON(s, r)
	} else {
		v.write(v.statsText(s, r))
	}
	for _, d := range problems {
		v.Problem(d)
	}
}

func (v *View) statsText(s *poll.Snapshot, r Rates) []byte {
	groups := &table{
		head:  []string{"group", "subscriptions", "stream", "added/s", "read/s", "lag", "oldest", "pending", "oldest", "consumers"},
		right: map[int]bool{3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true},
	}
	letters := &table{head: []string{"dead letters", "entries", "oldest"}, right: map[int]bool{1: true, 2: true}}
	for i := range s.Streams {
		stream := &s.Streams[i]
		for j := range stream.Groups {
			groups.row(groupCells(stream, &stream.Groups[j], r)...)
		}
		if stream.DeadLetters {
			letters.row(letterCells(stream)...)
		}
	}
	b := groups.append(nil, paint(v.o.Color), v.o.Width)
	if len(letters.rows) > 0 {
		b = letters.append(append(b, '\n'), paint(v.o.Color), v.o.Width)
	}
	return b
}

func groupCells(s *poll.Stream, g *poll.Group, r Rates) []cell {
	unknown := cell{"?", yellow}
	cells := []cell{
		{g.Spec.Name, bold}, {labelsOf(g.Spec), plain}, {s.Spec.Name, plain}, rateCell(r.Added, s.Spec.Name), rateCell(r.Read, g.Spec),
	}
	switch {
	case g.Missing():
		return append(cells, cell{"no such group", red}, cell{}, cell{}, cell{}, cell{})
	case !g.Known:
		return append(cells, unknown, unknown, unknown, unknown, unknown)
	}
	lag := unknown
	if g.LagKnown {
		lag = cell{number(g.Lag), plain}
	}
	return append(cells, lag, ageCell(g.OldestUndelivered), cell{number(g.Pending), plain}, ageCell(g.OldestPending), cell{number(int64(len(g.Consumers))), plain})
}

func letterCells(s *poll.Stream) []cell {
	if !s.Known {
		return []cell{{s.Spec.Name, plain}, {"?", yellow}, {}}
	}
	style := plain
	if s.Length > 0 {
		style = yellow
	}
	return []cell{{s.Spec.Name, plain}, {number(s.Length), style}, ageCell(s.Oldest)}
}

func ageCell(d time.Duration) cell {
	if d <= 0 {
		return cell{"-", dim}
	}
	return cell{Duration(d), plain}
}

func rateCell[K comparable](rates map[K]float64, of K) cell {
	rate, known := rates[of]
	switch {
	case !known:
		return cell{}
	case rate > 0 && rate < 10:
		return cell{strconv.FormatFloat(rate, 'f', 1, 64), plain}
	}
	return cell{number(int64(rate + 0.5)), plain}
}

func labelsOf(g *spec.Group) string {
	labels := make([]string, len(g.Subscriptions))
	for i, s := range g.Subscriptions {
		labels[i] = s.Label
	}
	return strings.Join(labels, ", ")
}

// groupStats is a line about a group. What is not known is null.
type groupStats struct {
	Event         string   `json:"event"`
	Group         string   `json:"group"`
	Stream        string   `json:"stream"`
	Subscriptions []string `json:"subscriptions"`
	Exists        bool     `json:"exists"`
	Added         *float64 `json:"added_per_s"`
	Read          *float64 `json:"read_per_s"`
	Lag           *int64   `json:"lag"`
	Undelivered   *int64   `json:"oldest_undelivered_ms"`
	Pending       *int64   `json:"pending"`
	OldestPending *int64   `json:"oldest_pending_ms"`
	TrimGap       *int64   `json:"trim_gap"`
	Consumers     *int64   `json:"consumers"`
	Error         string   `json:"error"`
}

func (v *View) statsJSON(s *poll.Snapshot, r Rates) {
	for i := range s.Streams {
		stream := &s.Streams[i]
		for j := range stream.Groups {
			g := &stream.Groups[j]
			out := groupStats{
				Event: "group", Group: g.Spec.Name, Stream: stream.Spec.Name, Subscriptions: []string{}, Exists: g.Known,
				Added: rateOf(r.Added, stream.Spec.Name), Read: rateOf(r.Read, g.Spec),
				Lag: known(g.Lag, g.Known && g.LagKnown), Undelivered: known(g.OldestUndelivered.Milliseconds(), g.Known),
				Pending: known(g.Pending, g.Known), OldestPending: known(g.OldestPending.Milliseconds(), g.Known),
				TrimGap: known(g.TrimGap, g.Known), Consumers: known(int64(len(g.Consumers)), g.Known),
			}
			for _, sub := range g.Spec.Subscriptions {
				out.Subscriptions = append(out.Subscriptions, sub.Label)
			}
			if g.Err != nil {
				out.Error = g.Err.Error()
			}
			v.event(out)
		}
	}
	for i := range s.Streams {
		if stream := &s.Streams[i]; stream.DeadLetters {
			v.event(struct {
				Event   string `json:"event"`
				Letters string `json:"letters"`
				Entries *int64 `json:"entries"`
				Oldest  *int64 `json:"oldest_ms"`
			}{"dead_letters", stream.Spec.Name, known(stream.Length, stream.Known), known(stream.Oldest.Milliseconds(), stream.Known)})
		}
	}
}

func rateOf[K comparable](rates map[K]float64, of K) *float64 {
	rate, ok := rates[of]
	return known(rate, ok)
}
