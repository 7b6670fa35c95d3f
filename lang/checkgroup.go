package lang

import (
	"fmt"
	"time"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// checkGroup checks the enabled subscriptions of a group with each other, with
// its stream and with the pipeline.
func (l *loader) checkGroup(p *spec.Pipeline, g *builtGroup) {
	enabled := make([]*builtSub, 0, len(g.subs))
	for _, s := range g.subs {
		if s.enabled && !s.node.bad {
			enabled = append(enabled, s)
			l.checkSubscription(p, s)
		}
	}
	if g.enabled() || len(g.subs) == 0 {
		l.checkDeadLetter(g)
	}
	l.checkReplies(g, enabled)
	l.checkClaims(g, enabled)
	if !l.checkCompeting(enabled) {
		l.checkOnce(g, enabled)
	}
	l.checkHolders(enabled)
	l.checkSlots(p, g, enabled)
}

// checkSubscription compares times that must fit together.
func (l *loader) checkSubscription(p *spec.Pipeline, s *builtSub) {
	l.checkTimeout(s)
	l.checkWindow(s)
	block := s.node.val("block")
	pipe := l.root.one("pipeline")
	if block.ok && pipe != nil && pipe.val("drain_timeout").ok && s.spec.Block >= p.DrainTimeout {
		drain := pipe.val("drain_timeout")
		at, related := block.rng, drain.rng
		if !block.set {
			at = l.header(s.node)
		}
		if !drain.set {
			related = l.header(pipe)
		}
		l.fail(diag.BlockAboveDrain, at, fmt.Sprintf("a read may wait %s, and draining ends after %s", text(s.spec.Block), text(p.DrainTimeout)),
			"A read that waits cannot be left, so the pipeline could not stop in time. Make block shorter than drain_timeout.").
			Relate(related, "drain_timeout is "+text(p.DrainTimeout)+" here")
	}
	l.checkHold(s)
}

// checkTimeout notes a handler that may run longer than min_idle.
func (l *loader) checkTimeout(s *builtSub) {
	claim, h := s.node.one("claim"), s.node.val("handler").ref
	if claim == nil || h == nil || !claim.val("min_idle").ok {
		return
	}
	timeout, at := s.spec.Handler.Limits.Timeout, l.header(h)
	if lim := h.one("limits"); lim != nil {
		v := lim.val("timeout")
		if !v.ok {
			return
		}
		if v.set {
			at = v.rng
		}
	}
	minIdle := claim.val("min_idle")
	if !minIdle.set || timeout < s.spec.Claim.MinIdle {
		return
	}
	l.add(diag.Notice, diag.TimeoutAboveMinIdle, minIdle.rng,
		fmt.Sprintf("handler %q may run %s, min_idle is %s", h.label, text(timeout), text(s.spec.Claim.MinIdle)),
		"The lease is renewed while it runs, so nothing is taken from a living worker; an entry of a process that stopped comes back min_idle after its last renewal.").
		Relate(at, "the handler's timeout is "+text(timeout))
}

// checkDeadLetter checks where dead letters go.
func (l *loader) checkDeadLetter(g *builtGroup) {
	d := g.node.one("dead_letter")
	if d == nil {
		if g.spec.Stream != nil && !l.excused["dead_letter"] {
			l.add(diag.Warning, diag.NoDeadLetter, l.header(g.node), fmt.Sprintf("group %q has no dead_letter block", g.node.label),
				fmt.Sprintf("Dead letters go to %s, which is never trimmed. Name a stream: dead_letter { to = stream.name }.", g.spec.DeadLetter.Name))
		}
		return
	}
	to := d.val("to")
	if to.ref != nil && to.ref == g.node.val("stream").ref {
		l.fail(diag.DeadLetterLoop, to.rng, fmt.Sprintf("group %q reads the stream that its dead letters go to", g.node.label),
			"Every dead letter would come back and fail again. Send them to another stream.").
			Relate(g.node.val("stream").rng, "the group reads it here")
	}
}

// checkReplies reports replies into the stream that the group reads.
func (l *loader) checkReplies(g *builtGroup, subs []*builtSub) {
	source := g.node.val("stream")
	for _, s := range subs {
		for _, r := range append(s.node.all("reply"), s.node.all("route")...) {
			to := r.val("to")
			if to.ref == nil || to.ref != source.ref {
				continue
			}
			l.fail(diag.ReplyLoop, to.rng, fmt.Sprintf("group %q reads the stream that %q replies to", g.node.label, s.node.label),
				"Every reply would be handled again, for ever. Reply to another stream.").Relate(source.rng, "the group reads it here")
		}
	}
}

// checkClaims notes a group whose pending entries nobody takes over, and
// subscriptions that disagree about when.
func (l *loader) checkClaims(g *builtGroup, subs []*builtSub) {
	var first *value
	claims := false
	for _, s := range subs {
		claim := s.node.one("claim")
		if claim == nil {
			continue
		}
		claims = true
		v := claim.val("min_idle")
		if !v.ok || !v.set {
			continue
		}
		if first == nil {
			first = v
			continue
		}
		if v.dur != first.dur {
			l.add(diag.Warning, diag.DifferentMinIdle, v.rng, fmt.Sprintf("min_idle differs within group %q: %s and %s", g.node.label, text(first.dur), text(v.dur)),
				"They take over each other's entries: the shorter one decides for all. Use one value.").Relate(first.rng, "min_idle is "+text(first.dur)+" here")
		}
	}
	if len(subs) > 0 && !claims && !g.node.bad && !l.excused["claim"] {
		l.add(diag.Notice, diag.NoClaim, l.header(subs[0].node), fmt.Sprintf("no subscription of group %q takes over pending entries", g.node.label),
			"Entries of a crashed worker stay pending until a worker of the same slot starts again, or for ever. Add claim { min_idle = \"30s\" }.").
			Relate(l.header(g.node), "the group is declared here")
	}
}

// checkCompeting reports two subscriptions of one group that read the same
// entries, and whether there are any: one may read new ones, one may take over
// pending ones.
func (l *loader) checkCompeting(subs []*builtSub) (compete bool) {
	var reader, claimer *builtSub
	for _, s := range subs {
		if s.node.one("claim") != nil && !s.node.one("claim").val("only").ok {
			return true // it is not known
		}
		reads := s.spec.Claim == nil || !s.spec.Claim.Only
		claims := s.spec.Claim != nil
		switch {
		case reads && reader != nil:
			compete = true
			l.compete(s, reader, "new entries")
		case claims && claimer != nil:
			compete = true
			l.compete(s, claimer, "pending entries")
		}
		if reads && reader == nil {
			reader = s
		}
		if claims && claimer == nil {
			claimer = s
		}
	}
	return compete
}

func (l *loader) compete(s, other *builtSub, what string) {
	l.fail(diag.CompetingReaders, l.header(s.node), fmt.Sprintf("%q and %q would fight for the %s of one group", other.node.label, s.node.label, what),
		"Each entry of a group goes to one of them, by chance. To handle every entry in both, give each a group of its own; to share the work, raise workers.count or start more processes.").
		Relate(l.header(other.node), "the other is here")
}

// text writes a duration as a file does.
func text(d time.Duration) string {
	for _, u := range []struct {
		name string
		size time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}, {"ms", time.Millisecond}} {
		if d >= u.size && d%u.size == 0 {
			return fmt.Sprintf("%d%s", d/u.size, u.name)
		}
	}
	return d.String()
}
