package lang

import (
	"fmt"
	"time"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// checkRetentions compares what is trimmed with what is still needed.
func (l *loader) checkRetentions() {
	readers := map[*node][]*builtGroup{}
	letters := map[*node]*builtGroup{}
	for _, g := range l.built.groups {
		if stream := g.node.val("stream").ref; stream != nil {
			readers[stream] = append(readers[stream], g)
		}
		if d := g.node.one("dead_letter"); d != nil && g.enabled() && letters[d.val("to").ref] == nil {
			letters[d.val("to").ref] = g
		}
	}
	for _, n := range l.root.all("stream") {
		r := n.one("retention")
		switch {
		case n.bad || l.excused["retention"]:
		case r == nil:
			l.checkLetters(n, letters[n])
		case r.val("protect").set:
			l.checkProtected(n, r, readers[n])
		case r.val("protect").ok:
			l.checkUnprotected(n, r, readers[n])
		}
	}
}

// checkLetters notes a dead-letter stream that grows for ever.
func (l *loader) checkLetters(n *node, g *builtGroup) {
	if g == nil {
		return
	}
	l.add(diag.Notice, diag.DeadLettersKept, l.header(n), fmt.Sprintf("the dead letters in stream %q are never trimmed", n.label),
		"They hold whole entries, and what those hold. Add retention { max_age = \"30d\" }, or keep them until someone has looked.").
		Relate(g.node.one("dead_letter").val("to").rng, fmt.Sprintf("group %q sends dead letters here", g.node.label))
}

// checkProtected warns of a group that is waited for and never acknowledges,
// and notes that there is none to wait for.
func (l *loader) checkProtected(n, r *node, readers []*builtGroup) {
	protect := r.val("protect")
	if len(readers) == 0 {
		l.add(diag.Notice, diag.ProtectUnread, protect.rng, fmt.Sprintf("no group of this pipeline reads stream %q, so protect keeps nothing for one", n.label),
			"Trimming waits for the groups that the stream has on the server. Until another program creates one, entries go by max_length and max_age alone.").
			Relate(l.header(n), "the stream is declared here")
		return
	}
	for _, g := range readers {
		if g.enabled() || g.node.bad || len(g.subs) == 0 {
			continue
		}
		l.add(diag.Warning, diag.ProtectStalls, protect.rng, fmt.Sprintf("trimming stream %q waits for group %q, which has no enabled subscription", n.label, g.node.label),
			"If the group exists on the server, nothing that it has not acknowledged is trimmed, and it acknowledges nothing. Enable a subscription, or destroy the group on the server and remove it here.").
			Relate(l.header(g.node), "the group is declared here")
	}
}

// checkUnprotected warns of trimming that can outrun the groups: each stream is
// reported with the first group that runs.
func (l *loader) checkUnprotected(n, r *node, readers []*builtGroup) {
	length, age := r.val("max_length"), r.val("max_age")
	for _, g := range readers {
		if !g.enabled() {
			continue
		}
		if length.set {
			l.add(diag.Warning, diag.RetentionUnprotected, length.rng, fmt.Sprintf("trimming stream %q may remove entries that group %q has not read", n.label, g.node.label),
				"A group that falls behind by max_length entries loses the oldest. Add protect = \"unacknowledged\".").
				Relate(g.node.val("stream").rng, fmt.Sprintf("group %q reads it here", g.node.label))
		}
		if age.set && age.ok {
			l.checkAge(n, age, g)
		}
		if length.set {
			return
		}
	}
}

// checkAge warns of entries that go while they are still to be tried again.
func (l *loader) checkAge(n *node, age *value, g *builtGroup) {
	for _, s := range g.subs {
		if !s.enabled || s.node.bad {
			continue
		}
		needed, why, at := l.tries(s)
		if needed <= age.dur {
			continue
		}
		l.add(diag.Warning, diag.RetentionTooShort, age.rng, fmt.Sprintf("stream %q is trimmed after %s, and %q may try an entry for %s", n.label, text(age.dur), s.node.label, text(needed)),
			"An entry that is trimmed while it waits is lost. Raise max_age, or add protect = \"unacknowledged\".").Relate(at, why)
		return
	}
}

// tries is how long a subscription may go on trying an entry, what says so, and
// where.
func (l *loader) tries(s *builtSub) (needed time.Duration, why string, at diag.Range) {
	at = l.header(s.node)
	retry := s.spec.Retry
	if r := s.node.val("retry").ref; r != nil {
		at = l.header(r)
		if v := r.val("max_age"); v.set && v.ok && v.dur > needed {
			needed, why, at = v.dur, "it is tried until it is "+text(v.dur)+" old", v.rng
		}
	}
	if waits := waits(retry, retry.MaxAttempts-1, 1); waits > needed && (retry.MaxAge == 0 || waits < retry.MaxAge) {
		needed, why = waits, fmt.Sprintf("%d attempts take %s by this policy", retry.MaxAttempts, text(waits))
	}
	claim := s.node.one("claim")
	if claim == nil || !claim.val("min_idle").ok || retry.MaxAttempts == 0 {
		return needed, why, at
	}
	if crashes := s.spec.Claim.MinIdle * time.Duration(retry.MaxAttempts); crashes > needed {
		needed, at = crashes, claim.val("min_idle").rng
		why = fmt.Sprintf("%d attempts that end with their process take %s", retry.MaxAttempts, text(crashes))
	}
	return needed, why, at
}

// waits is the sum of the first waits of a policy, each times a factor.
func waits(r spec.Retry, count int, factor float64) time.Duration {
	total, delay, limit := 0.0, float64(r.Delay), float64(r.MaxDelay)
	for range count {
		total += min(delay, limit) * factor
		if delay *= r.Multiplier; delay > limit {
			delay = limit
		}
	}
	const most = 1 << 62
	return time.Duration(min(total, most)).Truncate(time.Second)
}

// checkAttempts warns of policies whose last attempts are never made.
func (l *loader) checkAttempts() {
	for _, n := range l.root.all("retry") {
		r, age := l.built.retries[n], n.val("max_age")
		if n.bad || r == nil || !age.set || !age.ok || !n.val("max_attempts").ok || !n.val("delay").ok || !n.val("max_delay").ok || !n.val("multiplier").ok || !n.val("jitter").ok {
			continue
		}
		least := waits(*r, r.MaxAttempts-1, 1-r.Jitter)
		if least <= r.MaxAge {
			continue
		}
		at := l.header(n)
		if v := n.val("max_attempts"); v.set {
			at = v.rng
		}
		l.add(diag.Warning, diag.AttemptsNotReached, age.rng, fmt.Sprintf("retry %q never makes its %d attempts", n.label, r.MaxAttempts),
			fmt.Sprintf("Their waits take at least %s, and a failed attempt is the last once the entry is %s old. Raise max_age, or lower max_attempts.", text(least), text(r.MaxAge))).
			Relate(at, fmt.Sprintf("the %d attempts are set here", r.MaxAttempts))
	}
}
