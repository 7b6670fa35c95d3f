package redis

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"pipeline/engine/broker"
)

//go:embed scripts/move.lua
var moveText string

var moveScript = newScript(moveText)

// Move implements broker.Broker: a script for every 250 entries or 256 KiB. In
// a cluster, where the message goes to another slot, see moveMarked.
func (b *Broker) Move(ctx context.Context, r broker.MoveRequest) ([]broker.Moved, error) {
	done := make([]broker.Moved, 0, len(r.Moves))
	if len(r.Moves) == 0 {
		return done, nil
	}
	if err := b.checkDelete(ctx, r.From); err != nil {
		return done, b.fail(operation{name: "move from", stream: r.From}, err)
	}
	for moves := r.Moves; len(moves) > 0; {
		n, err := b.movable(moves)
		if err != nil {
			return done, err
		}
		run := b.moveMany
		if b.clustered && Slot(r.From) != Slot(moves[0].Publish.Stream) {
			run = b.moveMarked
		}
		before := len(done)
		if done, err = run(ctx, done, r.From, moves[:n]); err != nil {
			return done, err
		}
		moves = moves[len(done)-before:]
	}
	return done, nil
}

// checkDelete sees to it that this login may delete before the first message is
// added: a script that was refused its XDEL after the XADD would add it again
// with every attempt. 0-0 is no entry.
func (b *Broker) checkDelete(ctx context.Context, stream string) error {
	if _, ok := b.mayDelete.Load(stream); ok {
		return nil
	}
	if err := b.settle.Do(ctx, "XDEL", stream, "0-0").Err(); err != nil {
		return err
	}
	b.mayDelete.Store(stream, true)
	return nil
}

// movable is how many of the first moves fit into one call. In a cluster all
// messages of a call go to one stream. The first move may be one that no script
// can carry, which is an error.
func (b *Broker) movable(moves []broker.Move) (int, error) {
	if err := unmovable(&moves[0].Publish); err != nil {
		return 0, b.fail(operation{name: "publish", stream: moves[0].Publish.Stream}, err)
	}
	size := 0
	for i := range min(len(moves), maxEntries) {
		m := &moves[i].Publish
		size += addSize(m)
		elsewhere := b.clustered && m.Stream != moves[0].Publish.Stream
		bad := unmovable(m)
		if i > 0 && (elsewhere || size > maxBytes || bad != nil) {
			return i, nil //nolint:nilerr // it is told when that move comes first
		}
	}
	return min(len(moves), maxEntries), nil
}

// unmovable says why no script can carry a message; nil for nearly all.
func unmovable(m *broker.Add) error {
	switch {
	case len(m.Fields) == 0:
		return errNoFields
	case 2*len(m.Fields) > maxUnpack:
		return &broker.Error{Kind: broker.ErrTooWide, Detail: fmt.Sprintf(
			"it has %d fields, and one atomic step carries %d at most", len(m.Fields), maxUnpack/2)}
	}
	return nil
}

func (b *Broker) moveMany(ctx context.Context, done []broker.Moved, from string, moves []broker.Move) ([]broker.Moved, error) {
	var to []string
	for i := range moves {
		if !slices.Contains(to, moves[i].Publish.Stream) {
			to = append(to, moves[i].Publish.Stream)
		}
	}
	op := operation{name: "move from", stream: from, others: to}
	a := newArgs()
	defer a.release()
	moveScript.call(a, 1+len(to))
	a.add(from)
	a.add(to...)
	a.int(int64(len(moves)))
	for i := range moves {
		m := &moves[i].Publish
		a.id(moves[i].ID)
		a.int(int64(slices.Index(to, m.Stream) + 2))
		a.int(int64(xaddArgs(m)))
		xadd(a, m)
	}
	v, err := b.run(ctx, moveScript, a.since(0))
	if err != nil {
		return done, b.fail(op, err)
	}
	return b.moved(op, done, moves, texts(v))
}

// moved reads the reply of a script: an error, and then the ids.
func (b *Broker) moved(op operation, done []broker.Moved, moves []broker.Move, reply []string) ([]broker.Moved, error) {
	if len(reply) == 0 || len(reply)-1 > len(moves) || (reply[0] == "") != (len(reply)-1 == len(moves)) {
		return done, b.fail(op, fmt.Errorf("%w of the move script", errProtocol))
	}
	for _, text := range reply[1:] {
		id, ok := parseID(text)
		if text != "" && !ok {
			return done, b.fail(op, fmt.Errorf("%w of the move script", errProtocol))
		}
		done = append(done, broker.Moved{Found: ok, ID: id})
	}
	if reply[0] != "" {
		refused := moves[len(reply)-1].Publish.Stream
		return done, b.fail(operation{name: "publish", stream: refused, others: op.others}, serverError(reply[0]))
	}
	return done, nil
}

// Remove implements broker.Broker: XDEL of at most 2,000 ids each.
func (b *Broker) Remove(ctx context.Context, stream string, ids []broker.ID) (int64, error) {
	var removed int64
	for chunk := range slices.Chunk(ids, maxAcks) {
		a := newArgs()
		a.add("XDEL", stream)
		for _, id := range chunk {
			a.id(id)
		}
		n, err := b.do(ctx, a.since(0)).Int64()
		a.release()
		if err != nil {
			return removed, b.fail(operation{name: "remove from", stream: stream}, err)
		}
		removed += n
	}
	return removed, nil
}

// markLasts is how long the mark of a moved entry is kept: nobody resumes a move
// later than that. Once the entry is deleted nobody needs it any more but one
// who read the entry before, and no call takes that long.
const (
	markLasts     = 30 * 24 * time.Hour
	markLastsDone = 24 * time.Hour
)
