package redis

import (
	"context"
	_ "embed"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

//go:embed scripts/movemarked.lua
var moveMarkedText string

var moveMarkedScript = newScript(moveMarkedText)

// markKey is the mark of a moved entry, beside the stream that its message goes
// to. It cannot be a key of a group: those have one more colon.
func markKey(to, from string, id broker.ID) string {
	return tagged(to) + ":pipeline:moved-" + id.String() + "-" + separators.Replace(from)
}

// moveMarked moves entries of a cluster to a stream in another slot, which no
// single step can do: it looks which of them are there, adds and marks their
// messages in one step on the destination's server, deletes the entries on
// theirs, and shortens the life of the marks. Broken off anywhere and sent
// again, it finds the marks and adds nothing twice.
func (b *Broker) moveMarked(ctx context.Context, done []broker.Moved, from string, moves []broker.Move) ([]broker.Moved, error) {
	to := moves[0].Publish.Stream
	op := operation{name: "move from", stream: from, others: []string{to}}
	there, err := b.standing(ctx, from, moves)
	if err != nil {
		return done, b.fail(op, err)
	}
	var present []broker.Move
	for i := range moves {
		if there[i] {
			present = append(present, moves[i])
		}
	}
	added, refused := b.addMarked(ctx, op, from, present)
	if len(added) > 0 {
		ids := make([]broker.ID, len(added))
		for i := range added {
			ids[i] = present[i].ID
		}
		if _, err := b.Remove(ctx, from, ids); err != nil {
			return done, err
		}
		b.shorten(ctx, from, present[:len(added)])
	}
	next := 0
	for i := range moves {
		if !there[i] {
			done = append(done, broker.Moved{})
			continue
		}
		if next == len(added) {
			break
		}
		done = append(done, added[next])
		next++
	}
	return done, refused
}

// standing says of each move whether its entry is there.
func (b *Broker) standing(ctx context.Context, from string, moves []broker.Move) ([]bool, error) {
	a := newArgs()
	defer a.release()
	var p batch
	for i := range moves {
		mark := a.mark()
		a.add("XRANGE", from)
		a.id(moves[i].ID)
		a.id(moves[i].ID)
		p.add(ctx, nil, a.since(mark))
	}
	if err := b.send(ctx, &p); err != nil {
		return nil, err
	}
	there := make([]bool, len(moves))
	for i := range moves {
		found, _ := p.reply(i).([]any)
		there[i] = len(found) == 1
	}
	return there, nil
}

// addMarked adds messages for one stream, each once.
func (b *Broker) addMarked(ctx context.Context, op operation, from string, moves []broker.Move) ([]broker.Moved, error) {
	if len(moves) == 0 {
		return nil, nil
	}
	to := moves[0].Publish.Stream
	a := newArgs()
	defer a.release()
	moveMarkedScript.call(a, 1+len(moves))
	a.add(to)
	for i := range moves {
		a.word(markKey(to, from, moves[i].ID))
	}
	a.int(markLasts.Milliseconds())
	for i := range moves {
		a.int(int64(xaddArgs(&moves[i].Publish)))
		xadd(a, &moves[i].Publish)
	}
	v, err := b.run(ctx, moveMarkedScript, a.since(0))
	if err != nil {
		return nil, b.fail(op, err)
	}
	return b.moved(op, nil, moves, texts(v))
}

// shorten lets the marks of entries that are deleted go sooner. Without an answer
// they only stay longer.
func (b *Broker) shorten(ctx context.Context, from string, moves []broker.Move) {
	var cmds []redis.Cmder
	for i := range moves {
		key := markKey(moves[i].Publish.Stream, from, moves[i].ID)
		cmds = append(cmds, redis.NewCmd(ctx, "PEXPIRE", key, markLastsDone.Milliseconds()))
	}
	b.exec(ctx, cmds)
}
