// Package deadletters is what the commands for dead letters are made of, without
// the command line: which streams hold them, how they are read in pages and
// chosen, how a choice is frozen to a file, and how it is replayed, dropped or
// exported. Memory does not grow with the number of letters.
//
// Reading needs XINFO STREAM, XRANGE and, newest first, XREVRANGE. What is done
// to a letter is one atomic step each: see broker.Broker, Move and Remove.
package deadletters

import (
	"slices"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// Source is one dead-letter stream and the groups of the pipeline that bury in
// it.
type Source struct {
	Stream *spec.Stream
	Groups []*spec.Group
}

// Sources are the dead-letter streams of a pipeline, in the order of its file,
// default ones too.
func Sources(p *spec.Pipeline) []*Source {
	var all []*Source
	for _, g := range p.Groups {
		at := slices.IndexFunc(all, func(s *Source) bool { return s.Stream.Name == g.DeadLetter.Name })
		if at < 0 {
			at = len(all)
			all = append(all, &Source{Stream: g.DeadLetter})
		}
		all[at].Groups = append(all[at].Groups, g)
	}
	return all
}

// Find finds what a user names: a group, by its label or its name on the server,
// or a dead-letter stream, by its label or its key. A group's letters are those in
// its stream that it buried; group is nil for a whole stream. Without a fit,
// source is nil and near is what was probably meant.
func Find(p *spec.Pipeline, name string) (source *Source, group *spec.Group, near string) {
	var names []string
	all := Sources(p)
	for _, s := range all {
		for _, g := range s.Groups {
			if g.Label == name || g.Name == name {
				return s, g, ""
			}
			names = append(names, g.Label)
		}
	}
	for _, s := range all {
		if s.Stream.Name == name || s.Stream.Label == name && name != "" {
			return s, nil, ""
		}
		names = append(names, s.Stream.Name)
		for _, g := range s.Groups {
			if g.Stream.Label == name || g.Stream.Name == name {
				near = s.Stream.Name
			}
		}
	}
	if near == "" {
		near = diag.Nearest(name, names)
	}
	return nil, nil, near
}

// group finds the group that buried a letter, nil for one that the pipeline does
// not declare on that stream.
func (s *Source) group(stream, group string) *spec.Group {
	for _, g := range s.Groups {
		if g.Name == group && g.Stream.Name == stream {
			return g
		}
	}
	return nil
}

// stream finds the stream that a letter's entry stood in, nil for one that no
// group of the source reads.
func (s *Source) stream(name string) *spec.Stream {
	for _, g := range s.Groups {
		if g.Stream.Name == name {
			return g.Stream
		}
	}
	return nil
}
