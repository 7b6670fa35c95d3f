package redis

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

// perTrip is how many questions go out together. A server answers what it has
// read of a connection before it turns to another: 250 of these take it a few
// milliseconds.
const perTrip = 250

// question is one command and what is done with its answer. Callbacks run one
// after the other, in the order of the questions.
type question struct {
	op     operation
	cmd    redis.Cmder
	answer func(v any, err error)
}

// questions are asked together.
type questions struct {
	b    *Broker
	list []question
	// answered is set by the first answer of a server that is there.
	answered bool
	// err is the first error of one that is not.
	err error
}

func (q *questions) add(ctx context.Context, op operation, answer func(v any, err error), words ...any) {
	q.list = append(q.list, question{op, redis.NewCmd(ctx, words...), answer})
}

// ask sends what was added and has the answers taken in.
func (q *questions) ask(ctx context.Context) {
	cmds := make([]redis.Cmder, len(q.list))
	for i := range q.list {
		cmds[i] = q.list[i].cmd
	}
	for first := 0; first < len(cmds); first += perTrip {
		q.b.exec(ctx, cmds[first:min(first+perTrip, len(cmds))])
	}
	list := q.list
	q.list = nil
	for i := range list {
		cmd := list[i].cmd.(*redis.Cmd)
		err := cmd.Err()
		if !absent(err) {
			err = q.b.fail(list[i].op, err)
		}
		if away(err) {
			if q.err == nil {
				q.err = err
			}
		} else {
			q.answered = true
		}
		list[i].answer(cmd.Val(), err)
	}
}

// Survey implements broker.Broker. It takes two rounds, of a trip for every 250
// questions: two for each stream and five for each group at most. A second look is
// only taken at a group that has entries to read or pending.
func (b *Broker) Survey(ctx context.Context, asks []broker.Ask) (broker.Survey, error) {
	s := broker.Survey{Streams: make([]broker.StreamSurvey, len(asks))}
	q := &questions{b: b}
	q.time(ctx, &s.Time)
	for i := range asks {
		q.stream(ctx, &asks[i], &s.Streams[i])
	}
	q.ask(ctx)
	if !q.answered {
		return broker.Survey{}, q.err
	}
	for i := range asks {
		q.behind(ctx, &asks[i], &s.Streams[i])
	}
	q.ask(ctx)
	return s, nil
}

// time asks what time it is. A login that may not is told this machine's.
func (q *questions) time(ctx context.Context, at *time.Time) {
	q.add(ctx, operation{name: "read the time"}, func(v any, err error) {
		*at = q.b.clock.Now()
		parts, ok := v.([]any)
		if err != nil || !ok || len(parts) != 2 {
			return
		}
		seconds, fine := parts[0].(string)
		micros, well := parts[1].(string)
		sec, err := strconv.ParseInt(seconds, 10, 64)
		usec, failed := strconv.ParseInt(micros, 10, 64)
		if fine && well && err == nil && failed == nil {
			*at = time.Unix(sec, usec*1000)
		}
	}, "TIME")
}

// stream asks what can be asked without knowing anything of the stream.
func (q *questions) stream(ctx context.Context, ask *broker.Ask, s *broker.StreamSurvey) {
	s.Added, s.Groups = -1, make([]broker.GroupSurvey, len(ask.Groups))
	q.add(ctx, operation{name: "inspect", stream: ask.Stream}, func(v any, err error) {
		if s.Err = present(err); err == nil {
			found := properties(v)
			s.StreamInfo, s.Added = found.stream(), found.count("entries-added")
		}
	}, "XINFO", "STREAM", ask.Stream)
	q.add(ctx, operation{name: "inspect groups of", stream: ask.Stream}, func(v any, err error) {
		s.Err = cmp.Or(s.Err, present(err))
		for i, name := range ask.Groups {
			s.Groups[i].Name, s.Groups[i].Read = name, -1
			s.Groups[i].Err = cmp.Or(s.Err, noSuchGroup(ask.Stream, name))
		}
		list, _ := v.([]any)
		for i := range list {
			found := properties(list[i])
			g := found.group()
			s.All = append(s.All, g)
			for at, name := range ask.Groups {
				if name == g.Name && s.Err == nil {
					s.Groups[at] = broker.GroupSurvey{GroupInfo: g, Read: found.count("entries-read")}
				}
			}
		}
	}, "XINFO", "GROUPS", ask.Stream)
	for i, name := range ask.Groups {
		q.group(ctx, operation{stream: ask.Stream, group: name}, &s.Groups[i])
	}
}

// group asks for the consumers of a group and the ends of its pending list.
func (q *questions) group(ctx context.Context, op operation, g *broker.GroupSurvey) {
	op.name = "inspect consumers of"
	q.add(ctx, op, func(v any, err error) {
		g.Err = cmp.Or(g.Err, err)
		list, _ := v.([]any)
		for i := range list {
			g.Consumers = append(g.Consumers, properties(list[i]).consumer())
		}
	}, "XINFO", "CONSUMERS", op.stream, op.group)
	op.name = "list pending of"
	q.add(ctx, op, func(v any, err error) {
		g.Err = cmp.Or(g.Err, err)
		// Count, lowest id, highest id, consumers; the ids are nil for none.
		if summary, ok := v.([]any); ok && len(summary) == 4 {
			g.Pending, _ = summary[0].(int64)
			g.OldestPending = idOf(summary[1])
		}
	}, "XPENDING", op.stream, op.group)
}

// behind asks what the first answers leave open: the first entry that a group was
// not given yet, the first ones of its pending list, and how much was trimmed under it.
func (q *questions) behind(ctx context.Context, ask *broker.Ask, s *broker.StreamSurvey) {
	for i := range s.Groups {
		g := &s.Groups[i]
		if g.Err != nil {
			continue
		}
		op := operation{stream: ask.Stream, group: g.Name}
		switch {
		case s.Length == 0 || !g.LastDelivered.Less(s.LastID):
		case g.LastDelivered.Less(s.FirstID):
			g.OldestUndelivered = s.FirstID
		default:
			op.name = "read range of"
			q.add(ctx, op, func(v any, err error) {
				g.Err = cmp.Or(g.Err, err)
				if list, ok := v.([]any); ok && len(list) == 1 {
					g.OldestUndelivered = entryID(list[0])
				}
			}, "XRANGE", op.stream, g.LastDelivered.Next().String(), "+", "COUNT", 1)
		}
		if g.Pending == 0 {
			continue
		}
		op.name = "list pending of"
		q.add(ctx, op, func(v any, err error) {
			g.Err = cmp.Or(g.Err, err)
			list, _ := v.([]any)
			for i := range list {
				g.Oldest = append(g.Oldest, pendingOf(list[i]))
			}
		}, "XPENDING", op.stream, op.group, "-", "+", broker.MaxOldest)
		switch {
		case s.Length == 0:
			g.TrimGap = min(g.Pending, broker.MaxTrimGap)
		case g.OldestPending.Less(s.FirstID):
			q.add(ctx, op, func(v any, err error) {
				g.Err = cmp.Or(g.Err, err)
				list, _ := v.([]any)
				g.TrimGap = int64(len(list))
			}, "XPENDING", op.stream, op.group, "-", s.FirstID.Prev().String(), broker.MaxTrimGap)
		}
	}
}

// pendingOf reads [id, consumer, idle, deliveries].
func pendingOf(v any) (p broker.Pending) {
	if parts, ok := v.([]any); ok && len(parts) == 4 {
		p.ID = idOf(parts[0])
		p.Consumer, _ = parts[1].(string)
		idle, _ := parts[2].(int64)
		p.Idle = time.Duration(max(0, idle)) * time.Millisecond
		p.Deliveries, _ = parts[3].(int64)
	}
	return p
}

// away reports whether the server did not answer, or not yet.
func away(err error) bool {
	return errors.Is(err, broker.ErrUnavailable) || errors.Is(err, broker.ErrAuth) || errors.Is(err, broker.ErrClosed)
}

// present is the error without the one of a stream that is absent.
func present(err error) error {
	if absent(err) {
		return nil
	}
	return err
}

func noSuchGroup(stream, group string) error {
	return &broker.Error{Op: "inspect", Stream: stream, Group: group, Kind: broker.ErrNoGroup}
}
