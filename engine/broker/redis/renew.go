package redis

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"time"

	"pipeline/engine/broker"
)

//go:embed scripts/renew.lua
var renewText string

//go:embed scripts/release.lua
var releaseText string

var (
	renewScript   = newScript(renewText)
	releaseScript = newScript(releaseText)
)

var holdings = map[byte]broker.Holding{'h': broker.Held, 'o': broker.HeldByOther, 'g': broker.BodyGone}

// Renew implements broker.Broker, with one script for every 300 ids. Servers
// before 7.0 do not tell that a body is gone: such an entry is Held.
func (b *Broker) Renew(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	a := newArgs()
	defer a.release()
	var p batch
	for chunk := range slices.Chunk(ids, maxRenewed) {
		p.add(ctx, renewScript, ownedIDs(a, renewScript, o, o.Consumer, chunk))
	}
	op := on(o, "renew")
	if err := b.send(ctx, &p); err != nil {
		return nil, b.fail(op, err)
	}
	out := make([]broker.Holding, 0, len(ids))
	for i := range p.cmds {
		answers, _ := p.reply(i).(string)
		for at := range len(answers) {
			out = append(out, holdings[answers[at]])
		}
	}
	if len(out) != len(ids) {
		return nil, b.fail(op, fmt.Errorf("%w of the renew script", errProtocol))
	}
	return out, nil
}

// Release implements broker.Broker.
func (b *Broker) Release(ctx context.Context, o broker.Owner, ids []broker.ID, idle time.Duration) error {
	a := newArgs()
	defer a.release()
	looks := strconv.FormatInt(milliseconds(idle), 10)
	for chunk := range slices.Chunk(ids, mostReleased) {
		var p batch
		p.add(ctx, releaseScript, onIDs(a, releaseScript, o, looks, chunk))
		if err := b.send(ctx, &p); err != nil {
			return b.fail(on(o, "release"), err)
		}
	}
	return nil
}

// mostReleased bounds the entries that one script hands back, and others get their turn
// between two. Redis 8.6 keeps what is pending in the order of its last delivery and
// looks for the place of an entry from the latest one: some 14 ns for each entry that was
// delivered in the time for which this one is to look idle.
const mostReleased = 8

// ownedIDs is the call of a script that acts on ids pending under a consumer:
// the stream; group, new owner, present owner, first and last id, the ids.
func ownedIDs(a *args, s *script, o broker.Owner, from string, ids []broker.ID) []any {
	return onIDs(a, s, o, from, ids)
}

// onIDs is ownedIDs with something else in place of the present owner.
func onIDs(a *args, s *script, o broker.Owner, third string, ids []broker.ID) []any {
	mark := s.call(a, 1)
	a.add(o.Stream, o.Group, o.Consumer, third)
	a.id(slices.MinFunc(ids, broker.ID.Compare))
	a.id(slices.MaxFunc(ids, broker.ID.Compare))
	for _, id := range ids {
		a.id(id)
	}
	return a.since(mark)
}
