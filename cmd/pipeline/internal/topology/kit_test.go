package topology

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"pipeline/engine/spec"
)

var update = flag.Bool("update", false, "write the drawings anew")

// golden compares a drawing with the file of its name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; -update writes it anew. It is now:\n%s", path, got)
	}
}

// maker puts a pipeline together.
type maker struct{ spec.Pipeline }

func (m *maker) stream(name string) *spec.Stream {
	s := &spec.Stream{Label: name, Name: name}
	m.Streams = append(m.Streams, s)
	return s
}

func (m *maker) group(name string, of, dead *spec.Stream, subs ...*spec.Subscription) *spec.Group {
	g := &spec.Group{Label: name, Name: name, Stream: of, DeadLetter: dead, Subscriptions: subs}
	for _, s := range subs {
		s.Group = g
	}
	m.Groups = append(m.Groups, g)
	return g
}

func sub(label string, to ...*spec.Stream) *spec.Subscription {
	s := &spec.Subscription{
		Label: label, Handler: &spec.Handler{Label: "h", Source: "handlers/h.lua", Function: "handle"}, Workers: spec.Workers{Count: 1},
	}
	if len(to) == 1 {
		s.Reply = &spec.Route{To: to[0]}
		return s
	}
	for _, stream := range to {
		s.Routes = append(s.Routes, &spec.Route{Label: "to " + stream.Name, To: stream})
	}
	return s
}

// odd has everything that a drawing may meet: a cycle, ways that cross layers, a
// group that runs nothing, a dead-letter stream of two groups and one that is
// read, and names that mean something to every language.
func odd() *Graph {
	m := &maker{spec.Pipeline{Name: `odd "one"`, Version: "1.0.0"}}
	in, out := m.stream(`<in> & "co" \N`), m.stream("out;--> x[y](z){q}|p|")
	dead, read := m.stream("dead`*_#35;"), m.stream("\x1b[31m1. read\n- it\u202e \xff")
	first := sub("first", out, read)
	first.Workers.Count = 8
	m.group("g#1:style;", in, dead, first)
	later := sub("later")
	later.Claim = &spec.Claim{Only: true}
	m.group("日本語のグループ", in, read, later, sub("other", in))
	m.group("again", out, &spec.Stream{Name: "out.dead"}, sub("back", in))
	m.group("letters", read, dead, sub("mend", in))
	m.group("idle", out, dead)
	return New(&m.Pipeline)
}

// drawn is any pipeline.
func drawn(t *rapid.T) *Graph {
	m := &maker{spec.Pipeline{Name: "p"}}
	for range rapid.IntRange(1, 8).Draw(t, "streams") {
		m.stream(rapid.StringN(0, 60, -1).Draw(t, "name"))
	}
	stream := rapid.SampledFrom(m.Streams)
	for range rapid.IntRange(0, 8).Draw(t, "groups") {
		var subs []*spec.Subscription
		for range rapid.IntRange(0, 3).Draw(t, "subscriptions") {
			subs = append(subs, sub("s", rapid.SliceOfN(stream, 0, 4).Draw(t, "to")...))
		}
		m.group("g", stream.Draw(t, "of"), stream.Draw(t, "dead"), subs...)
	}
	return New(&m.Pipeline)
}
