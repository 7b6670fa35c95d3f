package redis

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

// maxAcks bounds the ids of one XACK, HDEL or HMGET: half a millisecond of the server's time.
const maxAcks = 1000

// settling is one settlement on its way: the commands of one batch, and for
// each script the place of its answers in the result.
type settling struct {
	*broker.Settlement
	keys  *groupKeys
	args  *args
	batch batch
	// forget are the entries whose records are dropped; all stands for it where that
	// is every entry, as of those that were claimed.
	forget map[broker.ID]bool
	all    bool
	marks  marking
	calls  []settleCall
	result broker.SettleResult
}

// settleCall is a script call for the steps or waits from first on.
type settleCall struct {
	cmd   int
	first int
	waits bool
}

// Settle implements broker.Broker: one pipeline of an XACK and script calls of
// at most 250 entries or 256 KiB each. A step with more fields than a script can
// pass on (about 2,400) goes by itself, see settleWide, and so do those of a
// cluster that no single server can do, see settleApart.
func (b *Broker) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	op := on(s.Owner, "settle")
	p := &settling{Settlement: s, keys: b.keys.of(s.Stream, s.Group), args: newArgs()}
	defer p.args.release()
	p.result = broker.SettleResult{Steps: make([]broker.StepResult, len(s.Steps)), Waits: make([]broker.Status, len(s.Waits))}
	if len(s.Steps) > 0 {
		if err := b.checkSteps(ctx, p); err != nil {
			return p.result, b.fail(op, err)
		}
	}
	p.acks(ctx)
	wide, apart := p.steps(ctx, b)
	p.waits(ctx)
	if err := b.send(ctx, &p.batch); err != nil {
		op.others = destinations(s.Steps)
		return p.result, b.fail(op, err)
	}
	if err := p.read(b); err != nil {
		return p.result, b.fail(op, err)
	}
	for _, i := range wide {
		var err error
		if p.result.Steps[i], err = b.settleWide(ctx, p, &s.Steps[i]); err != nil {
			return p.result, b.fail(op, err)
		}
	}
	if err := b.settleApart(ctx, p, apart); err != nil {
		op.others = destinations(s.Steps)
		return p.result, b.fail(op, err)
	}
	return p.result, nil
}

// checkSteps sees to it that nothing stands in the way of steps that is known
// beforehand.
func (b *Broker) checkSteps(ctx context.Context, p *settling) error {
	marks, err := p.Check()
	if err != nil {
		return err
	}
	if marks {
		p.mark()
		if err := b.checkMark(ctx, p.Owner); err != nil {
			return err
		}
	}
	return b.checkAck(ctx, p.Owner)
}

// checkAck sees to it that this login may acknowledge before the first message
// is published: a script that was refused its XACK after the XADD would publish
// again with every attempt. 0-0 is no entry.
func (b *Broker) checkAck(ctx context.Context, o broker.Owner) error {
	id := [2]string{o.Stream, o.Group}
	if _, ok := b.mayAck.Load(id); ok {
		return nil
	}
	if err := b.settle.Do(ctx, "XACK", o.Stream, o.Group, "0-0").Err(); err != nil {
		return err
	}
	b.mayAck.Store(id, true)
	return nil
}

// acks appends the unfenced acknowledgements, and what drops their records.
func (p *settling) acks(ctx context.Context) {
	p.all = p.forgetsAll()
	if len(p.Forget) > 0 && !p.all {
		p.forget = make(map[broker.ID]bool, len(p.Forget))
		for _, id := range p.Forget {
			p.forget[id] = true
		}
	}
	var forget []broker.ID
	for ids := range slices.Chunk(p.Acks, maxAcks) {
		mark := p.args.mark()
		p.args.add("XACK", p.Stream, p.Group)
		for _, id := range ids {
			p.args.id(id)
			if p.forgets(id) {
				forget = append(forget, id)
			}
		}
		p.batch.add(ctx, nil, p.args.since(mark))
	}
	for ids := range slices.Chunk(forget, maxAcks) {
		mark := p.args.mark()
		p.args.add("HDEL", p.keys.records)
		for _, id := range ids {
			p.args.id(id)
		}
		p.batch.add(ctx, nil, p.args.since(mark))
	}
}

// forgetsAll reports whether Forget names every entry among Acks and Steps, each kind in
// its order, as an engine names them: then no entry is looked up.
func (p *settling) forgetsAll() bool {
	acks, steps := p.Acks, p.Steps
	for _, id := range p.Forget {
		switch {
		case len(acks) > 0 && acks[0] == id:
			acks = acks[1:]
		case len(steps) > 0 && steps[0].ID == id:
			steps = steps[1:]
		default:
			return false
		}
	}
	return len(acks)+len(steps) == 0
}

// forgets reports whether the record of an entry is dropped with it.
func (p *settling) forgets(id broker.ID) bool { return p.all || p.forget[id] }

// read puts the answers of the scripts into the result.
func (p *settling) read(b *Broker) error {
	for _, c := range p.calls {
		v, err := p.batch.cmds[c.cmd].(*redis.Cmd).Result()
		if err != nil {
			return err
		}
		if c.waits {
			statuses, _ := v.(string)
			if err := p.readWaits(statuses, c.first); err != nil {
				return err
			}
			continue
		}
		if err := p.readSteps(b, texts(v), c.first); err != nil {
			return err
		}
	}
	return nil
}

var letters = map[byte]broker.Status{'d': broker.Done, 'n': broker.NotOwned, 'r': broker.Refused, 't': broker.Torn, 'm': broker.Duplicate, 'g': broker.Gone}
