package lang

import (
	"fmt"

	"pipeline/lang/diag"
)

// checkHold reports a subscription that is to keep the order of keys and has
// none, and a limit of what is held where nothing is.
func (l *loader) checkHold(s *builtSub) {
	w := s.node.one("workers")
	if w == nil || !w.val("while_retrying").ok {
		return
	}
	if limit := w.val("hold_limit"); !s.spec.Workers.Hold {
		if limit.set {
			l.add(diag.Notice, diag.HoldLimitUnused, limit.rng, "hold_limit says nothing without while_retrying = \"hold\"",
				"Later entries pass one that is retried, so that none are held back. Add while_retrying = \"hold\", or remove hold_limit.")
		}
		return
	}
	stream := s.spec.Group.Stream
	if stream == nil || w.val("key").set || stream.Key != nil {
		return
	}
	l.add(diag.Warning, diag.HoldWithoutKey, w.val("while_retrying").rng, "while_retrying = \"hold\" keeps the order of a key, and no key is named",
		"Only entries that bring a partition-key header are held back then; the others pass each other. Name the field whose order counts, such as key = entry.account.").
		Relate(l.header(s.node.parent), fmt.Sprintf("the group reads stream.%s, which names no key either", stream.Label))
}

// checkHolders reports subscriptions of a group of which some hold keys back and
// some do not.
func (l *loader) checkHolders(subs []*builtSub) {
	var holder *builtSub
	for _, s := range subs {
		if s.spec.Workers.Hold {
			holder = s
			break
		}
	}
	if holder == nil {
		return
	}
	for _, s := range subs {
		if s.spec.Workers.Hold {
			continue
		}
		at := l.header(s.node)
		if w := s.node.one("workers"); w != nil && w.val("while_retrying").set {
			at = w.val("while_retrying").rng
		}
		l.add(diag.Warning, diag.HoldDiffers, at, fmt.Sprintf("%q does not hold entries back, and %q of the same group does", s.node.label, holder.node.label),
			"What one of them leaves pending the other may take over, and then later entries pass one that is retried. Write while_retrying = \"hold\", with the same key, in both.").
			Relate(holder.node.one("workers").val("while_retrying").rng, fmt.Sprintf("%q holds them here", holder.node.label))
	}
}
