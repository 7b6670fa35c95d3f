package brokertest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
)

// Compare runs random operations on two brokers and requires the same answers
// and, after each, the same state, ids and exact times apart. Reads that block
// are left out: when they wake depends on the time that an operation takes.
// The number and length of runs are those of package rapid (-rapid.checks,
// -rapid.steps).
func Compare(t *testing.T, first, second Factory) {
	m := &comparison{envs: [2]*Env{first(t), second(t)}}
	for i, env := range m.envs {
		server, err := env.Broker.Probe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m.features[i] = server.Features
	}
	rapid.Check(t, func(rt *rapid.T) {
		m.begin(t)
		rt.Repeat(m.operations(t))
	})
}

// comparison is the pair of brokers, and what one run has done to them.
type comparison struct {
	envs     [2]*Env
	features [2]broker.Features
	runs     int
	sides    [2]*side
}

// side is one of the brokers in a run.
type side struct {
	*kit
	out, text string
	ids       []broker.ID
	index     map[broker.ID]int
}

// begin starts a run on new keys.
func (m *comparison) begin(t *testing.T) {
	m.runs++
	for i, env := range m.envs {
		prefix := fmt.Sprintf("%srun%d:", env.Prefix, m.runs)
		s := &side{
			kit: &kit{T: t, Env: env, stream: prefix + "payments", group: "ledger", features: m.features[i]},
			out: prefix + "replies", text: prefix + "text", index: map[broker.ID]int{},
		}
		s.SetString(s.text)
		s.create("0")
		m.sides[i] = s
	}
}

// both does one thing to both brokers and compares what it says.
func (m *comparison) both(rt *rapid.T, what string, do func(*side) string) {
	var said [2]string
	for i, s := range m.sides {
		said[i] = do(s)
		s.Advance(2 * time.Millisecond)
	}
	if said[0] != said[1] {
		rt.Fatalf("%s\n%s:\n%s\n%s:\n%s", what, m.envs[0].Server, said[0], m.envs[1].Server, said[1])
	}
	rt.Logf("%s: %s", what, said[0])
}

// check compares the state of both.
func (m *comparison) check(rt *rapid.T) { m.both(rt, "state", (*side).state) }

// state is all that can be seen.
func (s *side) state() string {
	var w strings.Builder
	ctx := s.Context()
	info, err := s.Broker.StreamInfo(ctx, s.stream)
	fmt.Fprintf(&w, "stream: %d entries, %s to %s, %d groups%s\n", info.Length, s.id(info.FirstID), s.id(info.LastID), info.Groups, kindOf(err))
	groups, err := s.Broker.GroupInfos(ctx, s.stream)
	for _, g := range groups {
		fmt.Fprintf(&w, "group %s: %d consumers, %d pending, at %s, lag %d %v\n", g.Name, g.Consumers, g.Pending, s.id(g.LastDelivered), g.Lag, g.LagKnown)
	}
	fmt.Fprint(&w, kindOf(err))
	consumers, err := s.Broker.ConsumerInfos(ctx, s.stream, s.group)
	for _, c := range consumers {
		fmt.Fprintf(&w, "consumer %s: %d pending\n", c.Name, c.Pending)
	}
	fmt.Fprint(&w, kindOf(err))
	list, err := s.Broker.Pending(ctx, s.stream, s.group, "", broker.ID{}, 100_000)
	for _, p := range list {
		fmt.Fprintf(&w, "pending %s: %s, %s, %d deliveries\n", s.id(p.ID), p.Consumer, quarters(p.Idle), p.Deliveries)
	}
	fmt.Fprint(&w, kindOf(err))
	records, err := s.Broker.Records(ctx, s.stream, s.group, s.ids)
	for i, r := range records {
		if r != (broker.Record{}) {
			fmt.Fprintf(&w, "record e%d: %s\n", i, record(r))
		}
	}
	fmt.Fprint(&w, kindOf(err))
	replies, err := s.Broker.Range(ctx, s.out, broker.ID{}, broker.MaxID, 100_000)
	for _, e := range replies {
		fmt.Fprintf(&w, "reply %v\n", e.Fields)
	}
	fmt.Fprint(&w, kindOf(err))
	return w.String()
}

// record is a record without the times at which it was written.
func record(r broker.Record) string {
	due := "now"
	if !r.Due.IsZero() {
		due = r.Due.Sub(r.At).String()
	}
	return fmt.Sprintf("%d starts, %d asked, due %s, %q by %s", r.Starts, r.Asked, due, r.Error, r.By)
}

// quarters is a time in whole quarters of an hour: all of a run takes less.
func quarters(d time.Duration) string {
	if d > 24*time.Hour {
		return "long"
	}
	return fmt.Sprint(int(d / (15 * time.Minute)))
}

// id names an id by the place of its entry, the same on both sides.
func (s *side) id(id broker.ID) string {
	if id.IsZero() {
		return "0"
	}
	if i, known := s.index[id]; known {
		return fmt.Sprint("e", i)
	}
	if i, known := s.index[id.Next()]; known {
		return fmt.Sprint("before e", i)
	}
	return "?"
}

func (s *side) names(ids []broker.ID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = s.id(id)
	}
	return fmt.Sprint(names)
}

// deliveries says what came, but not how long it was idle where the broker
// does not say it either.
func (s *side) deliveries(list []broker.Delivery) string {
	var w strings.Builder
	for _, d := range list {
		fmt.Fprintf(&w, "%s(%s, %d before, %v) ", s.id(d.ID), quarters(d.Idle), d.Deliveries, d.Fields)
	}
	return w.String()
}

// pick are the ids of entries by their places.
func (s *side) pick(places []int) []broker.ID {
	ids := make([]broker.ID, len(places))
	for i, at := range places {
		ids[i] = s.ids[at]
	}
	return ids
}

// alive are the places of pending entries whose body exists.
func (s *side) alive() []int {
	var places []int
	exists := map[broker.ID]bool{}
	for _, e := range s.entries(s.stream) {
		exists[e.ID] = true
	}
	list, _ := s.Broker.Pending(s.Context(), s.stream, s.group, "", broker.ID{}, 100_000)
	for _, p := range list {
		if exists[p.ID] {
			places = append(places, s.index[p.ID])
		}
	}
	return places
}

// kindOf is the kind of an error as far as both can agree on it.
func kindOf(err error) string {
	for _, kind := range []error{broker.ErrNoGroup, broker.ErrWrongType, broker.ErrUnsupported} {
		if e, ok := err.(*broker.Error); ok && e.Kind == kind { //nolint:errorlint // brokers return it unwrapped
			return " error: " + kind.Error() + "\n"
		}
	}
	if err != nil {
		return " error\n"
	}
	return ""
}

// some draws places of entries, in order, each once; often those that are
// pending.
func (m *comparison) some(rt *rapid.T) []int {
	all := m.sides[0].alive()
	if len(all) == 0 || rapid.IntRange(0, 3).Draw(rt, "any") == 0 {
		all = all[:0]
		for i := range m.sides[0].ids {
			all = append(all, i)
		}
	}
	if len(all) == 0 {
		return nil
	}
	picked := rapid.SliceOfNDistinct(rapid.SampledFrom(all), 1, min(4, len(all)), rapid.ID).Draw(rt, "entries")
	slices.Sort(picked)
	return picked
}
