package lang

import (
	"time"

	"pipeline/engine/spec"
)

// A read that found nothing is asked again after `block`. With a thousand
// subscriptions and the default of a second these are a thousand questions a second
// to a server that has nothing to say, and the slots of their names, which live for
// three reads, are renewed as often. So where block is not set, a read waits the
// longer the more subscriptions there are: they ask readsPerSecond at most together,
// up to longestDefault. An entry that comes wakes its read at once, however long that
// may wait.
const (
	readsPerSecond = 200
	longestDefault = 5 * time.Second
)

// spreadReads sets the block of the subscriptions that do not say how long theirs is.
func (l *loader) spreadReads(p *spec.Pipeline) {
	block := time.Duration(len(p.Subscriptions())) * time.Second / readsPerSecond
	block = min(block, longestDefault)
	if p.DrainTimeout > 0 {
		block = min(block, p.DrainTimeout/2)
	}
	for node, s := range l.built.subs {
		if v := node.val("block"); v.ok && !v.set {
			s.Block = max(s.Block, block.Truncate(time.Millisecond))
		}
	}
}
