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
		var started []*pending
		for i, e := range r.Entries {
			if at, twice := first[e.ID]; twice {
				out[i] = out[at]
				continue
			}
			first[e.ID] = i
			var starts bool
			if out[i], starts = b.admit(s, g, &r, e, now); starts {
				p, _ := g.pending.get(byID(e.ID))
				started = append(started, p)
			}
		}
		for _, p := range started { // as a server's script does it, after what is put back
			b.claim(s, g, p, r.Consumer, now, now, p.count)
			b.changed()
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// admit decides about one entry and reports whether it is to be renewed
// because its start was recorded.
func (b *Broker) admit(s *stream, g *group, r *broker.AdmitRequest, e broker.Redelivery, now int64) (a broker.Admission, starts bool) {
	records := &b.besideOf(r.Stream, r.Group).records
	record, _ := records.get(byID(e.ID))
	p := g.held(e.ID, r.Consumer)
	if p == nil {
		return broker.Admission{Verdict: broker.Lost, Record: record}, false
	}
	if due := dueTime(record); due > now {
		remaining := due - now
		aged := now - max(0, milliseconds(r.MinIdle)-remaining)
		b.claim(s, g, p, r.Consumer, now, aged, max(0, p.count-1))
		b.changed()
		return broker.Admission{Verdict: broker.NotDue, Record: record, Remaining: time.Duration(remaining) * time.Millisecond}, false
	}
	if record.Attempts(e.Deliveries) >= int64(r.MaxAttempts) {
		return broker.Admission{Verdict: broker.Exhausted, Record: record}, false
	}
	if e.Deliveries >= 2 {
		started := record
		started.Starts++
		records.set(byID(e.ID), started)
	}
	return broker.Admission{Verdict: broker.Run, Record: record}, e.Deliveries >= 2
}

// dueTime is when an entry may run again, in milliseconds; 0 for at once.
func dueTime(r broker.Record) int64 {
	if r.Due.IsZero() {
		return 0
	}
	return r.Due.UnixMilli()
}
