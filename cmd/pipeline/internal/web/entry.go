package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/cmd/pipeline/internal/waiting"
	"pipeline/engine/broker"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

// entryData is the page of an entry.
type entryData struct {
	Stream, ID string
	// Seen is nil where the entry is gone.
	Seen   *view.Seen
	Groups []fateOf
	// Letters are those that it became; Searched is how many were looked at, Whole
	// says that these were all.
	Letters  []letterOf
	Searched int64
	Whole    bool
	// Caused are the replies that may be its own.
	Caused causedData
	// Runners may run it here.
	Runners []choiceOf
	Command string
}

// fateOf is what became of an entry in a group.
type fateOf struct {
	Group, Link string
	// State is "pending", "done", "waiting" or "unknown", Words say it.
	State, Words string
	Pending      *view.PendingDetail
	Error        string
	Due          string
}

// streams are those of the pipeline and its dead letters.
func (s *Site) streams() []*spec.Stream {
	all := slices.Clone(s.Pipeline.Streams)
	for _, o := range deadletters.Sources(s.Pipeline) {
		if !slices.ContainsFunc(all, func(known *spec.Stream) bool { return known.Name == o.Stream.Name }) {
			all = append(all, o.Stream)
		}
	}
	return all
}

func (s *Site) entry(r *http.Request) (*content, error) {
	id, err := idOf(r, "id")
	if err != nil {
		return nil, err
	}
	streams := s.streams()
	at := slices.IndexFunc(streams, func(o *spec.Stream) bool { return o.Name == r.FormValue("stream") })
	switch {
	case at < 0:
		return nil, absent("The pipeline has no stream of this name.")
	case id.IsZero():
		return nil, wrong("Which entry? The address has no id.")
	}
	ctx, done, err := s.ask(r)
	if err != nil {
		return nil, err
	}
	defer done()
	stream := streams[at]
	d := &entryData{Stream: view.Clean(stream.Name), ID: id.String(), Whole: true}
	entries, err := s.Reader.Range(ctx, stream.Name, id, id, 1)
	if err != nil {
		return nil, err
	}
	var body *broker.Entry
	if len(entries) > 0 {
		body = &entries[0]
		d.Seen = s.view.Entries(s.Pipeline, false).See(stream, *body, mostBody)
	}
	for _, g := range s.Pipeline.Groups {
		if g.Stream.Name != stream.Name {
			continue
		}
		fate, err := s.fate(ctx, g, id, body)
		if err != nil {
			return nil, err
		}
		d.Groups = append(d.Groups, *fate)
	}
	if err := s.became(ctx, d, stream, id); err != nil {
		return nil, err
	}
	if body != nil {
		if d.Caused, err = s.caused(ctx, stream, body); err != nil {
			return nil, err
		}
		d.Runners = s.runners(stream.Name, nil)
		d.Command = s.Command("dry-run", "--live", "--stream", stream.Name, "--from", id.String(), "--to", id.String())
	}
	return &content{Name: "entry", Title: "Entry " + id.String(), Here: "overview", Data: d}, nil
}

// fate is what became of an entry in a group.
func (s *Site) fate(ctx context.Context, g *spec.Group, id broker.ID, body *broker.Entry) (*fateOf, error) {
	f := &fateOf{Group: view.Clean(g.Label), Link: groupLink(g.Label)}
	now := s.Clock.Now()
	e, err := waiting.One(ctx, &bare{Broker: s.Reader}, g, id, now)
	if errors.Is(err, broker.ErrNoPermission) {
		f.State, f.Words = "unknown", "the login may not look at the pending list"
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	if e == nil {
		f.State, f.Words = notPending(s.Poller.Latest().Group(g), id)
		return f, nil
	}
	f.State, f.Words, f.Pending = "pending", "delivered and not acknowledged", e
	f.Error = e.Error
	if printed := s.view.Letters(s.Pipeline, false); f.Error != "" && printed.Masks(g.Stream) {
		f.Error = view.Masked
		if body != nil {
			l := deadletters.Waiting(g, *body)
			l.Facts.Error = e.Error
			f.Error = printed.Error(&l)
		}
	}
	f.Error, e.Consumer = view.Clean(f.Error), view.Clean(e.Consumer)
	switch {
	case e.Due.IsZero():
		f.Due = "not known: nobody claims in this group"
	case e.In <= 0:
		f.Due = "now"
	default:
		f.Due = moment(e.Due) + ", in " + view.Duration(e.In.Round(100*time.Millisecond))
	}
	return f, nil
}

// notPending says what became of an entry that is not pending.
func notPending(g *poll.Group, id broker.ID) (state, words string) {
	switch {
	case g == nil || !g.Known:
		return "unknown", "nothing is known of the group"
	case g.LastDelivered.Less(id):
		return "waiting", "not delivered yet"
	}
	return "done", "acknowledged, or passed over: the group's position is behind it"
}

// became looks for the letters that an entry became, among the newest.
func (s *Site) became(ctx context.Context, d *entryData, stream *spec.Stream, id broker.ID) error {
	printed := s.view.Letters(s.Pipeline, false)
	for _, source := range deadletters.Sources(s.Pipeline) {
		if !slices.ContainsFunc(source.Groups, func(g *spec.Group) bool { return g.Stream.Name == stream.Name }) {
			continue
		}
		// A letter is written after its entry, by the same clock.
		scan := deadletters.Scan{Broker: s.Reader, Newest: true, Filter: deadletters.Filter{From: broker.ID{Ms: id.Ms}}}
		bytes, looked := 0, int64(0)
		for l, err := range scan.Letters(ctx, source) {
			if errors.Is(err, broker.ErrNoPermission) {
				d.Whole = false
				break
			}
			if err != nil {
				return err
			}
			if looked == mostScanned || bytes > mostBytes {
				d.Whole = false
				break
			}
			looked++
			for _, f := range l.Fields {
				bytes += len(f.Name) + len(f.Value)
			}
			if l.Known && l.Facts.Stream == stream.Name && l.Facts.ID == id.String() {
				d.Letters = append(d.Letters, rowOf(&l, printed.Error(&l)))
			}
		}
		d.Searched += looked
	}
	return nil
}
