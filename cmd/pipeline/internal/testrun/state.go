package testrun

import (
	"slices"

	"pipeline/engine/codec"
	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/lang/testspec"
)

// state is all that was seen since the test began.
func (r *run) state() *testspec.State {
	h, p := r.harness, r.test.Pipeline
	s := &testspec.State{
		Subscriptions: map[string]testspec.Subscription{}, Streams: map[string]testspec.Stream{},
		Groups: map[string]testspec.Group{},
	}
	for _, sub := range p.Subscriptions() {
		s.Subscriptions[sub.Label] = testspec.Subscription{Calls: r.calls(h.Calls(sub.Label))}
	}
	for _, stream := range p.Streams {
		s.Streams[stream.Label] = testspec.Stream{Entries: entries(h.Entries(stream.Label))}
	}
	for _, g := range p.Groups {
		s.Groups[g.Label] = testspec.Group{Pending: pending(h.Pending(g.Label)), DeadLetters: letters(h, p, g)}
	}
	return s
}

func (r *run) calls(all []harness.Call) []testspec.Call {
	out := make([]testspec.Call, len(all))
	for i := range all {
		out[i] = r.call(&all[i])
	}
	return out
}

func (r *run) call(c *harness.Call) testspec.Call {
	out := testspec.Call{
		ID: c.ID.String(), Consumer: c.Consumer, Deliveries: c.Deliveries, Attempt: c.Attempt,
		Entry: c.Entry, Decoded: c.Outcome != observe.ResultInvalid && (c.Ran || c.Entry.Kind() != value.Null),
		Headers: c.Headers, Key: c.Key, Outcome: string(c.Outcome), Dead: c.Dead,
		After: c.After, HasAfter: c.HasAfter, Reason: c.Reason, Error: c.Error, Kind: string(c.Kind),
		Elapsed: c.Elapsed, At: c.Time.Sub(r.start),
	}
	for _, m := range c.Replies {
		out.Replies = append(out.Replies, testspec.Reply{Stream: m.Stream, Body: m.Body, Key: m.Key, Headers: m.Headers})
	}
	for _, l := range c.Logs {
		out.Logs = append(out.Logs, testspec.LogLine{Level: levelName(int(l.Level)), Message: l.Message, Fields: l.Attrs})
	}
	return out
}

// levelName is a level as handlers write it.
func levelName(level int) string {
	const step = 4
	names := [...]string{"debug", "info", "warn", "error"}
	return names[min(max(level/step+1, 0), len(names)-1)]
}

func entries(all []harness.Entry) []testspec.Entry {
	out := make([]testspec.Entry, len(all))
	for i := range all {
		out[i] = entry(&all[i])
	}
	return out
}

func entry(e *harness.Entry) testspec.Entry {
	out := testspec.Entry{ID: e.ID.String(), Value: e.Body, Decoded: e.Invalid == nil, Headers: e.Headers}
	if i := slices.IndexFunc(e.Headers, func(h outcome.Header) bool { return h.Name == codec.HeaderPartitionKey }); i >= 0 {
		out.Key = e.Headers[i].Value
	}
	if l := e.Letter; l != nil {
		out.Letter = &testspec.Letter{
			Reason: l.Reason, Error: l.Error, Stream: l.Stream, ID: l.ID, Group: l.Group,
			Subscription: l.Subscription, Consumer: l.Consumer, Attempts: l.Attempts,
		}
	}
	return out
}

func pending(all []harness.Pending) []testspec.Pending {
	out := make([]testspec.Pending, len(all))
	for i, p := range all {
		out[i] = testspec.Pending{ID: p.ID.String(), Consumer: p.Consumer, Deliveries: p.Deliveries, Idle: p.Idle}
	}
	return out
}

// letters are the dead letters that a group has sent, by id.
func letters(h *harness.Harness, p *spec.Pipeline, g *spec.Group) []testspec.Entry {
	streams := slices.Clone(p.Streams)
	if own := g.DeadLetter; own != nil && !slices.Contains(streams, own) {
		streams = append(streams, own) // the default one stands in no file
	}
	var found []harness.Entry
	for _, s := range streams {
		for _, e := range h.Entries(s.Name) {
			if e.Letter != nil && e.Letter.Group == g.Name && e.Letter.Stream == g.Stream.Name {
				found = append(found, e)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b harness.Entry) int { return a.ID.Compare(b.ID) })
	return entries(found)
}
