package scaffold

import (
	"fmt"
	"path/filepath"
	"slices"

	"pipeline/engine/spec"
	"pipeline/lang/format"
)

// Paste is text for a file that is the user's, and is therefore never changed.
type Paste struct {
	// Into is the file that it belongs to; Text are whole blocks.
	Into, Text string
}

// TakenError says that a pipeline has something of a name.
type TakenError struct{ Kind, Name string }

// Error names it.
func (e *TakenError) Error() string {
	return fmt.Sprintf("the pipeline has a %s %q already", e.Kind, e.Name)
}

// EmptyError says what a pipeline lacks.
type EmptyError struct{ Lacks string }

// Error names it.
func (e *EmptyError) Error() string { return "the pipeline declares no " + e.Lacks }

// Handler is a handler for a pipeline with its test, and the blocks that make
// it part of the pipeline: a group of its own, for two subscriptions of one group
// would share its entries. It reads what the first group reads. lang is one of
// Languages.
func Handler(name, lang string, p *spec.Pipeline) ([]File, Paste, error) {
	if kind := taken(name, p); kind != "" {
		return nil, Paste{}, &TakenError{kind, name}
	}
	stream, dead := streams(p)
	if stream == nil {
		return nil, Paste{}, &EmptyError{"stream"}
	}
	data := struct {
		Name, Source, Stream, Dead string
		NewDead                    bool
	}{Name: name, Stream: stream.Label, Dead: name + "_dead", NewDead: true}
	if dead != nil {
		data.Dead, data.NewDead = dead.Label, false
	}
	files, source, err := sources(lang, name, data)
	if err != nil {
		return nil, Paste{}, err
	}
	data.Source = source
	files = append(files, testFile(name, name, []subject{{subscription: name, stream: stream}}))
	return files, Paste{Into: file(p), Text: string(laidOut(render("handler.hcl", data)))}, nil
}

// HandlerSteps are what to do with a new handler.
func HandlerSteps(directory, name, lang string) []Step {
	var steps []Step
	if lang != Lua {
		steps = append(steps, Step{"sh " + quoted(filepath.Join(directory, "handlers", name, "build.sh")), "build it; the script says what it needs"})
	}
	return append(steps, []Step{
		{"pipeline validate " + quoted(directory), "check it, once the blocks stand in the file"},
		{"pipeline test " + quoted(directory), "run its test, and those that were there"},
	}...)
}

// taken is the kind of block that has the name, or "".
func taken(name string, p *spec.Pipeline) string {
	if slices.ContainsFunc(p.Handlers, func(h *spec.Handler) bool { return h.Label == name }) {
		return "handler"
	}
	for _, g := range p.Groups {
		if g.Label == name {
			return "group"
		}
		if slices.ContainsFunc(g.Subscriptions, func(s *spec.Subscription) bool { return s.Label == name }) {
			return "subscription"
		}
	}
	return ""
}

// streams are the stream that the first group reads and where its dead letters
// go, nil when that is not declared.
func streams(p *spec.Pipeline) (stream, dead *spec.Stream) {
	for _, g := range p.Groups {
		if g.Stream == nil {
			continue
		}
		if slices.Contains(p.Streams, g.DeadLetter) {
			dead = g.DeadLetter
		}
		return g.Stream, dead
	}
	if len(p.Streams) > 0 {
		return p.Streams[0], nil
	}
	return nil, nil
}

// file is the file that declares a pipeline's groups, or its streams.
func file(p *spec.Pipeline) string {
	for _, g := range p.Groups {
		return filepath.FromSlash(g.Pos.File)
	}
	for _, s := range p.Streams {
		return filepath.FromSlash(s.Pos.File)
	}
	return ""
}

// laidOut lays out a text of the language.
func laidOut(text []byte) []byte {
	out, report := format.Format("template", text)
	if report.HasErrors() {
		panic(fmt.Sprint(report.All())) // the templates are part of the program, and names and samples fit into them
	}
	return out
}
