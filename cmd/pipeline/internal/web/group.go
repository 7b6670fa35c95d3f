package web

import (
	"cmp"
	"net/http"
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/findings"
	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/cmd/pipeline/internal/waiting"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

// groupData is the page of a group.
type groupData struct {
	Span          string
	Row           groupRow
	Disabled      bool
	Position      string
	Problems      []problem
	Charts        []chart
	Consumers     []consumerRow
	Subscriptions []subscriptionRow
	Settings      []setting
	PendingLink   string
	Letters       letterRow
	Works         bool
	// Quiet is how long a consumer that lives is never silent.
	Quiet time.Duration
}

// consumerRow is a consumer on the server.
type consumerRow struct {
	Name    string
	Pending int64
	Idle    time.Duration
	// State says whether it lives.
	State, Here string
}

// subscriptionRow is a subscription and what its workers in this process do.
type subscriptionRow struct {
	Label, Handler, HandlerLink, Source string
	Now                                 *engine.SubscriptionSnapshot
	Err                                 string
	Settled, Failed                     int64
}

// setting is a setting as it holds, with what a file does not say filled in.
type setting struct{ Of, Name, Value string }

func (s *Site) group(r *http.Request) (*content, error) {
	g, err := s.find(r.PathValue("label"))
	if err != nil {
		return nil, err
	}
	l := s.look()
	stream, found := l.found.Stream(g.Stream.Name), l.found.Group(g)
	d := &groupData{
		Span: spanText(l.span),
		Row:  l.groupRow(stream, found), Disabled: len(g.Subscriptions) == 0, Settings: groupSettings(g),
		PendingLink: groupLink(g.Label) + "/pending", Works: s.Engine != nil, Charts: l.groupCharts(g),
	}
	if found.Known {
		d.Position = found.LastDelivered.String()
	}
	for _, p := range s.problems(l) {
		if p.Group == g.Label {
			if p.Link == groupLink(g.Label) {
				p.Link = ""
			}
			d.Problems = append(d.Problems, p)
		}
	}
	if letters := l.found.Stream(g.DeadLetter.Name); letters != nil {
		d.Letters = l.letterRow(letters)
		d.Letters.Link = link("/dead-letters", "stream", g.DeadLetter.Name, "group", g.Label)
	}
	d.Subscriptions = s.subscriptions(g)
	d.Quiet = cmp.Or(findings.QuietAfter(g), plan.StaleAfter) // nobody of this pipeline reads a group without subscriptions
	for _, c := range found.Consumers {
		row := consumerRow{Name: view.Clean(c.Name), Pending: c.Pending, Idle: c.Idle, State: "alive"}
		if c.Idle >= d.Quiet {
			row.State = "silent"
		}
		for i := range d.Subscriptions {
			if now := d.Subscriptions[i].Now; now != nil && now.Consumer == c.Name {
				row.Here = d.Subscriptions[i].Label
			}
		}
		d.Consumers = append(d.Consumers, row)
	}
	return &content{Name: "group", Title: "Group " + view.Clean(g.Label), Here: "overview", Data: d, Live: true}, nil
}

func (l *look) groupCharts(g *spec.Group) []chart {
	at := l.groupAt[g]
	of := func(value func(*poll.GroupPoint) float64) series {
		return l.over(func(p *poll.Point) float64 { return value(&p.Groups[at]) })
	}
	return []chart{
		of(func(p *poll.GroupPoint) float64 { return seconds(p.OldestUndelivered) }).chart("Oldest undelivered", ageText),
		of(func(p *poll.GroupPoint) float64 { return known(p.Lag) }).chart("Lag", countText),
		of(func(p *poll.GroupPoint) float64 { return known(p.Pending) }).chart("Pending", countText),
		of(func(p *poll.GroupPoint) float64 { return known(p.Read) }).speed().chart("Read a second", rateText),
	}
}

// subscriptions are those of a group, with what this process does for them.
func (s *Site) subscriptions(g *spec.Group) []subscriptionRow {
	var snap engine.Snapshot
	if s.Engine != nil {
		snap = s.Engine.Snapshot()
	}
	var all []subscriptionRow
	for _, sub := range g.Subscriptions {
		row := subscriptionRow{
			Label: view.Clean(sub.Label), Handler: view.Clean(sub.Handler.Label), HandlerLink: handlerLink(sub.Handler.Label),
			Source: view.Clean(sub.Handler.Source + " " + sub.Handler.Function),
		}
		for i := range snap.Subscriptions {
			if now := &snap.Subscriptions[i]; now.Label == sub.Label {
				row.Now = now
				for result, n := range now.Settled {
					row.Settled += n
					if result == "failed" || result == "invalid" {
						row.Failed += n
					}
				}
				if now.Err != nil {
					row.Err = told(view.Clean(now.Err.Error()))
				}
			}
		}
		all = append(all, row)
	}
	return all
}

// perPage is how many rows a page has.
const perPage = 100

// pendingData is a page of a group's pending list.
type pendingData struct {
	Group, Stream, GroupLink string
	Total, Shown             int64
	Missing                  bool
	// Bare: the login may not read attempts and errors.
	Bare    bool
	Entries []pendingRow
	// Next is the address of the next page, Command lists all.
	Next, Command string
}

// pendingRow is a pending entry.
type pendingRow struct {
	view.PendingEntry

	Link string
}

func (s *Site) pending(r *http.Request) (*content, error) {
	g, err := s.find(r.PathValue("label"))
	if err != nil {
		return nil, err
	}
	after, err := idOf(r, "after")
	if err != nil {
		return nil, err
	}
	ctx, done, err := s.ask(r)
	if err != nil {
		return nil, err
	}
	defer done()
	d := &pendingData{
		Group: view.Clean(g.Label), Stream: view.Clean(g.Stream.Name), GroupLink: groupLink(g.Label),
		Command: s.Command("pending list", "--group", g.Label),
	}
	printed, reader := s.view.Letters(s.Pipeline, false), &bare{Broker: s.Reader}
	walk := waiting.Walk{Broker: reader, After: after, Limit: perPage, Now: s.Clock.Now(), Each: func(e view.PendingEntry) {
		e.Consumer, e.Error = view.Clean(e.Consumer), view.Fit(view.Clean(e.Error), longError)
		d.Entries = append(d.Entries, pendingRow{e, link("/entry", "stream", g.Stream.Name, "id", e.ID.String())})
	}}
	walk.Mask = maskOf(reader, printed)
	listed, err := walk.Group(ctx, g)
	if err != nil {
		return nil, err
	}
	d.Bare = reader.denied
	d.Total, d.Shown, d.Missing = listed.Total, listed.Shown, listed.Missing
	if !listed.After.IsZero() {
		d.Next = link(d.GroupLink+"/pending", "after", listed.After.String())
	}
	return &content{Name: "pending", Title: "Pending in " + d.Group, Here: "overview", Data: d}, nil
}

// longError is how many columns of an error stand in a table.
const longError = 300

// idOf reads an argument that is an id; the zero id where it is not given.
func idOf(r *http.Request, name string) (broker.ID, error) {
	text := strings.TrimSpace(r.FormValue(name))
	if text == "" {
		return broker.ID{}, nil
	}
	id, err := broker.ParseID(text)
	if err != nil {
		return broker.ID{}, wrong("The argument " + name + " is no id of an entry: " + view.Fit(view.Clean(err.Error()), longError))
	}
	return id, nil
}
