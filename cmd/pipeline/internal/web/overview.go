package web

import (
	"html/template"
	"net/http"
	"net/url"
	"time"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

func groupLink(label string) string   { return "/group/" + url.PathEscape(label) }
func handlerLink(label string) string { return "/handler/" + url.PathEscape(label) }

// overviewData is the first page.
type overviewData struct {
	Span     string
	Tiles    []tile
	Problems []*fold
	Picture  template.HTML
	Groups   *groupList
	Letters  []letterRow
	Streams  []streamRow
}

// tile is one number of all.
type tile struct {
	Title, Value, Note string
	Drawing            template.HTML
}

// groupRow is a group in a table. What is not known is nil.
type groupRow struct {
	Label, Name, Stream, Link string
	// State is "" for a group that is known, else why it is not.
	State                   string
	Added, Read             *float64
	Lag, Pending, Consumers *int64
	Undelivered, Oldest     time.Duration
	TrimGap                 int64
	Drawing                 template.HTML

	group *spec.Group
}

// letterRow is a dead-letter stream.
type letterRow struct {
	Name, Link string
	Known      bool
	Length     int64
	Oldest     time.Duration
	Drawing    template.HTML
}

// streamRow is a stream.
type streamRow struct {
	Name, Codec string
	Known       bool
	Length      int64
	Oldest      time.Duration
	Added       *float64
	Others      []string
}

func (s *Site) overview(r *http.Request) (*content, error) {
	l := s.look()
	groups, err := l.groups(r)
	if err != nil {
		return nil, err
	}
	d := &overviewData{Span: spanText(l.span), Tiles: l.tiles(), Problems: folded(s.problems(l)), Picture: l.picture, Groups: groups}
	for i := range l.found.Streams {
		stream := &l.found.Streams[i]
		if stream.DeadLetters {
			d.Letters = append(d.Letters, l.letterRow(stream))
		}
		d.Streams = append(d.Streams, l.streamRow(stream))
	}
	return &content{Name: "overview", Title: "Overview", Here: "overview", Data: d, Live: true}, nil
}

func (l *look) groupRow(stream *poll.Stream, g *poll.Group) groupRow {
	r := groupRow{
		Label: g.Spec.Label, Name: view.Clean(g.Spec.Name), Stream: view.Clean(stream.Spec.Name), Link: groupLink(g.Spec.Label),
		Added: valueOf(l.rates.added, stream.Spec.Name), Read: valueOf(l.rates.read, g.Spec),
		group: g.Spec,
	}
	switch {
	case g.Missing():
		r.State = "does not exist"
	case !g.Known && g.Err != nil:
		r.State = told(view.Clean(g.Err.Error()))
	case !g.Known:
		r.State = "not looked at yet"
	default:
		consumers := int64(len(g.Consumers))
		r.Pending, r.Consumers, r.TrimGap = &g.Pending, &consumers, g.TrimGap
		r.Undelivered, r.Oldest = g.OldestUndelivered, g.OldestPending
		if g.LagKnown {
			r.Lag = &g.Lag
		}
	}
	return r
}

// groupSpark is the age of what waits for a group, drawn.
func (l *look) groupSpark(g *spec.Group) template.HTML {
	at := l.groupAt[g]
	return l.over(func(p *poll.Point) float64 { return seconds(p.Groups[at].OldestUndelivered) }).spark("age of the oldest undelivered entry")
}

func (l *look) letterRow(stream *poll.Stream) letterRow {
	at := l.streamAt[stream.Spec.Name]
	return letterRow{
		Name: view.Clean(stream.Spec.Name), Link: link("/dead-letters", "stream", stream.Spec.Name), Known: stream.Known,
		Length: stream.Length, Oldest: stream.Oldest,
		Drawing: l.over(func(p *poll.Point) float64 { return known(p.Streams[at].Length) }).spark("dead letters"),
	}
}

func (l *look) streamRow(stream *poll.Stream) streamRow {
	r := streamRow{
		Name: view.Clean(stream.Spec.Name), Codec: string(stream.Spec.Codec), Known: stream.Known, Length: stream.Length,
		Oldest: stream.Oldest, Added: valueOf(l.rates.added, stream.Spec.Name),
	}
	for _, g := range stream.Others {
		r.Others = append(r.Others, view.Clean(g.Name))
	}
	return r
}

// valueOf is a value that may be missing.
func valueOf[K comparable](all map[K]float64, of K) *float64 {
	if v, ok := all[of]; ok {
		return &v
	}
	return nil
}

// seconds is an age as a value of a series: -1 is one that was not known.
func seconds(d time.Duration) float64 {
	if d < 0 {
		return known(-1)
	}
	return d.Seconds()
}

// sums are the numbers of all groups together.
type sums struct {
	lag, pending, letters int64
	// some of the lags are not known.
	partly            bool
	undelivered       time.Duration
	read              float64
	readKnown, groups bool
}

func (l *look) sums() (t sums) {
	for i := range l.found.Streams {
		stream := &l.found.Streams[i]
		if stream.Known && stream.DeadLetters {
			t.letters += stream.Length
		}
		for j := range stream.Groups {
			g := &stream.Groups[j]
			if len(g.Spec.Subscriptions) == 0 {
				continue // nobody is to read it
			}
			t.groups = t.groups || g.Known
			t.partly = t.partly || !g.Known || !g.LagKnown
			if !g.Known {
				continue
			}
			if g.LagKnown {
				t.lag += g.Lag
			}
			t.pending += g.Pending
			t.undelivered = max(t.undelivered, g.OldestUndelivered)
			if rate, ok := l.rates.read[g.Spec]; ok {
				t.read, t.readKnown = t.read+rate, true
			}
		}
	}
	return t
}

func (l *look) tiles() []tile {
	t := l.sums()
	sum := func(of func(*poll.GroupPoint) int64) series {
		return l.over(func(p *poll.Point) float64 {
			total, some := 0.0, false
			for i := range p.Groups {
				if n := of(&p.Groups[i]); n >= 0 {
					total, some = total+float64(n), true
				}
			}
			if !some {
				return known(-1)
			}
			return total
		})
	}
	letters := l.over(func(p *poll.Point) float64 {
		total := 0.0
		for name, i := range l.streamAt {
			if l.found.Stream(name).DeadLetters {
				total += float64(max(0, p.Streams[i].Length))
			}
		}
		return total
	})
	oldest := l.over(func(p *poll.Point) float64 {
		most := 0.0
		for i := range p.Groups {
			most = max(most, p.Groups[i].OldestUndelivered.Seconds())
		}
		return most
	})
	all := []tile{
		{Title: "Not delivered", Value: view.Number(t.lag), Note: "entries that groups were not given yet",
			Drawing: sum(func(g *poll.GroupPoint) int64 { return g.Lag }).spark("entries not delivered")},
		{Title: "Oldest of them", Value: view.Duration(t.undelivered.Round(time.Second)), Note: "since it was added",
			Drawing: oldest.spark("age of the oldest undelivered entry")},
		{Title: "Pending", Value: view.Number(t.pending), Note: "delivered and not acknowledged",
			Drawing: sum(func(g *poll.GroupPoint) int64 { return g.Pending }).spark("pending entries")},
		{Title: "Read a second", Value: rateText(t.read), Note: "by all groups, over the last minute",
			Drawing: sum(func(g *poll.GroupPoint) int64 { return g.Read }).speed().spark("entries read a second")},
		{Title: "Dead letters", Value: view.Number(t.letters), Note: "set aside, in all streams",
			Drawing: letters.spark("dead letters")},
	}
	if t.partly {
		all[0].Note = "at least: the lag of a group is not known"
	}
	if !t.groups {
		all[0].Value, all[1].Value, all[2].Value = "–", "–", "–"
	}
	if t.undelivered == 0 {
		all[1].Value = "–"
	}
	if !t.readKnown {
		all[3].Value = "–"
	}
	return all
}

// find finds a group by its label.
func (s *Site) find(label string) (*spec.Group, error) {
	for _, g := range s.Pipeline.Groups {
		if g.Label == label {
			return g, nil
		}
	}
	return nil, absent("The pipeline has no group of this label. The overview lists those that it has.")
}
