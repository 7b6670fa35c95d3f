package web

import (
	"slices"

	"pipeline/cmd/pipeline/internal/findings"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/poll"
	"pipeline/lang/diag"
)

// problem is something that is wrong, what to do about it, and where to look.
type problem struct {
	Severity, Code, Summary, Detail string
	// Command is what to type in a terminal, "" for nothing.
	Command string
	// Group is the label of the group that it is about, "" for none.
	Group string
	// Link leads to the page about it, "" for none; Where is its text.
	Link, Where string
}

func problemOf(d *view.Problem) problem {
	return problem{
		Severity: d.Severity.String(), Code: string(d.Code), Summary: told(view.Clean(d.Summary)), Detail: told(d.Detail), Command: told(view.Clean(d.Command)),
	}
}

// severities are the words for them, the worst first.
var severities = []string{diag.Error.String(), diag.Warning.String(), diag.Notice.String()}

// problems are what is wrong now, the worst first.
func (s *Site) problems(l *look) []problem {
	var all []problem
	if l.found.Err != nil {
		all = append(all, problem{
			Severity: "error", Code: "server_unavailable", Summary: "Redis does not answer: " + told(view.Clean(l.found.Err.Error())),
			Detail: "What is shown is from the last time that it did. Workers wait for it and lose nothing; it is asked again every few seconds.",
		})
	}
	all = append(append(all, s.failed()...), l.findings...)
	slices.SortStableFunc(all, func(a, b problem) int {
		return slices.Index(severities, a.Severity) - slices.Index(severities, b.Severity)
	})
	return all
}

// failed are the subscriptions of this process that have stopped, or wait for room.
func (s *Site) failed() (all []problem) {
	if s.Engine == nil {
		return nil
	}
	groups := map[string]string{}
	for _, sub := range s.Pipeline.Subscriptions() {
		groups[sub.Label] = sub.Group.Label
	}
	snap := s.Engine.Snapshot()
	for i := range snap.Subscriptions {
		sub := &snap.Subscriptions[i]
		about := problem{Group: groups[sub.Label], Link: groupLink(groups[sub.Label]), Where: "the group"}
		if sub.Err != nil {
			p := about
			p.Severity, p.Code = "error", "subscription_failed"
			p.Summary = "the subscription " + sub.Label + " has stopped: " + told(view.Clean(sub.Err.Error()))
			p.Detail = "Its entries stay where they are. Mend the cause, and start the process again."
			all = append(all, p)
		}
		if sub.Withheld > 0 {
			p := about
			p.Severity, p.Code = "warning", "backlog_full"
			p.Summary = "replies of the subscription " + sub.Label + " wait for room"
			p.Detail = "A stream that it replies to has reached its `max_backlog`: the groups that read that stream are behind."
			all = append(all, p)
		}
	}
	return all
}

// findings are those about streams and groups, each with the page about it.
func (s *Site) findings(found *poll.Snapshot) (all []problem) {
	for i := range found.Streams {
		all = append(all, s.ofStream(found, &found.Streams[i])...)
	}
	return all
}

func (s *Site) ofStream(found *poll.Snapshot, stream *poll.Stream) (all []problem) {
	find := func(part poll.Stream, about problem) {
		one := *found
		one.Streams = []poll.Stream{part}
		for _, d := range findings.Of(&one, s.Command) {
			p := problemOf(&d)
			p.Group, p.Link, p.Where = about.Group, about.Link, about.Where
			if ofPending[d.Code] {
				p.Link, p.Where = p.Link+"/pending", "what is pending"
			}
			all = append(all, p)
		}
	}
	alone := *stream
	alone.Groups, alone.DeadLetters = nil, stream.DeadLetters && len(stream.Groups) == 0
	find(alone, problem{Link: link("/dead-letters", "stream", stream.Spec.Name), Where: "the letters"})
	if !stream.Known {
		return all
	}
	for i := range stream.Groups {
		part := *stream
		part.Groups, part.DeadLetters = stream.Groups[i:i+1], false
		label := stream.Groups[i].Spec.Label
		find(part, problem{Group: label, Link: groupLink(label), Where: "the group"})
	}
	return all
}

// ofPending are the findings that a group's pending list says more about.
var ofPending = map[diag.Code]bool{
	findings.CodeTrimGap: true, findings.CodeStuck: true, findings.CodeNoClaim: true, findings.CodeRetried: true,
}

// fold is problems of one code: some in full, and the others in a line each.
type fold struct {
	Severity, Code string
	Problems, More []problem
}

// shownAlike is how many problems of one code stand in full. A pipeline of hundreds of
// groups has hundreds of problems of one cause, and another beside them is to be seen.
const shownAlike = 3

// folded puts problems of one code together.
func folded(all []problem) (folds []*fold) {
	of := map[[2]string]*fold{}
	for _, p := range all {
		key := [2]string{p.Severity, p.Code}
		if of[key] == nil {
			of[key] = &fold{Severity: p.Severity, Code: p.Code}
			folds = append(folds, of[key])
		}
		of[key].Problems = append(of[key].Problems, p)
	}
	for _, f := range folds {
		if len(f.Problems) > shownAlike+1 { // one line more is not worth a fold
			f.Problems, f.More = f.Problems[:shownAlike], f.Problems[shownAlike:]
		}
	}
	return folds
}

// trouble is how bad things are, for who does not look at the problems: the name of an
// icon, and how many errors and warnings there are.
func (s *Site) trouble(l *look, fresh bool) (icon string, n int64) {
	icon = "well"
	for _, p := range s.problems(l) {
		if p.Severity == diag.Notice.String() {
			break // the worst stand first
		}
		if n++; n == 1 {
			icon = p.Severity
		}
	}
	if n == 0 && !fresh {
		icon = "unknown"
	}
	return icon, n
}
