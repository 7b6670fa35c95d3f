package redis

import (
	"context"
	_ "embed"
	"time"

	"pipeline/engine/broker"
)

//go:embed scripts/prune.lua
var pruneText string

var pruneScript = newScript(pruneText)

// PruneStatus is what became of a consumer that was to be removed.
type PruneStatus int8

// The statuses. Only a consumer that is Pruned is gone by what was done.
const (
	// Pruned: it held nothing, nobody was behind it, and it is gone.
	Pruned PruneStatus = iota
	// PruneAbsent: the group has none of that name any more.
	PruneAbsent
	// PruneHolds: entries are pending under it.
	PruneHolds
	// PruneAlive: its process holds the lease of its slot, or has announced that it
	// lives.
	PruneAlive
	// PruneSeen: it has read or claimed too lately.
	PruneSeen
)

// Prune is what became of one consumer: how many entries it Holds, or how long ago it
// was Seen, where that kept it.
type Prune struct {
	Status PruneStatus
	Holds  int64
	Seen   time.Duration
}

// MaxPrune is how many consumers one PruneConsumers looks at.
const MaxPrune = 100

// pruneRefused is the answer of the script where the server does not remove.
const pruneRefused = -1

// PruneConsumers removes those of the named consumers, at most MaxPrune, under which
// nothing is pending, behind which no process lives, and which have not read or
// claimed for idle: one atomic step on the server for all of them. The result has one
// element for each name. After an error some may have been removed; it may be repeated.
func (b *Broker) PruneConsumers(ctx context.Context, stream, group string, names []string, idle time.Duration) ([]Prune, error) {
	op := operation{name: "remove consumers of", stream: stream, group: group}
	if len(names) > MaxPrune {
		return nil, b.fail(op, &broker.Error{Detail: "too many consumers for one step"})
	}
	keys := b.keys.of(stream, group)
	a := newArgs()
	defer a.release()
	pruneScript.call(a, 2+len(names))
	a.add(stream, keys.alive)
	for _, name := range names {
		slot, _, ok := slotOf(name)
		if !ok {
			slot = checked // is looked at for no consumer without a token
		}
		a.add(keys.slot + slot)
	}
	a.add(group)
	a.int(milliseconds(idle))
	for _, name := range names {
		_, token, _ := slotOf(name)
		a.add(name, token)
	}
	v, err := b.run(ctx, pruneScript, a.since(0))
	if absent(err) {
		err = &broker.Error{Kind: broker.ErrNoGroup, Detail: "the stream does not exist"}
	}
	if err != nil {
		return nil, b.fail(op, err)
	}
	out, err := prunes(v, len(names))
	return out, b.fail(op, err)
}

// prunes reads [status, number] for each consumer.
func prunes(v any, names int) ([]Prune, error) {
	list, _ := v.([]any)
	out := make([]Prune, 0, names)
	for i := range list {
		pair, _ := list[i].([]any)
		if len(pair) != 2 {
			return nil, errProtocol
		}
		status, _ := pair[0].(int64)
		if refusal, ok := pair[1].(string); ok && status == pruneRefused {
			return nil, pruneRefusal(refusal)
		}
		p := Prune{Status: PruneStatus(status)}
		n, _ := pair[1].(int64)
		switch p.Status {
		case PruneHolds:
			p.Holds = n
		case PruneSeen:
			p.Seen = time.Duration(n) * time.Millisecond
		}
		out = append(out, p)
	}
	if len(out) != names {
		return nil, errProtocol
	}
	return out, nil
}

// pruneRefusal is the error of a server that removes no consumer. Before 7.2 it does
// not name the command that a login lacks; the script runs no other that may be
// lacking by then.
func pruneRefusal(reply string) error {
	if kindOf(clean(reply)) == broker.ErrNoPermission { //nolint:errorlint // kinds are not wrapped
		return &broker.Error{
			Kind:   broker.ErrNoPermission,
			Detail: "the user may not remove consumers (it needs the rule +" + removeConsumer + ")",
		}
	}
	return serverError(reply)
}
