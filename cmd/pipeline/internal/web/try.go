package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/input"
	"pipeline/cmd/pipeline/internal/trial"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// triedData is what came of an entry that was run here.
type triedData struct {
	*view.Tried

	Subscription, Group string
	Usage               []usageOf
	Sum                 string
	// Differs: the handler that runs in this process has another code.
	Differs bool
}

// usageOf is what a call used of a limit.
type usageOf struct {
	Name, Used, Limit string
	// Part is in percent.
	Part int64
}

// tryData is the form of a handler, and what came of it.
type tryData struct {
	Action string
	// Body and Headers are what was typed, Subscriptions those that may run it.
	Body, Headers string
	Subscriptions []choiceOf
	Codec         string
	Most          time.Duration
	Result        *triedData
}

// choiceOf is a subscription to choose.
type choiceOf struct {
	Label, Stream string
	Chosen        bool
}

// tryHandler runs what was typed.
func (s *Site) tryHandler(r *http.Request) (*content, error) {
	c, err := s.handlerPage(r)
	if err != nil {
		return nil, err
	}
	d, _ := c.Data.(*handlerData) // which is what that page has
	if err := parseForm(r); err != nil {
		return nil, err
	}
	sub := s.subscription(r.PostFormValue("subscription"))
	if sub == nil || sub.Handler.Label != r.PathValue("label") {
		return nil, absent("The handler runs for no enabled subscription of this label.")
	}
	d.Try.Body, d.Try.Headers = r.PostFormValue("body"), r.PostFormValue("headers")
	for i := range d.Try.Subscriptions {
		d.Try.Subscriptions[i].Chosen = d.Try.Subscriptions[i].Label == sub.Label
	}
	fields, err := typed(sub.Group.Stream, d.Try.Body, d.Try.Headers)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	d.Try.Result, err = s.try(ctx, sub, broker.ID{Ms: uint64(max(0, s.Clock.Now().UnixMilli()))}, fields)
	if err != nil {
		return nil, err
	}
	c.Live = false // what was typed stays
	return c, nil
}

// parseForm reads a form; one that is too large is the fault of who sent it.
func parseForm(r *http.Request) error {
	err := r.ParseForm()
	if large, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return &fault{http.StatusRequestEntityTooLarge, "That is too much", "A form may send " + view.Size(large.Limit) + ". `pipeline dry-run --input FILE` takes larger entries."}
	}
	if err != nil {
		return wrong("The form cannot be read: " + view.Fit(view.Clean(err.Error()), longError))
	}
	return nil
}

func (s *Site) subscription(label string) *spec.Subscription {
	all := s.Pipeline.Subscriptions()
	if at := slices.IndexFunc(all, func(sub *spec.Subscription) bool { return sub.Label == label }); at >= 0 {
		return all[at]
	}
	return nil
}

// typed makes an entry of what was typed: the body as the stream's codec has it, and
// a header a line.
func typed(stream *spec.Stream, body, headers string) ([]broker.Field, error) {
	rec := input.Record{Stream: stream, Raw: body}
	switch stream.Codec {
	case spec.CodecJSON:
		if strings.TrimSpace(body) == "" {
			return nil, wrong("Type a body: the stream's codec is `json`.")
		}
		rec.Body = value.NewString(body) // which is not used: the text stands in the entry as it is
	case spec.CodecFields:
		v, err := value.ParseJSON(body, nil)
		if err != nil || v.Kind() != value.Object {
			return nil, wrong("The stream's codec is `fields`: type its fields as a JSON object, as in `{\"account\":\"acc-7\"}`.")
		}
		rec.Body = v
	default:
		rec.Body = value.NewString(body)
	}
	for line := range strings.Lines(headers) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		name, text, ok := strings.Cut(line, ":")
		if name = strings.TrimSpace(name); !ok || name == "" {
			return nil, wrong("A header is a line `name: value`, without the `h:` of the stream.")
		}
		if text = strings.TrimSpace(text); name == codec.HeaderPartitionKey {
			rec.Key, rec.HasKey = text, true
			continue
		}
		rec.Headers = append(rec.Headers, outcome.Header{Name: name, Value: text})
	}
	entries, err := build.NewEntries(&spec.Pipeline{Streams: []*spec.Stream{stream}}, false)
	if err != nil {
		return nil, err
	}
	fields, err := entries.Fields(&rec)
	if err != nil {
		return nil, wrong("This cannot stand in the stream: " + view.Fit(view.Clean(err.Error()), longError))
	}
	if len(fields) == 0 {
		return nil, wrong("An entry needs at least one field.")
	}
	return fields, nil
}

// try runs an entry.
func (s *Site) try(ctx context.Context, sub *spec.Subscription, id broker.ID, fields []broker.Field) (*triedData, error) {
	r, err := s.trial.Try(ctx, sub, id, fields)
	if busy, ok := errors.AsType[*trial.BusyError](err); ok {
		return nil, &fault{http.StatusTooManyRequests, "Not now", "Nothing was run: " + busy.Error() + "."}
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return nil, &fault{http.StatusServiceUnavailable, "It took too long", "The handler was not done in time, and was called off. Nothing was written."}
	}
	if err != nil {
		return nil, &fault{http.StatusUnprocessableEntity, "The handler cannot be run", view.Fit(view.Clean(err.Error()), longError)}
	}
	d := &triedData{Tried: r.Tried, Subscription: view.Clean(sub.Label), Group: view.Clean(sub.Group.Label), Sum: r.Sum}
	if s.Sum != nil {
		running := s.Sum(sub.Handler.Label)
		d.Differs = running != "" && running != r.Sum
	}
	if r.Ran {
		d.Usage = usage(r.Tried, r.Limits)
	}
	return d, nil
}

func usage(t *view.Tried, l sandbox.Limits) []usageOf {
	return []usageOf{
		{"time", view.Duration(t.Elapsed), view.Duration(l.Timeout), percent(int64(t.Elapsed), int64(l.Timeout))},
		{"memory", view.Size(t.Bytes), view.Size(l.Memory), percent(t.Bytes, l.Memory)},
		{"instructions", view.Number(t.Instructions), view.Number(l.Instructions), percent(t.Instructions, l.Instructions)},
	}
}

// runsFor are the subscriptions that may run entries of a handler.
func (s *Site) runsFor(h *spec.Handler) (all []choiceOf) {
	for _, sub := range s.Pipeline.Subscriptions() {
		if sub.Handler == h && trial.Runnable(sub) == "" {
			all = append(all, choiceOf{Label: sub.Label, Stream: view.Clean(sub.Group.Stream.Name)})
		}
	}
	return all
}

// runners are the subscriptions that may run entries of a stream; for dead letters
// those of their groups.
func (s *Site) runners(stream string, group *spec.Group) (all []choiceOf) {
	for _, sub := range s.Pipeline.Subscriptions() {
		if (sub.Group.Stream.Name == stream && group == nil || sub.Group == group) && trial.Runnable(sub) == "" {
			all = append(all, choiceOf{Label: sub.Label, Stream: view.Clean(sub.Group.Stream.Name)})
		}
	}
	return all
}

// trialData is the page of an entry that was run.
type trialData struct {
	Stream, ID, Back string
	Letter           bool
	Result           *triedData
}

// tryEntry runs an entry of the server, or the entry that a dead letter was.
func (s *Site) tryEntry(r *http.Request) (*content, error) {
	if err := parseForm(r); err != nil {
		return nil, err
	}
	name, sub := r.PostFormValue("stream"), s.subscription(r.PostFormValue("subscription"))
	id, err := idOf(r, "id")
	switch {
	case err != nil:
		return nil, err
	case id.IsZero():
		return nil, wrong("Which entry? The form has no id.")
	case sub == nil:
		return nil, absent("The pipeline has no enabled subscription of this label.")
	}
	streams := s.streams()
	if !slices.ContainsFunc(streams, func(o *spec.Stream) bool { return o.Name == name }) {
		return nil, absent("The pipeline has no stream of this name.")
	}
	found, err := s.oneEntry(r, name, id)
	if err != nil {
		return nil, err
	}
	entry := *found
	d := &trialData{Stream: view.Clean(name), ID: id.String(), Back: link("/entry", "stream", name, "id", id.String())}
	if sub.Group.Stream.Name != name {
		l, err := s.letterFor(sub, name, entry)
		if err != nil {
			return nil, err
		}
		d.Letter, d.Back = true, link("/dead-letters/letter", "stream", name, "id", id.String())
		entry.Fields = l.Original()
		if was, err := broker.ParseID(l.Facts.ID); err == nil {
			entry.ID = was
		}
	}
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	if d.Result, err = s.try(ctx, sub, entry.ID, entry.Fields); err != nil {
		return nil, err
	}
	return &content{Name: "trial", Title: "Entry " + id.String() + ", run here", Here: "overview", Data: d}, nil
}

// oneEntry reads an entry.
func (s *Site) oneEntry(r *http.Request, stream string, id broker.ID) (*broker.Entry, error) {
	ctx, done, err := s.ask(r)
	if err != nil {
		return nil, err
	}
	defer done()
	entries, err := s.Reader.Range(ctx, stream, id, id, 1)
	if err != nil {
		return nil, err
	}
	if len(entries) == 0 {
		return nil, absent("The stream does not hold this entry any more, so it cannot be run.")
	}
	return &entries[0], nil
}

// letterFor is the letter that an entry of a dead-letter stream is, if it was an entry
// of the subscription's stream.
func (s *Site) letterFor(sub *spec.Subscription, stream string, entry broker.Entry) (*deadletters.Letter, error) {
	for _, source := range deadletters.Sources(s.Pipeline) {
		if source.Stream.Name != stream {
			continue
		}
		if l := deadletters.Read(source, entry); l.Known && l.Facts.Stream == sub.Group.Stream.Name {
			return &l, nil
		}
	}
	return nil, wrong("The subscription does not read this stream.")
}
