package redis

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

//go:embed scripts/settle.lua
var settleText string

//go:embed scripts/wait.lua
var waitText string

var (
	settleScript = newScript(settleText)
	waitScript   = newScript(waitText)
)

// maxAcks bounds the ids of one XACK or HDEL.
const maxAcks = 2000

// settling is one settlement on its way: the commands of one batch, and for
// each script the place of its answers in the result.
type settling struct {
	*broker.Settlement
	keys   *groupKeys
	args   *args
	batch  batch
	forget map[broker.ID]bool
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
// pass on (about 2,400) goes by itself: see settleWide.
func (b *Broker) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	op := on(s.Owner, "settle")
	p := &settling{Settlement: s, keys: b.keys.of(s.Stream, s.Group), args: newArgs()}
	defer p.args.release()
	p.result = broker.SettleResult{Steps: make([]broker.StepResult, len(s.Steps)), Waits: make([]broker.Status, len(s.Waits))}
	if len(s.Steps) > 0 {
		if err := b.checkAck(ctx, s.Owner); err != nil {
			return p.result, b.fail(op, err)
		}
	}
	p.acks(ctx)
	wide := p.steps(ctx, b)
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
	return p.result, nil
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
	if len(p.Forget) > 0 {
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
			if p.forget[id] {
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

// steps appends the script calls of the steps and returns the places of those
// that are too wide for a script.
func (p *settling) steps(ctx context.Context, b *Broker) (wide []int) {
	for first := 0; first < len(p.Steps); {
		last, size := first, 0
		for last < len(p.Steps) && last-first < maxEntries {
			n, widest := weigh(&p.Steps[last])
			refused := b.foreign(p.Stream, &p.Steps[last])
			if widest > maxUnpack || refused != nil || size > 0 && size+n > maxBytes {
				if last > first {
					break
				}
				if refused != nil {
					p.result.Steps[first] = *refused
				} else {
					wide = append(wide, first)
				}
				first++
				last++
				continue
			}
			size += n
			last++
		}
		if last > first {
			p.step(ctx, first, last)
		}
		first = last
	}
	return wide
}

// weigh is how many bytes a step sends and the most arguments of its messages.
func weigh(s *broker.Step) (size, widest int) {
	size = 64
	for i := range s.Publish {
		widest = max(widest, 2*len(s.Publish[i].Fields))
		size += addSize(&s.Publish[i])
	}
	return size, widest
}

func addSize(m *broker.Add) int {
	size := len(m.Stream) + 64
	for i := range m.Fields {
		size += len(m.Fields[i].Name) + len(m.Fields[i].Value) + 16
	}
	return size
}

// foreign refuses a step of a cluster whose keys lie in different slots: no
// server could do it in one.
func (b *Broker) foreign(stream string, s *broker.Step) *broker.StepResult {
	if !b.clustered {
		return nil
	}
	for i := range s.Publish {
		if to := s.Publish[i].Stream; Slot(to) != Slot(stream) {
			return &broker.StepResult{Status: broker.Refused, Err: &broker.Error{
				Op: "publish", Stream: to, Kind: broker.ErrUnsupported,
				Detail: "it does not share a hash slot with " + stream + ", so that one atomic step cannot write both; give both keys the same {tag}",
			}}
		}
	}
	return nil
}

// step appends the script call for the steps from first to before last.
func (p *settling) step(ctx context.Context, first, last int) {
	a := p.args
	steps := p.Steps[first:last]
	to := destinations(steps)
	low, high := steps[0].ID, steps[0].ID
	for i := range steps {
		low, high = earlier(low, steps[i].ID), later(high, steps[i].ID)
	}
	mark := settleScript.call(a, 2+len(to))
	a.add(p.Stream, p.keys.records)
	a.add(to...)
	a.add(p.Group, p.Consumer)
	a.int(int64(len(steps)))
	a.id(low)
	a.id(high)
	for len(steps) > 0 {
		n := 1
		for n < len(steps) && p.alike(&steps[0], &steps[n]) {
			n++
		}
		p.run(steps[:n], to)
		steps = steps[n:]
	}
	p.calls = append(p.calls, settleCall{cmd: len(p.batch.cmds), first: first})
	p.batch.add(ctx, settleScript, a.since(mark))
}

// alike reports whether the messages of two steps have the same shape, so that
// it is told once for both. Nearly all of a batch are alike.
func (p *settling) alike(x, y *broker.Step) bool {
	return p.forget[x.ID] == p.forget[y.ID] && slices.EqualFunc(x.Publish, y.Publish, func(m, n broker.Add) bool {
		return m.Stream == n.Stream && xaddArgs(&m) == xaddArgs(&n)
	})
}

// run appends steps that are alike.
func (p *settling) run(steps []broker.Step, to []string) {
	a := p.args
	a.int(int64(len(steps)))
	a.flag(p.forget[steps[0].ID])
	a.int(int64(len(steps[0].Publish)))
	for i := range steps[0].Publish {
		m := &steps[0].Publish[i]
		a.int(int64(slices.Index(to, m.Stream) + 3))
		a.int(int64(xaddArgs(m)))
	}
	for i := range steps {
		a.id(steps[i].ID)
		for j := range steps[i].Publish {
			xadd(a, &steps[i].Publish[j])
		}
	}
}

// xadd appends the arguments of an XADD after its key.
func xadd(a *args, m *broker.Add) {
	if m.MaxLen > 0 {
		a.add("MAXLEN", "~")
		a.int(m.MaxLen)
	}
	a.add("*")
	a.fields(m.Fields)
}

// xaddArgs is how many arguments xadd appends.
func xaddArgs(m *broker.Add) int {
	n := 1 + 2*len(m.Fields)
	if m.MaxLen > 0 {
		n += 3
	}
	return n
}

// destinations are the streams that the steps publish to, each once. There are
// few: replies, routes and the dead letters of one group.
func destinations(steps []broker.Step) []string {
	var to []string
	for i := range steps {
		for j := range steps[i].Publish {
			if s := steps[i].Publish[j].Stream; !slices.Contains(to, s) {
				to = append(to, s)
			}
		}
	}
	return to
}

// waits appends the script calls of the waits.
func (p *settling) waits(ctx context.Context) {
	for first := 0; first < len(p.Waits); first += maxEntries {
		waits := p.Waits[first:min(first+maxEntries, len(p.Waits))]
		a := p.args
		low, high := waits[0].ID, waits[0].ID
		for i := range waits {
			low, high = earlier(low, waits[i].ID), later(high, waits[i].ID)
		}
		mark := waitScript.call(a, 2)
		a.add(p.Stream, p.keys.records, p.Group, p.Consumer)
		a.int(int64(len(waits)))
		a.id(low)
		a.id(high)
		for i := range waits {
			wait(a, &waits[i])
		}
		p.calls = append(p.calls, settleCall{cmd: len(p.batch.cmds), first: first, waits: true})
		p.batch.add(ctx, waitScript, a.since(mark))
	}
}

// wait appends one wait. One that carries nothing to remember leaves the record
// as it is.
func wait(a *args, w *broker.Wait) {
	a.id(w.ID)
	after := int64(-1)
	idle := int64(0)
	if w.Timed {
		after = max(0, milliseconds(w.After))
		if w.MinIdle > 0 {
			idle = max(0, milliseconds(w.MinIdle)-after)
		}
	}
	a.int(idle)
	a.int(after)
	a.flag(w.Uncount)
	a.flag(w.Asked)
	a.flag(w.Timed || w.Asked || w.Error != "")
	a.ref(&w.Error)
}

func earlier(x, y broker.ID) broker.ID {
	if y.Less(x) {
		return y
	}
	return x
}

func later(x, y broker.ID) broker.ID {
	if x.Less(y) {
		return y
	}
	return x
}

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

var letters = map[byte]broker.Status{'d': broker.Done, 'n': broker.NotOwned, 'r': broker.Refused, 't': broker.Torn}

func (p *settling) readWaits(statuses string, first int) error {
	if len(statuses) != min(maxEntries, len(p.Waits)-first) {
		return fmt.Errorf("%w of the wait script", errProtocol)
	}
	for i := range len(statuses) {
		p.result.Waits[first+i] = letters[statuses[i]]
	}
	return nil
}

func (p *settling) readSteps(b *Broker, reply []string, first int) error {
	if len(reply)%3 != 1 || first+len(reply[0]) > len(p.Steps) {
		return fmt.Errorf("%w of the settle script", errProtocol)
	}
	for i := range len(reply[0]) {
		p.result.Steps[first+i].Status = letters[reply[0][i]]
	}
	for problem := range slices.Chunk(reply[1:], 3) {
		i, err := strconv.Atoi(problem[0])
		m, bad := strconv.Atoi(problem[1])
		if err != nil || bad != nil || i >= len(reply[0]) || m >= len(p.Steps[first+i].Publish) {
			return fmt.Errorf("%w of the settle script", errProtocol)
		}
		to := p.Steps[first+i].Publish[m].Stream
		p.result.Steps[first+i].Err = b.fail(operation{name: "publish", stream: to}, serverError(problem[2]))
	}
	return nil
}
