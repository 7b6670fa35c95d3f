// Package findings says what is wrong with the streams and groups of a pipeline as
// a poll found them, what that means, and what to do about it. It asks nothing and
// prints nothing.
package findings

import (
	"errors"
	"fmt"
	"math"
	"time"

	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/sandbox"
)

// The codes of findings.
const (
	CodeGroupMissing diag.Code = "group_missing"
	CodeUnattended   diag.Code = "group_unattended"
	CodeTrimGap      diag.Code = "trim_gap"
	CodeStuck        diag.Code = "pending_stuck"
	CodeNoClaim      diag.Code = "pending_unclaimed"
	CodeRetried      diag.Code = "pending_retried"
	CodeBehind       diag.Code = "group_behind"
	CodeStale        diag.Code = "consumers_stale"
	CodeLetters      diag.Code = "dead_letters_waiting"
	CodeLagUnknown   diag.Code = "lag_unknown"
	CodeUnseen       diag.Code = "stream_unseen"
)

// longPending is how many times min_idle an entry may be pending before that is
// told: retries keep entries pending, for up to max_delay each.
const longPending = 20

// behindAfter is how long an entry waits for a worker before that is told: one that
// has nothing to do reads at once.
const behindAfter = 10 * time.Second

// Command is a command line of the program to go on with: a command, and what comes
// after the path of the pipeline.
type Command func(command string, words ...string) string

// Of are the findings about a snapshot, stream by stream, each with the command that
// shows more of it or mends it, as line writes it.
func Of(s *poll.Snapshot, line Command) []view.Problem {
	f := &finder{line: line}
	for i := range s.Streams {
		stream := &s.Streams[i]
		if !stream.Known {
			f.unseen(stream)
			continue
		}
		if stream.DeadLetters && stream.Length > 0 && len(stream.Groups) == 0 {
			f.letters(stream, s.Server)
		}
		for j := range stream.Groups {
			if g := &stream.Groups[j]; len(g.Spec.Subscriptions) > 0 {
				f.group(stream, g)
			}
		}
	}
	return f.all
}

type finder struct {
	line Command
	all  []view.Problem
}

// add adds a finding, with the words of its command behind those that its code has.
func (f *finder) add(severity diag.Severity, code diag.Code, words []string, detail, format string, args ...any) {
	p := view.Problem{Diagnostic: diag.Diagnostic{Severity: severity, Code: code, Summary: fmt.Sprintf(format, args...), Detail: detail}}
	if command := commands[code]; command != "" {
		p.Command = f.line(command, words...)
	}
	f.all = append(f.all, p)
}

// commands are those that show more of a finding, or mend it.
var commands = map[diag.Code]string{
	CodeGroupMissing: "apply",
	CodeUnattended:   "run",
	CodeTrimGap:      "pending list",
	CodeStuck:        "pending list",
	CodeNoClaim:      "pending list",
	CodeRetried:      "pending list",
	CodeBehind:       "pending list",
	CodeStale:        "consumers list",
	CodeLetters:      "dlq stats",
	CodeUnseen:       "export acl",
}

// ofGroup are the words that name a group to a command.
func ofGroup(g *spec.Group) []string { return []string{"--group", g.Label} }

func (f *finder) unseen(s *poll.Stream) {
	switch {
	case s.Err == nil:
	case errors.Is(s.Err, broker.ErrWrongType):
		f.all = append(f.all, view.Problem{Diagnostic: plan.WrongType(s.Spec, "")})
	case plan.NoDatabase(s.Err):
		// No right of the login would help.
		f.all = append(f.all, view.Problem{Diagnostic: diag.Diagnostic{
			Severity: diag.Error, Code: CodeUnseen, Detail: plan.Unreachable(s.Err).Detail,
			Summary: fmt.Sprintf("the stream %s cannot be looked at: %v", s.Spec.Name, s.Err),
		}})
	default:
		f.add(diag.Error, CodeUnseen, nil, "Its groups and dead letters are not known. A viewer's login needs what `pipeline export acl` prints.",
			"the stream %s cannot be looked at: %v", s.Spec.Name, s.Err)
	}
}

func (f *finder) letters(s *poll.Stream, now time.Time) {
	latest := now.Sub(time.UnixMilli(int64(min(s.Last.Ms, math.MaxInt64))))
	f.add(diag.Notice, CodeLetters, []string{s.Spec.Name}, "`pipeline dlq stats` says why they were set aside; `pipeline dlq replay` puts them back once the cause is mended.",
		"%s holds %s, the oldest for %s; the last came %s ago", s.Spec.Name, view.Count(s.Length, "dead letter", "dead letters"),
		view.Duration(s.Oldest), view.Duration(max(0, latest)))
}

func (f *finder) group(s *poll.Stream, g *poll.Group) {
	name := g.Spec.Name + " on " + s.Spec.Name
	switch {
	case g.Missing():
		f.add(diag.Error, CodeGroupMissing, nil, "Entries of the stream are not handled. `pipeline apply` creates the group, and so does run; "+
			"if it was there before, it is created where it was.", "the group %s does not exist on the server", name)
		return
	case !g.Known:
		f.add(diag.Error, CodeUnseen, nil, "A viewer's login needs what `pipeline export acl` prints.", "the group %s cannot be looked at: %v", name, g.Err)
		return
	}
	if g.TrimGap > 0 {
		what := "pending entry of the group " + name + " has lost its body to a trim"
		if g.TrimGap > 1 {
			what = "pending entries of the group " + name + " have lost their bodies to a trim"
		}
		n := view.Number(g.TrimGap)
		if g.TrimGap == broker.MaxTrimGap {
			n += " or more"
		}
		f.add(diag.Error, CodeTrimGap, ofGroup(g.Spec), "They are lost: they can never be handled, and are acknowledged when somebody claims them. "+
			"Keep the stream longer, or trim with protect = \"unacknowledged\".",
			"%s %s", n, what)
	}
	if !g.LagKnown {
		f.add(diag.Notice, CodeLagUnknown, nil, "An entry that was not delivered yet was deleted from the stream, or the server is older than 7.0. "+
			"The age of the oldest undelivered entry is known all the same.", "the server does not know the lag of the group %s", name)
	}
	f.consumers(name, g)
	f.pending(name, g)
	f.retries(name, g)
}

// consumers looks at who reads.
func (f *finder) consumers(name string, g *poll.Group) {
	alive, heard, holding, held := 0, 0, 0, int64(0)
	quiet := QuietAfter(g.Spec)
	for _, c := range g.Consumers {
		if c.Idle < quiet {
			heard++
		}
		switch {
		case c.Idle < plan.StaleAfter:
			alive++
		case c.Pending > 0:
			holding++
			held += c.Pending
		}
	}
	waits := g.Pending > 0 || g.OldestUndelivered > 0
	switch {
	case heard == 0 && waits:
		f.add(diag.Error, CodeUnattended, nil, fmt.Sprintf("No consumer has read, claimed or renewed for %s, which none that lives lets pass. Start a worker: `pipeline run`. "+
			"Where one runs, its log says why it stopped, and `pipeline plan` whether its login lacks a right.", view.Duration(quiet)),
			"nobody reads the group %s: %s wait, and %s pending", name, lagWords(g), view.Count(g.Pending, "is", "are"))
	case g.OldestUndelivered > behindAfter:
		f.add(diag.Warning, CodeBehind, ofGroup(g.Spec), "Its workers are too few, too slow or held up: `pipeline pending list` shows what they have, and a process's "+
			"metrics what they do with their time. More workers or processes help where the keys are many.",
			"the group %s is behind: an entry that was added %s ago was not delivered yet, and %s wait", name, view.Duration(g.OldestUndelivered), lagWords(g))
	}
	if holding > 0 && alive > 0 {
		f.add(diag.Warning, CodeStale, append(ofGroup(g.Spec), "--stale"), "Their processes are gone. A subscription that claims takes over what they hold; "+
			"`pipeline consumers prune` removes them once they hold nothing.",
			"%s of the group %s are idle and hold %s", view.Count(int64(holding), "consumer", "consumers"), name, view.Count(held, "entry", "entries"))
	}
}

func lagWords(g *poll.Group) string {
	if g.LagKnown {
		return view.Count(g.Lag, "entry", "entries")
	}
	return "entries"
}

// pending looks at how long entries wait.
func (f *finder) pending(name string, g *poll.Group) {
	least := leastIdle(g.Spec)
	switch {
	case g.Pending == 0:
	case least == 0 && oldest(g) > plan.StaleAfter:
		f.add(diag.Warning, CodeNoClaim, ofGroup(g.Spec), "No subscription of the group claims, so that what a stopped worker left waits for a process of its name. "+
			"Add a claim block.", "an entry of the group %s was added %s ago and is still pending", name, view.Duration(oldest(g)))
	case least > 0 && oldest(g) > max(longPending*least, plan.StaleAfter):
		f.add(diag.Warning, CodeStuck, ofGroup(g.Spec), "It is retried again and again, held back behind another, or nobody claims it: `pipeline pending list` says which, and why.",
			"an entry of the group %s was added %s ago and is still pending", name, view.Duration(oldest(g)))
	}
}

// QuietAfter is how long a consumer that lives is never silent: three reads, each of
// which may hang for a while, or what it renews by, as the engine waits for others.
// Where nothing is claimed, a long call may keep it from reading.
func QuietAfter(g *spec.Group) time.Duration {
	const hang = 2 * time.Second
	var longest time.Duration
	for _, s := range g.Subscriptions {
		other := sandbox.DefaultTimeout
		switch {
		case s.Claim != nil:
			other = s.Claim.MinIdle
		case s.Handler.Limits.Timeout > 0:
			other = s.Handler.Limits.Timeout
		}
		longest = max(longest, 3*(s.Block+hang), other)
	}
	return longest
}

func oldest(g *poll.Group) time.Duration { return g.OldestPending }

// leastIdle is the smallest min_idle of a group, 0 where nothing claims.
func leastIdle(g *spec.Group) (least time.Duration) {
	for _, s := range g.Subscriptions {
		if s.Claim != nil && (least == 0 || s.Claim.MinIdle < least) {
			least = s.Claim.MinIdle
		}
	}
	return least
}
