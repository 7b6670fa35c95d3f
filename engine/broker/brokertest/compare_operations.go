package brokertest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
)

var (
	anyConsumer = rapid.SampledFrom([]string{"a", "b", "c"})
	anyCount    = rapid.IntRange(1, 4)
	anyAge      = rapid.SampledFrom([]time.Duration{0, 50 * time.Minute, 100 * time.Minute, 200 * time.Minute})
	anyDelay    = rapid.SampledFrom([]time.Duration{0, 20 * time.Minute, 3 * time.Hour})
	anyError    = rapid.SampledFrom([]string{"", "bank is closed", "\x00\xff"})
)

// operations are the operations of a run, by name; "" is what follows each.
func (m *comparison) operations(t *testing.T) map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){
		"": m.check, "add": m.add, "read": m.read, "age": m.age, "ack": m.ack, "step": m.step, "wait": m.wait,
		"admit": m.admit, "renew": m.renew, "release": m.release, "take over": m.takeOver, "delete": m.delete,
		"trim": m.trim, "remove consumer": m.remove, "floor": m.floor, "lose": m.lose,
	}
	if m.features[0].AutoClaim && m.features[1].AutoClaim {
		all["autoclaim"] = m.autoClaim
	}
	if m.features[0].ClaimingRead && m.features[1].ClaimingRead {
		all["claim"] = m.claim
	}
	if m.features[0].ClaimingRead != m.features[1].ClaimingRead {
		t.Logf("claiming reads are left out: only one has them")
	}
	return all
}

func (m *comparison) add(rt *rapid.T) {
	n := anyCount.Draw(rt, "count")
	m.both(rt, fmt.Sprintf("add %d", n), func(s *side) string {
		for range n { // at times of their own, so that no id is the one before another's
			id := s.add(s.stream, 1)[0]
			s.index[id] = len(s.ids)
			s.ids = append(s.ids, id)
			s.Advance(2 * time.Millisecond)
		}
		return "added"
	})
}

func (m *comparison) request(rt *rapid.T, what string, minIdle time.Duration) {
	consumer, count := anyConsumer.Draw(rt, "consumer"), anyCount.Draw(rt, "count")
	m.both(rt, fmt.Sprintf("%s %d as %s", what, count, consumer), func(s *side) string {
		d, err := s.Broker.Read(s.Context(), broker.ReadRequest{Owner: s.owner(consumer), Count: count, MinIdle: minIdle})
		return s.deliveries(d) + kindOf(err)
	})
}

func (m *comparison) read(rt *rapid.T)  { m.request(rt, "read", 0) }
func (m *comparison) claim(rt *rapid.T) { m.request(rt, "claim", minIdle) }

func (m *comparison) age(rt *rapid.T) {
	alive := m.sides[0].alive()
	if len(alive) == 0 {
		return
	}
	at, idle := rapid.SampledFrom(alive).Draw(rt, "entry"), anyAge.Draw(rt, "idle")
	m.both(rt, fmt.Sprintf("age e%d by %v", at, idle), func(s *side) string {
		s.age(idle, s.ids[at])
		return ""
	})
}

// settlement settles and says what came of it.
func (s *side) settlement(st *broker.Settlement) string {
	r, err := s.Broker.Settle(s.Context(), st)
	var said strings.Builder
	for _, step := range r.Steps {
		fmt.Fprintf(&said, "%d%s ", step.Status, kindOf(step.Err))
	}
	fmt.Fprintf(&said, "%d%s", r.Waits, kindOf(err))
	return said.String()
}

func (m *comparison) ack(rt *rapid.T) {
	places, forget := m.some(rt), rapid.Bool().Draw(rt, "forget")
	m.both(rt, fmt.Sprintf("acknowledge %v, forget %v", places, forget), func(s *side) string {
		st := &broker.Settlement{Owner: s.owner("a"), Acks: s.pick(places)}
		if forget {
			st.Forget = st.Acks
		}
		return s.settlement(st)
	})
}

func (m *comparison) step(rt *rapid.T) {
	places, consumer := m.some(rt), anyConsumer.Draw(rt, "consumer")
	kinds := rapid.SliceOfN(rapid.IntRange(0, 5), len(places), len(places)).Draw(rt, "kinds")
	m.both(rt, fmt.Sprintf("steps for %v as %v by %s", places, kinds, consumer), func(s *side) string {
		st := &broker.Settlement{Owner: s.owner(consumer)}
		for i, at := range places {
			reply := message(s.out, "e", fmt.Sprint(at))
			publish := [][]broker.Add{
				{}, {reply}, {reply, reply}, {message(s.text, "e", "0")}, {{Stream: s.out}}, {reply, {Stream: s.out}},
			}[kinds[i]]
			st.Steps = append(st.Steps, broker.Step{ID: s.ids[at], Publish: publish})
		}
		st.Forget = s.pick(places[:len(places)/2])
		return s.settlement(st)
	})
}

func (m *comparison) wait(rt *rapid.T) {
	places, consumer := m.some(rt), anyConsumer.Draw(rt, "consumer")
	w := broker.Wait{
		Timed: rapid.Bool().Draw(rt, "timed"), After: anyDelay.Draw(rt, "after"), Asked: rapid.Bool().Draw(rt, "asked"),
		Error: anyError.Draw(rt, "error"), Uncount: rapid.Bool().Draw(rt, "uncount"),
		MinIdle: rapid.SampledFrom([]time.Duration{0, minIdle}).Draw(rt, "min idle"),
	}
	m.both(rt, fmt.Sprintf("waits for %v by %s: %+v", places, consumer, w), func(s *side) string {
		st := &broker.Settlement{Owner: s.owner(consumer)}
		for _, id := range s.pick(places) {
			w.ID = id
			st.Waits = append(st.Waits, w)
		}
		return s.settlement(st)
	})
}

func (m *comparison) admit(rt *rapid.T) {
	places, consumer := m.some(rt), anyConsumer.Draw(rt, "consumer")
	before := rapid.Int64Range(1, 4).Draw(rt, "deliveries")
	m.both(rt, fmt.Sprintf("admit %v as %s, %d before", places, consumer, before), func(s *side) string {
		r := broker.AdmitRequest{Owner: s.owner(consumer), MinIdle: minIdle, MaxAttempts: 3}
		for _, id := range s.pick(places) {
			r.Entries = append(r.Entries, broker.Redelivery{ID: id, Deliveries: before})
		}
		answers, err := s.Broker.Admit(s.Context(), r)
		var said strings.Builder
		for _, a := range answers {
			fmt.Fprintf(&said, "%d, %s, in %s; ", a.Verdict, record(a.Record), a.Remaining.Round(10*time.Minute))
		}
		return said.String() + kindOf(err)
	})
}

func (m *comparison) renew(rt *rapid.T) {
	places, consumer := m.some(rt), anyConsumer.Draw(rt, "consumer")
	m.both(rt, fmt.Sprintf("renew %v as %s", places, consumer), func(s *side) string {
		held, err := s.Broker.Renew(s.Context(), s.owner(consumer), s.pick(places))
		return fmt.Sprintf("%d%s", held, kindOf(err))
	})
}

func (m *comparison) release(rt *rapid.T) {
	places, consumer := m.some(rt), anyConsumer.Draw(rt, "consumer")
	m.both(rt, fmt.Sprintf("release %v as %s", places, consumer), func(s *side) string {
		return kindOf(s.Broker.Release(s.Context(), s.owner(consumer), s.pick(places)))
	})
}

func (m *comparison) takeOver(rt *rapid.T) {
	places, to, from := m.some(rt), anyConsumer.Draw(rt, "to"), anyConsumer.Draw(rt, "from")
	m.both(rt, fmt.Sprintf("take %v over from %s to %s", places, from, to), func(s *side) string {
		took, err := s.Broker.TakeOver(s.Context(), s.owner(to), from, s.pick(places))
		return s.deliveries(took.Deliveries) + s.names(took.Deleted) + kindOf(err)
	})
}

func (m *comparison) autoClaim(rt *rapid.T) {
	consumer, count, just := anyConsumer.Draw(rt, "consumer"), anyCount.Draw(rt, "count"), rapid.Bool().Draw(rt, "just deleted")
	start := 0
	if n := len(m.sides[0].ids); n > 0 {
		start = rapid.IntRange(0, n-1).Draw(rt, "start")
	}
	m.both(rt, fmt.Sprintf("autoclaim %d from e%d as %s, just deleted %v", count, start, consumer, just), func(s *side) string {
		r := broker.AutoClaimRequest{Owner: s.owner(consumer), MinIdle: minIdle, Count: count, JustDeleted: just}
		if start > 0 {
			r.Start = s.ids[start]
		}
		page, err := s.Broker.AutoClaim(s.Context(), r)
		return s.deliveries(page.Deliveries) + s.names(page.Deleted) + " next " + s.id(page.Next) + kindOf(err)
	})
}

func (m *comparison) delete(rt *rapid.T) {
	exists := map[int]bool{}
	for _, e := range m.sides[0].entries(m.sides[0].stream) {
		exists[m.sides[0].index[e.ID]] = true
	}
	var places []int
	for _, at := range m.some(rt) {
		if exists[at] {
			places = append(places, at)
		}
	}
	if len(places) == 0 {
		return
	}
	m.both(rt, fmt.Sprintf("delete %v", places), func(s *side) string {
		s.DeleteEntries(s.stream, s.pick(places)...)
		return ""
	})
}

func (m *comparison) trim(rt *rapid.T) {
	r := broker.TrimRequest{Protect: rapid.Bool().Draw(rt, "protect"), MaxLen: rapid.Int64Range(0, 12).Draw(rt, "length")}
	least := rapid.IntRange(-1, len(m.sides[0].ids)-1).Draw(rt, "least")
	m.both(rt, fmt.Sprintf("trim %+v to e%d", r, least), func(s *side) string {
		if least >= 0 {
			r.MinID = s.ids[least]
		}
		return fmt.Sprint(s.trim(r))
	})
}

func (m *comparison) remove(rt *rapid.T) {
	consumer := anyConsumer.Draw(rt, "consumer")
	m.both(rt, "remove consumer "+consumer, func(s *side) string {
		gone, err := s.Broker.RemoveConsumer(s.Context(), s.owner(consumer))
		return fmt.Sprint(gone) + kindOf(err)
	})
}

func (m *comparison) floor(rt *rapid.T) {
	m.both(rt, "save floor", func(s *side) string { return kindOf(s.Broker.SaveFloor(s.Context(), s.stream, s.group)) })
}

// lose destroys the group or the stream, and restores it.
func (m *comparison) lose(rt *rapid.T) {
	if rapid.IntRange(0, 3).Draw(rt, "really") > 0 {
		return
	}
	all := rapid.Bool().Draw(rt, "stream")
	m.both(rt, fmt.Sprintf("lose the group, the stream %v", all), func(s *side) string {
		if all {
			s.Delete(s.stream)
		} else {
			s.DestroyGroup(s.stream, s.group)
		}
		return kindOf(s.Broker.SaveFloor(s.Context(), s.stream, s.group))
	})
	m.both(rt, "restore the group", func(s *side) string {
		at, restored, err := s.Broker.RestoreGroup(s.Context(), s.stream, s.group)
		return s.id(at) + fmt.Sprint(restored) + kindOf(err)
	})
}
