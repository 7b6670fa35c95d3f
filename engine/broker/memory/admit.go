package memory

import (
	"context"
	"time"

	"pipeline/engine/broker"
)

// Admit implements broker.Broker.
func (b *Broker) Admit(ctx context.Context, r broker.AdmitRequest) ([]broker.Admission, error) {
	if len(r.Entries) == 0 {
		return nil, nil
	}
	var out []broker.Admission
	err := b.do(ctx, on(r.Owner, "admit"), func(now int64) error {
		s, g, err := b.group(r.Stream, r.Group)
		if err != nil {
			return err
		}
		out = make([]broker.Admission, len(r.Entries))
		first := make(map[broker.ID]int, len(r.Entries))
		for i, e := range r.Entries {
			if at, twice := first[e.ID]; twice {
				out[i] = out[at]
				continue
			}
			first[e.ID] = i
			out[i] = b.admit(s, g, &r, e, now)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// admit decides about one entry.
func (b *Broker) admit(s *stream, g *group, r *broker.AdmitRequest, e broker.Redelivery, now int64) broker.Admission {
	record, _ := b.besideOf(r.Stream, r.Group).records.get(byID(e.ID))
	p := g.held(e.ID, r.Consumer)
	if p == nil {
		return broker.Admission{Verdict: broker.Lost, Record: record}
	}
	if due := dueTime(record); due > now {
		remaining := due - now
		aged := now - max(0, milliseconds(r.MinIdle)-remaining)
		b.claim(s, g, p, r.Consumer, now, aged, max(0, p.count-1))
		b.changed()
		return broker.Admission{Verdict: broker.NotDue, Record: record, Remaining: time.Duration(remaining) * time.Millisecond}
	}
	if record.Attempts(e.Deliveries) >= int64(r.MaxAttempts) {
		return broker.Admission{Verdict: broker.Exhausted, Record: record}
	}
	return broker.Admission{Verdict: broker.Run, Record: record}
}

// Begin implements broker.Broker.
func (b *Broker) Begin(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var out []broker.Holding
	err := b.do(ctx, on(o, "begin"), func(now int64) error {
		s, g, err := b.group(o.Stream, o.Group)
		if err != nil {
			return err
		}
		for _, id := range ids {
			out = append(out, b.beginOne(s, g, o, id, now))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (b *Broker) beginOne(s *stream, g *group, o broker.Owner, id broker.ID, now int64) broker.Holding {
	p := g.held(id, o.Consumer)
	if p == nil {
		return broker.HeldByOther
	}
	b.changed()
	if !b.claim(s, g, p, o.Consumer, now, now, p.count) {
		return broker.BodyGone
	}
	records := &b.besideOf(o.Stream, o.Group).records
	r, _ := records.get(byID(id))
	if p.count > broker.Recorded && (r.Delivery != p.count || r.Ended) {
		r.Starts++
		r.Delivery, r.Ended = p.count, false
		records.set(byID(id), r)
	}
	return broker.Held
}

// dueTime is when an entry may run again, in milliseconds; 0 for at once.
func dueTime(r broker.Record) int64 {
	if r.Due.IsZero() {
		return 0
	}
	return r.Due.UnixMilli()
}
