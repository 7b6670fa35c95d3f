package backlog_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"pipeline/engine/backlog"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
)

// world is a stream on a server in memory.
type world struct {
	*memory.Broker

	t     *testing.T
	clock *clock.Virtual
	ids   []broker.ID
}

func newWorld(t *testing.T, version string) *world {
	c := clock.NewVirtual(time.UnixMilli(1_700_000_000_000))
	w := &world{Broker: memory.New(c, memory.Options{Version: version}), t: t, clock: c}
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func (w *world) add(n int, body string) {
	w.t.Helper()
	adds := make([]broker.Add, n)
	for i := range adds {
		adds[i] = broker.Add{Stream: "s", Fields: []broker.Field{{Name: "a", Value: body}}}
	}
	ids, err := w.Add(w.t.Context(), adds)
	if err != nil {
		w.t.Fatal(err)
	}
	w.ids = append(w.ids, ids...)
}

func (w *world) group(name, start string) {
	w.t.Helper()
	if _, err := w.CreateGroup(w.t.Context(), "s", name, start); err != nil {
		w.t.Fatal(err)
	}
}

// read delivers entries to a consumer and acknowledges the first of them.
func (w *world) read(group string, n, acks int) {
	w.t.Helper()
	owner := broker.Owner{Stream: "s", Group: group, Consumer: "c"}
	ds, err := w.Read(w.t.Context(), broker.ReadRequest{Owner: owner, Count: n})
	if err != nil || len(ds) != n {
		w.t.Fatal(len(ds), err)
	}
	set := broker.Settlement{Owner: owner}
	for _, d := range ds[:acks] {
		set.Acks = append(set.Acks, d.ID)
	}
	if _, err := w.Settle(w.t.Context(), &set); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) remove(ids ...broker.ID) {
	w.t.Helper()
	if _, err := w.Remove(w.t.Context(), "s", ids); err != nil {
		w.t.Fatal(err)
	}
}

// look is what a gauge with the limit finds.
func (w *world) look(limit int64) backlog.Backlog {
	w.t.Helper()
	g := backlog.New(w, w.clock, "s", limit, nil)
	if _, err := g.Room(context.Background()); err != nil {
		w.t.Fatal(err)
	}
	return g.State().Backlog
}

func TestTheBacklog(t *testing.T) {
	for _, c := range []struct {
		name    string
		version string
		limit   int64
		prepare func(w *world)
		entries int64
		group   string
		about   bool
	}{
		{name: "no stream", prepare: func(*world) {}},
		{name: "no group: the length", prepare: func(w *world) { w.add(7, "x") }, entries: 7},
		{name: "unread", prepare: func(w *world) { w.add(7, "x"); w.group("g", "0") }, entries: 7, group: "g"},
		{name: "pending and unread", prepare: func(w *world) {
			w.add(7, "x")
			w.group("g", "0")
			w.read("g", 4, 1)
		}, entries: 6, group: "g"},
		{name: "the slowest of three", prepare: func(w *world) {
			w.add(9, "x")
			w.group("a", "0")
			w.group("b", "0")
			w.group("c", "0")
			w.read("a", 9, 9)
			w.read("b", 5, 1)
			w.read("c", 9, 2)
		}, entries: 8, group: "b"},
		{name: "acknowledged and kept", prepare: func(w *world) {
			w.add(50, "x")
			w.group("g", "0")
			w.read("g", 50, 50)
		}, group: "g"},
		{name: "the lag is not known", prepare: func(w *world) {
			w.add(50, "x")
			w.group("g", "0")
			w.read("g", 10, 9)
			w.remove(w.ids[20])
		}, entries: 40, group: "g"},
		{name: "the lag is never known", version: "6.2.0", prepare: func(w *world) {
			w.add(50, "x")
			w.group("g", "0")
			w.read("g", 10, 9)
		}, entries: 41, group: "g"},
		{name: "the lag is not known, nothing is unread", version: "6.2.0", prepare: func(w *world) {
			w.add(50, "x")
			w.group("g", "$")
		}, group: "g"},
		{name: "counted no further than the limit", version: "6.2.0", limit: 20, prepare: func(w *world) {
			w.add(50, "x")
			w.group("g", "0")
			w.read("g", 10, 3)
		}, entries: 20, group: "g", about: true},
		{name: "as many pending as the limit", version: "6.2.0", limit: 5, prepare: func(w *world) {
			w.add(50, "x")
			w.group("g", "0")
			w.read("g", 10, 3)
		}, entries: 7, group: "g", about: true},
		{name: "large entries are not all counted", version: "6.2.0", prepare: func(w *world) {
			w.add(100, strings.Repeat("x", 100_000))
			w.group("g", "0")
			w.read("g", 20, 20)
		}, entries: 100, group: "g", about: true},
		{name: "many entries are not all counted", version: "6.2.0", limit: 1_000_000, prepare: func(w *world) {
			w.add(12_000, "x")
			w.group("g", "0")
			w.read("g", 100, 100)
		}, entries: 12_000, group: "g", about: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t, c.version)
			c.prepare(w)
			limit := c.limit
			if limit == 0 {
				limit = 100_000
			}
			if got := w.look(limit); got.Entries != c.entries || got.Group != c.group || got.About != c.about {
				t.Errorf("%+v, want %d of group %q, about %v", got, c.entries, c.group, c.about)
			}
		})
	}
}

func TestCountingIsDoneSeldom(t *testing.T) {
	w := newWorld(t, "6.2.0")
	w.add(5000, "x")
	w.group("g", "0")
	g := backlog.New(w, w.clock, "s", 5000, nil)
	if ok, err := g.Take(t.Context(), 1); ok || err != nil {
		t.Fatal(ok, err)
	}
	if next := g.Next(); next != 500*time.Millisecond {
		t.Errorf("looks again after %v, want 100 µs for each of 5000 entries", next)
	}
}

func TestWhatAStateSays(t *testing.T) {
	for want, s := range map[string]backlog.State{
		"stream s has a backlog of 7 of 9 entries (it has no group and is that long)": {Stream: "s", Limit: 9, Backlog: backlog.Backlog{Entries: 7}},
		"stream s has a backlog of about 9 of 9 entries (group g is that far behind)": {Stream: "s", Limit: 9, Backlog: backlog.Backlog{Entries: 9, Group: "g", About: true}},
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
