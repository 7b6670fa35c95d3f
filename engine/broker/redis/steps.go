package redis

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strconv"

	"pipeline/engine/broker"
)

//go:embed scripts/settle.lua
var settleText string

var settleScript = newScript(settleText)

// steps appends the script calls of the steps and returns the places of those
// that are too wide for a script, and of those that go to several servers.
func (p *settling) steps(ctx context.Context, b *Broker) (wide, apart []int) {
	for first := 0; first < len(p.Steps); {
		last, size := first, 0
		for last < len(p.Steps) && last-first < maxEntries {
			n, widest := weigh(&p.Steps[last])
			refused, elsewhere := b.impossible(p.Stream, &p.Steps[last]), b.apart(p.Stream, &p.Steps[last])
			if widest > maxUnpack || refused != nil || elsewhere || size > 0 && size+n > maxBytes {
				if last > first {
					break
				}
				switch {
				case refused != nil:
					p.result.Steps[first] = *refused
				case elsewhere:
					apart = append(apart, first)
				default:
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
	return wide, apart
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

// impossible refuses a step that cannot be done in one; nil for one that can.
func (b *Broker) impossible(stream string, s *broker.Step) *broker.StepResult {
	if to, wide := s.Wide(); wide {
		r := broker.TooWide(to)
		return &r
	}
	return b.marksApart(stream, s)
}

// step appends the script call for the steps from first to before last.
func (p *settling) step(ctx context.Context, first, last int) {
	a := p.args
	steps := p.Steps[first:last]
	to := destinations(steps)
	low, high := steps[0].ID, steps[0].ID
	for i := range steps {
		low, high = broker.Earlier(low, steps[i].ID), broker.Later(high, steps[i].ID)
	}
	marks := p.marks.on && slices.ContainsFunc(steps, func(s broker.Step) bool { return s.Mark != "" })
	keys := 2 + len(to)
	if marks {
		keys += len(p.marks.sets)
	}
	mark := settleScript.call(a, keys)
	a.add(p.Stream, p.keys.records)
	a.add(to...)
	if marks {
		a.add(p.marks.sets[:]...)
	}
	a.pack(p.Group)
	a.pack(p.Consumer)
	a.packInt(int64(len(steps)))
	a.packID(low)
	a.packID(high)
	a.packIDs(len(steps), func(i int) broker.ID { return steps[i].ID })
	p.keysOf(steps, marks)
	for len(steps) > 0 {
		n := 1
		for n < len(steps) && p.alike(&steps[0], &steps[n]) {
			n++
		}
		p.run(steps[:n], to)
		steps = steps[n:]
	}
	a.packed()
	p.calls = append(p.calls, settleCall{cmd: len(p.batch.cmds), first: first})
	p.batch.add(ctx, settleScript, a.since(mark))
}

// keysOf appends the window and the keys of the steps, or a window of 0.
func (p *settling) keysOf(steps []broker.Step, marks bool) {
	if !marks {
		p.args.packInt(0)
		return
	}
	p.args.packInt(p.marks.window)
	for i := range steps {
		p.args.pack(markField(steps[i].Mark))
	}
}

// alike reports whether the messages of two steps have the same shape, so that
// it is told once for both. Nearly all of a batch are alike.
func (p *settling) alike(x, y *broker.Step) bool {
	return p.forgets(x.ID) == p.forgets(y.ID) && x.Gone == y.Gone && slices.EqualFunc(x.Publish, y.Publish, func(m, n broker.Add) bool {
		return m.Stream == n.Stream && m.MaxLen == n.MaxLen && slices.EqualFunc(m.Fields, n.Fields, func(f, g broker.Field) bool {
			return f.Name == g.Name
		})
	})
}

// run packs steps that are alike: what they share, and of each what it does not.
func (p *settling) run(steps []broker.Step, to []string) {
	a := p.args
	a.packInt(int64(len(steps)))
	flags := int64(0)
	if p.forgets(steps[0].ID) {
		flags++
	}
	if steps[0].Gone {
		flags += 2
	}
	a.packInt(flags)
	a.packInt(int64(len(steps[0].Publish)))
	for i := range steps[0].Publish {
		m := &steps[0].Publish[i]
		a.packInt(int64(slices.Index(to, m.Stream) + 3))
		a.packInt(max(0, m.MaxLen))
		a.packInt(int64(len(m.Fields)))
		for j := range m.Fields {
			a.pack(m.Fields[j].Name)
		}
	}
	for i := range steps {
		for j := range steps[i].Publish {
			fields := steps[i].Publish[j].Fields
			for k := range fields {
				a.pack(fields[k].Value)
			}
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
		if m < 0 {
			if err := p.readMark(b, &p.result.Steps[first+i], problem[2]); err != nil {
				return err
			}
			continue
		}
		to := p.Steps[first+i].Publish[m].Stream
		p.result.Steps[first+i].Err = b.fail(operation{name: "publish", stream: to}, serverError(problem[2]))
	}
	return nil
}
