package brokertest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
)

// operate does one operation. The first ones are the simplest.
func (m *comparison) operate(rt *rapid.T) {
	operations := []func(*rapid.T){
		m.add, m.read, m.add, m.read, m.ack, m.age, m.step, m.wait, m.admit, m.start, m.renew, m.release, m.takeOver,
		m.settle, m.remove, m.create, m.saveFloor, m.seek, m.trim, m.delete, m.slot, m.pause, m.block, m.addAs,
		m.destroy, m.restore, m.lose, m.list, m.bulk, m.peek, m.age, m.step, m.flush, m.autoClaim, m.autoClaim, m.claim, m.claim,
	}
	rapid.SampledFrom(operations).Draw(rt, "operation")(rt)
	m.done++
}

func (m *comparison) add(rt *rapid.T) {
	n := anyCount.Draw(rt, "count")
	var to []string
	var what [][]broker.Field
	for range n {
		at := "payments"
		if rarely(rt, "elsewhere", 12) {
			at = rapid.SampledFrom([]string{"replies", "text"}).Draw(rt, "stream")
		}
		f := body(rt, at)
		if rarely(rt, "empty", 40) {
			f = nil
		}
		if n > 1 && (len(f) > 1000 || len(f) > 0 && len(f[0].Value) > 100_000) {
			f = fields("n", "2") // a large one goes by itself, maybe at another time than the rest
		}
		to, what = append(to, at), append(what, f)
	}
	m.both(rt, fmt.Sprintf("add %s to %v", sizes(what), to), func(s *side) string {
		adds := make([]broker.Add, n)
		for i := range adds {
			adds[i] = broker.Add{Stream: s.key(to[i]), Fields: what[i]}
		}
		ids, err := s.Broker.Add(s.Context(), adds)
		for i, id := range ids {
			if to[i] == "payments" {
				s.note(id)
			}
		}
		return fmt.Sprint(len(ids), kindOf(s, err))
	})
}

func sizes(what [][]broker.Field) string {
	texts := make([]string, len(what))
	for i, f := range what {
		texts[i] = short(f)
	}
	return fmt.Sprint(texts)
}

// bulk adds many entries with a bound. A server removes whole nodes of a
// hundred entries, and fewer where entries are large; these are small.
func (m *comparison) bulk(rt *rapid.T) {
	n, length := rapid.IntRange(1, 240).Draw(rt, "count"), rapid.Int64Range(0, 150).Draw(rt, "bound")
	m.both(rt, fmt.Sprintf("add %d, bound %d", n, length), func(s *side) string {
		adds := make([]broker.Add, n)
		for i := range adds {
			adds[i] = broker.Add{Stream: s.bounded, Fields: fields("e", fmt.Sprint(i)), MaxLen: length}
		}
		ids, err := s.Broker.Add(s.Context(), adds)
		return fmt.Sprint(len(ids), kindOf(s, err))
	})
}

// addAs adds an entry under an id of its own: one that there is, or was, or
// one after all others; or one that is old, which a stream takes that has got no other.
func (m *comparison) addAs(rt *rapid.T) {
	if rapid.Bool().Draw(rt, "old") {
		age := rapid.SampledFrom([]time.Duration{anAge / 2, 2 * anAge, 20 * anAge}).Draw(rt, "age")
		m.both(rt, fmt.Sprintf("add an entry of %v ago", age), func(s *side) string {
			id := broker.ID{Ms: uint64(s.now().Add(-age).UnixMilli())}
			added := s.AddAs(s.stream, id, fields("old", "1"))
			if added {
				s.note(id)
			}
			return fmt.Sprint(added)
		})
		return
	}
	at := rapid.IntRange(-3, len(m.sides[0].ids)-1).Draw(rt, "id")
	later := broker.ID{Ms: rapid.SampledFrom([]uint64{0, future}).Draw(rt, "ms"), Seq: rapid.Uint64Range(0, 3).Draw(rt, "seq")}
	if at == maxID && !rarely(rt, "max", 4) { // nothing can be added after it
		at = nextID
	}
	m.both(rt, fmt.Sprintf("add as %v + %v", picked{at}, later), func(s *side) string {
		id := s.pick(at)
		if at == nextID {
			id.Ms += later.Ms
			id.Seq += later.Seq
		}
		added := s.AddAs(s.stream, id, fields("as", "1"))
		if added {
			s.note(id)
		}
		return fmt.Sprint(added)
	})
}

func (m *comparison) request(rt *rapid.T, minIdle time.Duration) {
	p, consumer, count := m.where(rt), anyConsumer.Draw(rt, "consumer"), anyCount.Draw(rt, "count")
	if rarely(rt, "much", 8) {
		count = 1000
	}
	if rarely(rt, "nothing", 24) {
		count = 0
	}
	m.both(rt, fmt.Sprintf("read %d of %v as %q, idle for %v", count, p, consumer, minIdle), func(s *side) string {
		d, err := s.Broker.Read(s.Context(), broker.ReadRequest{Owner: s.at(p, consumer), Count: count, MinIdle: minIdle})
		return s.deliveries(d) + kindOf(s, err)
	})
}

func (m *comparison) read(rt *rapid.T) { m.request(rt, 0) }
func (m *comparison) claim(rt *rapid.T) {
	m.request(rt, max(anyIdle.Draw(rt, "idle"), time.Millisecond))
}

func (m *comparison) autoClaim(rt *rapid.T) {
	p, consumer, count, idle := m.where(rt), anyConsumer.Draw(rt, "consumer"), anyCount.Draw(rt, "count"), anyIdle.Draw(rt, "idle")
	just := rapid.IntRange(0, 2).Draw(rt, "just deleted") == 2
	start := rapid.IntRange(-4, len(m.sides[0].ids)-1).Draw(rt, "start")
	if rapid.Bool().Draw(rt, "from the start") {
		start = zeroID
	}
	what := fmt.Sprintf("autoclaim %d of %v from %v as %q, idle for %v, just deleted %v", count, p, picked{start}, consumer, idle, just)
	m.both(rt, what, func(s *side) string {
		page, err := s.Broker.AutoClaim(s.Context(), broker.AutoClaimRequest{
			Owner: s.at(p, consumer), MinIdle: idle, Count: count, JustDeleted: just, Start: s.pick(start),
		})
		return s.deliveries(page.Deliveries) + s.names(page.Deleted) + " next " + s.id(page.Next) + kindOf(s, err)
	})
}

func (m *comparison) admit(rt *rapid.T) {
	p, consumer := m.where(rt), anyConsumer.Draw(rt, "consumer")
	entries, before := m.doubled(rt, p.group), rapid.Int64Range(1, 4).Draw(rt, "deliveries")
	attempts := rapid.IntRange(3, 4).Draw(rt, "attempts")
	what := fmt.Sprintf("admit %v of %v as %q, %d before, %d attempts", entries, p, consumer, before, attempts)
	m.both(rt, what, func(s *side) string {
		r := broker.AdmitRequest{Owner: s.at(p, consumer), MinIdle: minIdle, MaxAttempts: attempts}
		for _, id := range s.picked(entries) {
			r.Entries = append(r.Entries, broker.Redelivery{ID: id, Deliveries: before})
		}
		answers, err := s.Broker.Admit(s.Context(), r)
		var said strings.Builder
		for _, a := range answers {
			fmt.Fprintf(&said, "%d, %s, in %s; ", a.Verdict, s.record(a.Record), a.Remaining.Round(10*time.Minute))
		}
		return said.String() + kindOf(s, err)
	})
}

func (m *comparison) start(rt *rapid.T) { m.held(rt, "begin", broker.Broker.Begin) }

func (m *comparison) renew(rt *rapid.T) { m.held(rt, "renew", broker.Broker.Renew) }

// held does what says of entries whether they are still held.
func (m *comparison) held(
	rt *rapid.T, what string, do func(broker.Broker, context.Context, broker.Owner, []broker.ID) ([]broker.Holding, error),
) {
	p, consumer := m.where(rt), anyConsumer.Draw(rt, "consumer")
	entries := m.doubled(rt, p.group)
	m.both(rt, fmt.Sprintf("%s %v of %v as %q", what, entries, p, consumer), func(s *side) string {
		held, err := do(s.Broker, s.Context(), s.at(p, consumer), s.picked(entries))
		return fmt.Sprintf("%d%s", held, kindOf(s, err))
	})
}

func (m *comparison) release(rt *rapid.T) {
	p, consumer := m.where(rt), anyConsumer.Draw(rt, "consumer")
	entries := m.doubled(rt, p.group)
	m.both(rt, fmt.Sprintf("release %v of %v as %q", entries, p, consumer), func(s *side) string {
		return kindOf(s, s.Broker.Release(s.Context(), s.at(p, consumer), s.picked(entries), longIdle))
	})
}

func (m *comparison) takeOver(rt *rapid.T) {
	p, to, from := m.where(rt), anyConsumer.Draw(rt, "to"), anyConsumer.Draw(rt, "from")
	entries := m.doubled(rt, p.group)
	m.both(rt, fmt.Sprintf("take %v of %v over from %q to %q", entries, p, from, to), func(s *side) string {
		took, err := s.Broker.TakeOver(s.Context(), s.at(p, to), from, s.picked(entries))
		return s.deliveries(took.Deliveries) + s.names(took.Deleted) + kindOf(s, err)
	})
}

func (m *comparison) remove(rt *rapid.T) {
	p, consumer := m.where(rt), anyConsumer.Draw(rt, "consumer")
	m.both(rt, fmt.Sprintf("remove consumer %q of %v", consumer, p), func(s *side) string {
		gone, err := s.Broker.RemoveConsumer(s.Context(), s.at(p, consumer))
		return fmt.Sprint(gone) + kindOf(s, err)
	})
}

// slot acquires, renews or gives up a lease, or has it expire.
func (m *comparison) slot(rt *rapid.T) {
	what := rapid.SampledFrom([]string{"acquire", "renew", "release", "expire"}).Draw(rt, "what")
	group, n := rapid.SampledFrom(groups).Draw(rt, "group"), rapid.IntRange(0, 3).Draw(rt, "slot")
	token, base := rapid.SampledFrom([]string{"t0", "t1", "t2", "t", ""}).Draw(rt, "token"), rapid.SampledFrom([]string{"post-host", "post"}).Draw(rt, "base")
	claims, follows := anyPeriod.Draw(rt, "min_idle"), anyPeriod.Draw(rt, "follows")
	m.both(rt, fmt.Sprintf("%s slot %d of %s/%s with %q, %v, %v", what, n, group, base, token, claims, follows), func(s *side) string {
		r := broker.SlotRequest{Stream: s.stream, Group: group, Base: base, Token: token, TTL: time.Hour, MinIdle: claims, Follows: follows}
		var held broker.SlotLease
		var got int
		var err error
		switch what {
		case "acquire":
			got, err = s.Broker.AcquireSlot(s.Context(), r)
		case "renew":
			held, err = s.Broker.RenewSlot(s.Context(), r, n)
		case "release":
			err = s.Broker.ReleaseSlot(s.Context(), r, n)
		case "expire":
			r.TTL = 0 // the shortest there is
			held, err = s.Broker.RenewSlot(s.Context(), r, n)
			s.Advance(3 * time.Millisecond)
		}
		held.Time, held.Quiet = time.Time{}, held.Quiet.Truncate(10*time.Minute)
		return fmt.Sprint(got, held, kindOf(s, err))
	})
}

// anyPeriod is a min_idle that is announced.
var anyPeriod = rapid.SampledFrom([]time.Duration{0, 30 * time.Minute, minIdle, 10 * time.Hour})
