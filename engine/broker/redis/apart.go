package redis

import (
	"context"
	_ "embed"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

//go:embed scripts/once.lua
var onceText string

var onceScript = newScript(onceText)

// MaxRepeat is the longest time for which a server can be told to recognise a
// message that is added again (XCFGSET … IDMP-DURATION).
const MaxRepeat = 24 * time.Hour

// maxProduced is how many messages of one producer id a server can be told to
// know (XCFGSET … IDMP-MAXSIZE).
const maxProduced = 10000

// apart reports whether a step writes to another slot of a cluster than that of
// its entry, so that no single step of a server can do it.
func (b *Broker) apart(stream string, s *broker.Step) bool {
	if !b.clustered {
		return false
	}
	slot := -1
	for i := range s.Publish {
		if slot < 0 {
			slot = Slot(stream)
		}
		if Slot(s.Publish[i].Stream) != slot {
			return true
		}
	}
	return false
}

// marksApart refuses a step that would have to mark a key on one server and
// publish on another: two entries with the key that run at once would both
// publish, which is what the key is to prevent.
func (b *Broker) marksApart(stream string, s *broker.Step) *broker.StepResult {
	if s.Mark == "" || !b.apart(stream, s) {
		return nil
	}
	to := s.Publish[slices.IndexFunc(s.Publish, func(m broker.Add) bool { return Slot(m.Stream) != Slot(stream) })].Stream
	return &broker.StepResult{Status: broker.Refused, Err: &broker.Error{
		Op: "publish", Stream: to, Kind: broker.ErrUnsupported,
		Detail: "it does not share a hash slot with " + stream +
			", so that a message to it and the mark of an idempotency key cannot be written in one step; give both keys the same {tag}",
	}}
}

// settleApart does steps whose messages go to other servers of a cluster, up to
// 250 or 256 KiB at a time: they are published first and acknowledged when all
// of their messages were taken. Their fence is the lease, as in settleWide.
//
// From Redis 8.6 on each message has an identity by which its stream recognises
// it when it is added again, so that broken off anywhere and sent again, or done
// again by whoever is given the entry next, nothing is added twice within
// Settlement.Repeat. Older servers cannot: there it is at least once.
func (b *Broker) settleApart(ctx context.Context, p *settling, steps []int) error {
	for len(steps) > 0 {
		n, size := 0, 0
		for n < len(steps) && n < maxEntries && (n == 0 || size < maxBytes) {
			bytes, _ := weigh(&p.Steps[steps[n]])
			size += bytes
			n++
		}
		if err := b.settleSome(ctx, p, steps[:n]); err != nil {
			return err
		}
		steps = steps[n:]
	}
	return nil
}

func (b *Broker) settleSome(ctx context.Context, p *settling, steps []int) error {
	ids := make([]broker.ID, len(steps))
	for i, step := range steps {
		ids[i] = p.Steps[step].ID
	}
	held, err := b.Renew(ctx, p.Owner, ids)
	if err != nil {
		return err
	}
	// An entry whose body is gone left the pending list with the renewal, and nobody
	// can claim it any more: what came of it is published all the same.
	var ours, pending []int
	for i, step := range steps {
		switch held[i] {
		case broker.HeldByOther:
			p.result.Steps[step].Status = broker.NotOwned
			continue
		case broker.Held:
			pending = append(pending, step)
		}
		ours = append(ours, step)
	}
	if err := b.publishApart(ctx, p, ours); err != nil {
		return err
	}
	return b.acknowledge(ctx, p, pending)
}

// destination is a stream that is published to. once says that it recognises
// what is added again; a problem is why it takes nothing.
type destination struct {
	once    bool
	problem error
}

// publishApart adds the messages of steps. A step of which any message is
// refused is Refused: what of it was added is recognised, or repeated, when it is
// settled again.
func (b *Broker) publishApart(ctx context.Context, p *settling, steps []int) error {
	to, err := b.destinations(ctx, p, steps)
	if err != nil {
		return err
	}
	var cmds []redis.Cmder
	var of []int
	var streams []string
	for _, step := range steps {
		s := &p.Steps[step]
		if p.result.Steps[step] = untaken(s, to); p.result.Steps[step].Status == broker.Refused {
			continue
		}
		producer := producerID(p.Owner, s.ID)
		for i := range s.Publish {
			m := &s.Publish[i]
			mark := p.args.mark()
			p.args.add("XADD", m.Stream)
			if to[m.Stream].once {
				p.args.add("IDMP", producer, strconv.Itoa(ordinal(s, i)))
			}
			xadd(p.args, m)
			cmds, of, streams = append(cmds, redis.NewCmd(ctx, p.args.since(mark)...)), append(of, step), append(streams, m.Stream)
		}
	}
	b.exec(ctx, cmds)
	for i, cmd := range cmds {
		err := b.fail(operation{name: "publish", stream: streams[i]}, cmd.Err())
		switch {
		case err == nil:
		case passes(cmd.Err(), err):
			return err
		default:
			p.result.Steps[of[i]] = broker.StepResult{Status: broker.Refused, Err: err}
		}
	}
	return nil
}

// passes reports whether an error is one of the whole server and not of what was
// sent to it: the settlement is then sent again.
func passes(err, failed error) bool {
	return !serverSaid(err) || errors.Is(failed, broker.ErrUnavailable) || errors.Is(failed, broker.ErrAuth)
}

// untaken is Refused for a step with a message to a stream that takes none.
func untaken(s *broker.Step, to map[string]destination) broker.StepResult {
	for i := range s.Publish {
		if err := to[s.Publish[i].Stream].problem; err != nil {
			return broker.StepResult{Status: broker.Refused, Err: err}
		}
	}
	return broker.StepResult{Status: broker.Done}
}

// producerID names an entry in a group among all that publish to a stream. An
// entry's id alone would not: entries of two streams may share it.
func producerID(o broker.Owner, id broker.ID) string {
	return id.String() + " " + strconv.Itoa(len(o.Group)) + " " + o.Group + " " + o.Stream
}

// ordinal is the place of a message among those of its step to the same stream.
// It names the message for its producer id, of which each stream has its own.
func ordinal(s *broker.Step, message int) int {
	n := 0
	for i := range message {
		if s.Publish[i].Stream == s.Publish[message].Stream {
			n++
		}
	}
	return n
}

// destinations asks each stream that is published to whether it takes messages
// and has it recognise what is added again.
func (b *Broker) destinations(ctx context.Context, p *settling, steps []int) (map[string]destination, error) {
	most := map[string]int{}
	for _, step := range steps {
		s := &p.Steps[step]
		for i := range s.Publish {
			most[s.Publish[i].Stream] = max(most[s.Publish[i].Stream], ordinal(s, i)+1)
		}
	}
	repeat := MaxRepeat
	if p.Repeat > 0 {
		repeat = min(p.Repeat, MaxRepeat)
	}
	to := make(map[string]destination, len(most))
	for stream, messages := range most {
		mark := onceScript.call(p.args, 1)
		p.args.add(stream)
		p.args.int(int64((repeat + time.Second - 1) / time.Second))
		p.args.int(int64(min(messages, maxProduced)))
		v, err := b.run(ctx, onceScript, p.args.since(mark))
		failed := b.fail(operation{name: "publish", stream: stream}, err)
		if err != nil && passes(err, failed) {
			return nil, failed
		}
		to[stream] = destination{once: v == int64(1), problem: failed}
	}
	return to, nil
}

// acknowledge acknowledges the steps whose messages were taken, each only if its
// entry is still pending under the owner.
func (b *Broker) acknowledge(ctx context.Context, p *settling, steps []int) error {
	s := broker.Settlement{Owner: p.Owner}
	var of []int
	for _, step := range steps {
		if p.result.Steps[step].Status != broker.Done {
			continue
		}
		id := p.Steps[step].ID
		s.Steps, of = append(s.Steps, broker.Step{ID: id}), append(of, step)
		if p.forgets(id) {
			s.Forget = append(s.Forget, id)
		}
	}
	if len(s.Steps) == 0 {
		return nil
	}
	r, err := b.Settle(ctx, &s)
	if err != nil {
		return err
	}
	for i, step := range of {
		p.result.Steps[step] = r.Steps[i]
	}
	return nil
}
