package lang

import (
	"fmt"
	"time"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// Bounds of a min_idle that is not worth a word.
const (
	shortIdle = time.Second
	longIdle  = time.Hour
)

// checkDetails notes what is likely to surprise in the subscriptions that run.
func (l *loader) checkDetails(p *spec.Pipeline) {
	for _, g := range l.built.groups {
		for _, s := range g.subs {
			if s.enabled {
				l.checkDrain(p, s)
				l.checkMinIdle(s)
				l.checkMemory(s)
				l.checkNullable(s)
			}
		}
	}
}

// checkMinIdle notes a min_idle that hardly anyone means.
func (l *loader) checkMinIdle(s *builtSub) {
	claim := s.node.one("claim")
	if claim == nil || !claim.val("min_idle").ok {
		return
	}
	v, idle := claim.val("min_idle"), s.spec.Claim.MinIdle
	switch {
	case !v.set:
	case idle < shortIdle:
		l.add(diag.Notice, diag.UnusualMinIdle, v.rng, fmt.Sprintf("a worker that pauses for %s loses its entries to another", text(idle)),
			"They are then handled twice. Leases are renewed at a third of min_idle; a busy machine or network can pause for longer. \"30s\" suits most handlers.").
			Relate(l.header(s.node), fmt.Sprintf("subscription %q is declared here", s.node.label))
	case idle > longIdle:
		l.add(diag.Notice, diag.UnusualMinIdle, v.rng, fmt.Sprintf("the entries of a stopped worker wait for %s", text(idle)),
			"min_idle says how soon others take over, not how long a handler may run: the lease is renewed while it does. \"30s\" suits most handlers.").
			Relate(l.header(s.node), fmt.Sprintf("subscription %q is declared here", s.node.label))
	}
}

// limit is a bound of a subscription's handler that its file sets.
func limit(s *builtSub, name string) (v *value, h *node) {
	h = s.node.val("handler").ref
	if h == nil || h.bad || h.one("limits") == nil {
		return nil, h
	}
	if v = h.one("limits").val(name); !v.set || !v.ok {
		return nil, h
	}
	return v, h
}

// checkDrain notes a handler that may be at work when draining ends. Only a
// timeout that someone has chosen is worth it: the default one is a last resort.
func (l *loader) checkDrain(p *spec.Pipeline, s *builtSub) {
	timeout, h := limit(s, "timeout")
	pipe := l.root.one("pipeline")
	if timeout == nil || pipe == nil || !pipe.val("drain_timeout").ok || timeout.dur <= p.DrainTimeout {
		return
	}
	at := l.header(pipe)
	if v := pipe.val("drain_timeout"); v.set {
		at = v.rng
	}
	l.add(diag.Notice, diag.DrainCutsHandler, timeout.rng, fmt.Sprintf("handler %q may run %s, and draining ends after %s", h.label, text(timeout.dur), text(p.DrainTimeout)),
		"A run that is not done by then is cut off, and its entry stays pending for another worker. Make drain_timeout longer.").
		Relate(at, "drain_timeout is "+text(p.DrainTimeout)+" here")
}

// checkMemory notes a handler that may be given more than it may use.
func (l *loader) checkMemory(s *builtSub) {
	memory, h := limit(s, "memory")
	stream := s.group.node.val("stream").ref
	if memory == nil || stream == nil || !stream.val("max_entry_size").ok {
		return
	}
	size := stream.val("max_entry_size")
	if size.integer <= memory.integer {
		return
	}
	at := l.header(stream)
	if size.set {
		at = size.rng
	}
	l.add(diag.Notice, diag.EntryAboveMemory, memory.rng, fmt.Sprintf("an entry of stream %q may be larger than what handler %q may use", stream.label, h.label),
		"A handler that builds anything of that size fails, and so does every further attempt. Raise memory, or lower max_entry_size.").
		Relate(at, "the largest entry is declared here")
}
