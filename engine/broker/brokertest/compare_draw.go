package brokertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
)

// everything is an age that all entries have when twice as much time has passed, but
// for those whose ids are before the clock. anAge is one that only those have whose ids
// are long behind it: see addAs.
const (
	everything = 2 * time.Millisecond
	anAge      = 2 * time.Hour
)

// future is how far before the clock some ids are, in milliseconds.
const future = 3_600_000

var (
	anyConsumer = rapid.SampledFrom([]string{"a", "b", "c", "d e"})
	anyCount    = rapid.IntRange(1, 4)
	anyAge      = rapid.SampledFrom([]time.Duration{0, 50 * time.Minute, 100 * time.Minute, 200 * time.Minute})
	anyDelay    = rapid.SampledFrom([]time.Duration{0, time.Millisecond, 20 * time.Minute, 3 * time.Hour, -time.Second})
	anyError    = rapid.SampledFrom([]string{"", "bank is closed", "\x00\xff", "a b c", strings.Repeat("e", 5000)})
	anyMaxAge   = rapid.SampledFrom([]time.Duration{0, 0, 0, anAge, anAge, 10 * anAge, everything})
	anyIdle     = rapid.SampledFrom([]time.Duration{minIdle, 0, 150 * time.Minute})
)

// place is a group of a stream, as both sides understand it.
type place struct {
	stream string
	group  string
}

func (p place) String() string { return p.stream + "/" + p.group }

// rarely is true now and then, and false when a run is shortened.
func rarely(rt *rapid.T, label string, one int) bool {
	return rapid.IntRange(0, one-1).Draw(rt, label) == one/2+1
}

// where draws a group; now and then one of a key that is absent or no stream.
func (m *comparison) where(rt *rapid.T) place {
	p := place{"payments", rapid.SampledFrom([]string{groups[0], groups[0], groups[0], groups[1], groups[2]}).Draw(rt, "group")}
	if rarely(rt, "elsewhere", 16) {
		p.stream = rapid.SampledFrom([]string{"absent", "text", "replies"}).Draw(rt, "stream")
	}
	return p
}

// key is the key that a name stands for.
func (s *side) key(name string) string {
	switch name {
	case "payments":
		return s.stream
	case "replies":
		return s.out
	case "bounded":
		return s.bounded
	case "text":
		return s.text
	}
	return s.absent
}

// at is a consumer of a group. Until the next look, ids are those of entries
// of that stream: only the entries of one stream have places.
func (s *side) at(p place, consumer string) broker.Owner {
	s.nameless = p.stream != "payments"
	return broker.Owner{Stream: s.key(p.stream), Group: p.group, Consumer: consumer}
}

// Ids that are those of no entry, as places.
const (
	zeroID = -1 - iota
	maxID
	nextID
	beforeID
)

// picked are places of entries.
type picked []int

func (p picked) String() string {
	names := make([]string, len(p))
	for i, at := range p {
		switch at {
		case zeroID:
			names[i] = "0-0"
		case maxID:
			names[i] = "max"
		case nextID:
			names[i] = "after the last"
		case beforeID:
			names[i] = "before the first"
		default:
			names[i] = fmt.Sprint("e", at)
		}
	}
	return fmt.Sprint(names)
}

// ids are the ids of places.
func (s *side) picked(p picked) []broker.ID {
	out := make([]broker.ID, len(p))
	for i, at := range p {
		out[i] = s.pick(at)
	}
	return out
}

func (s *side) pick(at int) broker.ID {
	switch {
	case at == maxID:
		return broker.MaxID
	case at == nextID && len(s.ids) > 0:
		return slices.MaxFunc(s.ids, broker.ID.Compare).Next()
	case at == beforeID && len(s.ids) > 0:
		return slices.MinFunc(s.ids, broker.ID.Compare).Prev()
	case at < 0:
		return broker.ID{}
	}
	return s.ids[at]
}

// some draws places of entries, in order, each once; often those that are
// pending, now and then none, or ids that no entry has.
func (m *comparison) some(rt *rapid.T, group string) picked {
	places := m.sides[0].alive(group)
	if len(places) == 0 || rapid.IntRange(0, 3).Draw(rt, "any") == 3 {
		places = places[:0]
		for i := range m.sides[0].ids {
			places = append(places, i)
		}
	}
	if rarely(rt, "strange", 12) {
		places = append(places, zeroID, maxID, nextID, beforeID)
	}
	if len(places) == 0 || rarely(rt, "none", 24) {
		return nil
	}
	p := rapid.SliceOfNDistinct(rapid.SampledFrom(places), 1, min(4, len(places)), rapid.ID).Draw(rt, "entries")
	slices.SortFunc(p, func(a, b int) int { return m.sides[0].pick(a).Compare(m.sides[0].pick(b)) })
	return p
}

// doubled is some, where one may come twice.
func (m *comparison) doubled(rt *rapid.T, group string) picked {
	p := m.some(rt, group)
	if len(p) > 0 && rarely(rt, "twice", 8) {
		p = slices.Insert(p, 1, p[0])
	}
	return p
}

// body draws the fields of an entry. Very large ones stay out of the stream
// that is trimmed: a server looks at fewer entries at a time where bodies are
// large. Very wide ones stay out of replies: a server renews an entry for them.
func body(rt *rapid.T, to string) []broker.Field {
	switch rapid.IntRange(0, 11).Draw(rt, "body") {
	case 5:
		return fields("", "", "", "x")
	case 6:
		return fields("\x00\xff\r\n", "\x80", "é", "\x00")
	case 7:
		return fields("a", "1", "a", "2", "a", "1")
	case 8:
		return fields("n", strings.Repeat("x", 9000))
	case 9:
		return fields("n", "9223372036854775807", "m", "-1")
	case 10:
		if to == "replies" && rarely(rt, "very large", 4) {
			return fields("n", strings.Repeat("y", 300<<10))
		}
	case 11:
		if to == "payments" && rarely(rt, "very wide", 8) {
			return wide()
		}
	}
	return fields("n", "1")
}

// wide has more fields than a script can pass on.
func wide() []broker.Field {
	pairs := make([]string, 0, 5200)
	for i := range 2600 {
		pairs = append(pairs, fmt.Sprint("f", i), "")
	}
	return fields(pairs...)
}
