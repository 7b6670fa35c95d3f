package brokertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
)

// pauseTime is long enough to tell what was before it from what came after,
// on a busy machine, too.
const pauseTime = 100 * time.Millisecond

// pause lets time pass, so that what happened before looks older.
func (m *comparison) pause(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "really") > 0 {
		return
	}
	m.both(rt, "pause", func(s *side) string {
		at := s.now()
		s.Advance(pauseTime)
		s.pauses = append(s.pauses, at.Add(pauseTime/2))
		return ""
	})
}

func (m *comparison) create(rt *rapid.T) {
	p := m.where(rt)
	start := rapid.SampledFrom([]string{"0", "$", "", "x", "1-", "-1", "+"}).Draw(rt, "start")
	at := rapid.IntRange(-4, len(m.sides[0].ids)-1).Draw(rt, "at")
	byPlace := rapid.Bool().Draw(rt, "by place")
	what := fmt.Sprintf("create %v at %q", p, start)
	if byPlace {
		what = fmt.Sprintf("create %v at %v", p, picked{at})
	}
	m.both(rt, what, func(s *side) string {
		start := start
		if byPlace {
			start = s.pick(at).String()
		}
		created, err := s.Broker.CreateGroup(s.Context(), s.key(p.stream), p.group, start)
		s.Delete(s.absent) // it stays absent
		return fmt.Sprint(created) + kindOf(s, err)
	})
}

func (m *comparison) restore(rt *rapid.T) {
	p := m.where(rt)
	m.both(rt, fmt.Sprintf("restore %v", p), func(s *side) string {
		at, restored, err := s.Broker.RestoreGroup(s.Context(), s.at(p, "").Stream, p.group)
		s.Delete(s.absent)
		return s.position(at) + fmt.Sprint(restored) + kindOf(s, err)
	})
}

func (m *comparison) saveFloor(rt *rapid.T) {
	p := m.where(rt)
	m.both(rt, fmt.Sprintf("save floor of %v", p), func(s *side) string {
		return kindOf(s, s.Broker.SaveFloor(s.Context(), s.key(p.stream), p.group))
	})
}

func (m *comparison) seek(rt *rapid.T) {
	p := m.where(rt)
	to, seen := rapid.IntRange(-4, len(m.sides[0].ids)-1).Draw(rt, "to"), maxID
	if rapid.Bool().Draw(rt, "seen before") {
		seen = rapid.IntRange(-4, len(m.sides[0].ids)-1).Draw(rt, "seen")
	}
	m.both(rt, fmt.Sprintf("seek %v to %v, seen at %v", p, picked{to}, picked{seen}), func(s *side) string {
		got, err := s.Broker.Seek(s.Context(), broker.SeekRequest{Stream: s.at(p, "").Stream, Group: p.group, To: s.pick(to), Seen: s.pick(seen)})
		return fmt.Sprint(got.Status, " ", s.position(got.From), s.position(got.At), got.Freed, got.Alive, got.Until.IsZero()) + kindOf(s, err)
	})
}

func (m *comparison) trim(rt *rapid.T) {
	r := broker.TrimRequest{Protect: rapid.Bool().Draw(rt, "protect"), MaxLen: rapid.Int64Range(0, 12).Draw(rt, "length")}
	least := rapid.IntRange(-4, len(m.sides[0].ids)-1).Draw(rt, "least")
	if least == maxID {
		least = zeroID // or everything would go, at every other trim
	}
	r.MaxAge = anyMaxAge.Draw(rt, "max age")
	m.both(rt, fmt.Sprintf("trim %+v to %v", r, picked{least}), func(s *side) string {
		r.Stream, r.MinID = s.stream, s.pick(least)
		if r.MaxAge > 0 {
			s.Advance(2 * everything) // what was just added is older than the least age, whichever clock says so
		}
		var removed int64
		for {
			n, err := s.Broker.Trim(s.Context(), r)
			if removed += n; n == 0 || err != nil {
				return fmt.Sprint(removed, kindOf(s, err))
			}
		}
	})
}

// age makes a pending entry look idle, as another client would.
func (m *comparison) age(rt *rapid.T) {
	m.look(rt)
	group := m.where(rt).group
	alive := m.sides[0].alive(group)
	if len(alive) == 0 {
		return
	}
	at, idle := rapid.SampledFrom(alive).Draw(rt, "entry"), anyAge.Draw(rt, "idle")
	m.both(rt, fmt.Sprintf("age e%d of %s by %v", at, group, idle), func(s *side) string {
		s.SetIdle(s.stream, group, idle, s.ids[at])
		return ""
	})
}

// delete deletes entries, pending ones among them.
func (m *comparison) delete(rt *rapid.T) {
	m.look(rt)
	exists := map[int]bool{}
	first := m.sides[0]
	entries, _ := first.Broker.Range(first.Context(), first.stream, broker.ID{}, broker.MaxID, all)
	for _, e := range entries {
		exists[first.index[e.ID]] = true
	}
	entriesOf := m.some(rt, m.where(rt).group)
	places := slices.DeleteFunc(entriesOf, func(at int) bool { return !exists[at] })
	if len(places) == 0 {
		return
	}
	m.both(rt, fmt.Sprintf("delete %v", places), func(s *side) string {
		s.DeleteEntries(s.stream, s.picked(places)...)
		return ""
	})
}

func (m *comparison) destroy(rt *rapid.T) {
	m.look(rt)
	first := m.sides[0]
	infos, _ := first.Broker.GroupInfos(first.Context(), first.stream)
	if len(infos) == 0 || rapid.Bool().Draw(rt, "not") {
		return
	}
	at := rapid.IntRange(0, len(infos)-1).Draw(rt, "group")
	m.both(rt, "destroy group "+infos[at].Name, func(s *side) string {
		s.DestroyGroup(s.stream, infos[at].Name)
		return ""
	})
}

// lose takes the stream away.
func (m *comparison) lose(rt *rapid.T) {
	how := rapid.IntRange(0, 7).Draw(rt, "how")
	m.both(rt, fmt.Sprintf("lose the stream (%d)", how), func(s *side) string {
		switch how {
		case 5:
			s.Delete(s.out)
		case 6:
			s.Delete(s.stream)
		case 7:
			s.SetString(s.stream)
		}
		return ""
	})
	if how == 7 && rapid.Bool().Draw(rt, "come back") {
		m.both(rt, "delete the text", func(s *side) string {
			s.Delete(s.stream)
			return ""
		})
	}
}

// flush empties the server, as a restart without persistence does.
func (m *comparison) flush(rt *rapid.T) {
	if rapid.IntRange(0, 2).Draw(rt, "really") != 2 {
		return
	}
	m.both(rt, "flush", func(s *side) string {
		s.Flush()
		s.SetString(s.text)
		return ""
	})
}

// list lists pending entries of one consumer, or a page of all.
func (m *comparison) list(rt *rapid.T) {
	p, count := m.where(rt), rapid.IntRange(0, 4).Draw(rt, "count")
	consumer := rapid.SampledFrom([]string{"", "a", "b", "nobody"}).Draw(rt, "consumer")
	after := rapid.IntRange(-4, len(m.sides[0].ids)-1).Draw(rt, "after")
	m.both(rt, fmt.Sprintf("list %d pending of %v, %q, after %v", count, p, consumer, picked{after}), func(s *side) string {
		list, err := s.Broker.Pending(s.Context(), s.at(p, "").Stream, p.group, consumer, s.pick(after), count)
		var said strings.Builder
		for _, e := range list {
			fmt.Fprintf(&said, "%s of %s, %d; ", s.id(e.ID), e.Consumer, e.Deliveries)
		}
		_, missing := s.Broker.ConsumerInfos(s.Context(), s.key(p.stream), p.group)
		return said.String() + kindOf(s, err) + kindOf(s, missing)
	})
}

// peek reads a range of entries.
func (m *comparison) peek(rt *rapid.T) {
	key, count := m.where(rt).stream, rapid.IntRange(0, 4).Draw(rt, "count")
	anyEnd := rapid.IntRange(-4, len(m.sides[0].ids)-1)
	first, last := anyEnd.Draw(rt, "first"), anyEnd.Draw(rt, "last")
	back := rarely(rt, "back", 3)
	m.both(rt, fmt.Sprintf("range %d of %s, %v, back %v", count, key, picked{first, last}, back), func(s *side) string {
		s.nameless = key != "payments"
		read := s.Broker.Range
		if back {
			read = s.Broker.RangeBack
		}
		entries, err := read(s.Context(), s.key(key), s.pick(first), s.pick(last), count)
		var said strings.Builder
		for _, e := range entries {
			if key == "payments" {
				fmt.Fprintf(&said, "%v ", s.id(e.ID))
			}
			said.WriteString(short(e.Fields))
		}
		_, missing := s.Broker.StreamInfo(s.Context(), s.key(key))
		_, none := s.Broker.GroupInfos(s.Context(), s.key(key))
		return said.String() + kindOf(s, err) + kindOf(s, missing) + kindOf(s, none)
	})
}

// blocked is a read of which one was seen to bring nothing, so that another
// blocks.
type blocked struct {
	p        place
	consumer string
	count    int
	minIdle  time.Duration
}

// block has readers wait and does something that may wake them.
func (m *comparison) block(rt *rapid.T) {
	m.look(rt)
	readers := make([]blocked, rapid.IntRange(1, 3).Draw(rt, "readers"))
	for i := range readers {
		readers[i] = blocked{p: place{"payments", m.where(rt).group}, consumer: anyConsumer.Draw(rt, "consumer"), count: anyCount.Draw(rt, "count")}
		if m.features[0].ClaimingRead && rapid.Bool().Draw(rt, "claim") {
			readers[i].minIdle = minIdle
		}
	}
	for _, r := range readers {
		waits := true
		m.both(rt, fmt.Sprintf("read before block %+v", r), func(s *side) string {
			d, err := s.Broker.Read(s.Context(), s.reading(r, 0))
			waits = waits && len(d) == 0 && err == nil
			return s.deliveries(d) + kindOf(s, err)
		})
		if !waits {
			return
		}
	}
	waker := anyWaker(rt, m.sides[0])
	m.both(rt, fmt.Sprintf("block %+v until %s", readers, waker.name), func(s *side) string { return s.wake(readers, waker) })
}

func (s *side) reading(r blocked, block time.Duration) broker.ReadRequest {
	return broker.ReadRequest{Owner: s.at(r.p, r.consumer), Count: r.count, MinIdle: r.minIdle, Block: block}
}

// waker is what may wake readers.
type waker struct {
	name string
	do   func(*side)
}

func anyWaker(rt *rapid.T, first *side) waker {
	group := rapid.SampledFrom(groups).Draw(rt, "woken")
	n := rapid.IntRange(1, 5).Draw(rt, "added")
	infos, _ := first.Broker.GroupInfos(first.Context(), first.stream)
	exists := slices.ContainsFunc(infos, func(g broker.GroupInfo) bool { return g.Name == group })
	all := []waker{
		{fmt.Sprintf("%d are added", n), func(s *side) { s.append(n) }},
		{"one is added under an id of its own", func(s *side) {
			s.AddAs(s.stream, slices.MaxFunc(append(s.ids, broker.ID{Ms: 1}), broker.ID.Compare).Next(), fields("as", "1"))
			s.learn()
		}},
		{"the stream is deleted", func(s *side) { s.Delete(s.stream) }},
		{"it is a text", func(s *side) { s.SetString(s.stream) }},
		{"all is flushed", func(s *side) { s.Flush(); s.SetString(s.text) }},
		{"a group is created", func(s *side) { _, _ = s.Broker.CreateGroup(s.Context(), s.stream, group, "0") }},
		{"it is trimmed", func(s *side) { s.trim(broker.TrimRequest{MaxLen: 1}) }},
	}
	if exists {
		all = append(all, waker{"group " + group + " is destroyed", func(s *side) { s.DestroyGroup(s.stream, group) }})
	}
	if alive := first.alive(group); len(alive) > 0 {
		all = append(all,
			waker{fmt.Sprintf("e%d is released", alive[0]), func(s *side) {
				list, _ := s.Broker.Pending(s.Context(), s.stream, group, "", s.ids[alive[0]].Prev(), 1)
				_ = s.Broker.Release(s.Context(), broker.Owner{Stream: s.stream, Group: group, Consumer: list[0].Consumer}, s.picked(alive[:1]), longIdle)
			}},
			waker{fmt.Sprintf("e%d is aged", alive[0]), func(s *side) { s.SetIdle(s.stream, group, 2*minIdle, s.ids[alive[0]]) }},
			waker{fmt.Sprintf("%d are added after e%d was aged", n, alive[0]), func(s *side) {
				s.SetIdle(s.stream, group, 2*minIdle, s.ids[alive[0]])
				s.Advance(time.Millisecond)
				s.append(n)
			}},
		)
	}
	return rapid.SampledFrom(all).Draw(rt, "waker")
}

// append adds entries in one step.
func (s *side) append(n int) {
	ids, _ := s.Broker.Add(s.Context(), slices.Repeat([]broker.Add{message(s.stream, "n", "1")}, n))
	for _, id := range ids {
		s.note(id)
	}
}

// wake blocks the readers, one after the other, does what may wake them, ends
// those that it did not wake, and says what each read.
func (s *side) wake(readers []blocked, w waker) string {
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	answers := make([]<-chan answer, len(readers))
	for i, r := range readers {
		answers[i] = s.start(ctx, s.reading(r, time.Minute))
		s.awaitBlocked(i+1, nil)
		s.Advance(time.Millisecond)
	}
	w.do(s)
	cancel() // what was delivered before is returned all the same
	var said strings.Builder
	for i := range answers {
		a := s.finish(answers[i])
		fmt.Fprintf(&said, "%d: %s%s\n", i, s.deliveries(a.deliveries), kindOf(s, a.err))
	}
	return said.String()
}
