package memory

import (
	"context"
	"time"

	"pipeline/engine/broker"
)

// Survey implements broker.Broker. It looks at all of it at one moment.
func (b *Broker) Survey(ctx context.Context, asks []broker.Ask) (broker.Survey, error) {
	var out broker.Survey
	err := b.do(ctx, operation{name: "survey"}, func(now int64) error {
		out = broker.Survey{Time: time.UnixMilli(now), Streams: make([]broker.StreamSurvey, len(asks))}
		for i := range asks {
			out.Streams[i] = b.survey(&asks[i], now)
		}
		return nil
	})
	if err != nil {
		return broker.Survey{}, err
	}
	return out, nil
}

func (b *Broker) survey(ask *broker.Ask, now int64) broker.StreamSurvey {
	out := broker.StreamSurvey{Added: -1, Groups: make([]broker.GroupSurvey, len(ask.Groups))}
	s, err := b.stream(ask.Stream)
	if err != nil {
		out.Err = operation{name: "inspect", stream: ask.Stream}.fail(err)
	}
	if s != nil {
		out.StreamInfo = s.info()
		if b.features.Lag {
			out.Added = s.added
		}
		for _, name := range s.groupNames() {
			out.All = append(out.All, b.groupInfo(s, s.groups[name]))
		}
	}
	for i, name := range ask.Groups {
		out.Groups[i] = b.surveyGroup(s, ask.Stream, name, now)
		if out.Err != nil {
			out.Groups[i].Err = out.Err
		}
	}
	return out
}

func (b *Broker) surveyGroup(s *stream, stream, name string, now int64) broker.GroupSurvey {
	out := broker.GroupSurvey{GroupInfo: broker.GroupInfo{Name: name}, Read: unknown}
	if s == nil || s.groups[name] == nil {
		out.Err = operation{"inspect", stream, name}.fail(broker.ErrNoGroup)
		return out
	}
	g := s.groups[name]
	out.GroupInfo, out.Consumers = b.groupInfo(s, g), g.consumerInfos(now)
	if b.features.Lag {
		out.Read = g.read
	}
	first, _, _ := g.pending.first()
	out.OldestPending = first.id
	out.Oldest = page(&g.pending, broker.ID{}, broker.MaxOldest, now)
	if at := s.entries.from(byID(g.last.Next())); g.last != broker.MaxID {
		k, _, _ := at.next()
		out.OldestUndelivered = k.id
	}
	kept := s.firstID()
	for at := g.pending.from(byID(broker.ID{})); out.TrimGap < broker.MaxTrimGap; out.TrimGap++ {
		k, _, ok := at.next()
		if !ok || !kept.IsZero() && !k.id.Less(kept) {
			break
		}
	}
	return out
}
