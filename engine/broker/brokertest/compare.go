package brokertest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

// Compare runs random operations on two brokers and requires the same answers
// and, every now and then, the same state: entries, groups with position and
// lag, pending lists, consumers, records, floors and, through what they allow,
// leases. Ids and exact times are compared as far as they can agree: an id by
// the place of its entry, a time by what it was set to.
//
// The number and length of runs are those of package rapid (-rapid.checks,
// -rapid.steps); with lasting, runs go on for that long. What differs is
// reported as the shortest list of operations that shows it, with the seed.
func Compare(t *testing.T, first, second Factory, lasting time.Duration) {
	m := &comparison{envs: [2]*Env{first(t), second(t)}}
	for i, env := range m.envs {
		server, err := env.Broker.Probe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		m.features[i] = server.Features
	}
	if m.features[0] != m.features[1] {
		t.Fatalf("%s has the features %+v, %s %+v", m.envs[0].Server, m.features[0], m.envs[1].Server, m.features[1])
	}
	t.Cleanup(func() { t.Logf("%d runs of %d operations in all", m.runs, m.done) })
	for end := clock.Real().Now().Add(lasting); ; {
		rapid.Check(t, func(rt *rapid.T) {
			m.begin(t, rapid.IntRange(1, len(groups)).Draw(rt, "groups"))
			rt.Repeat(map[string]func(*rapid.T){"": m.next, "do": m.operate})
			m.look(rt)
		})
		if !clock.Real().Now().Before(end) {
			return
		}
	}
}

// comparison is the pair of brokers, and what one run has done to them.
type comparison struct {
	envs       [2]*Env
	features   [2]broker.Features
	runs, done int
	sides      [2]*side
}

// side is one of the brokers in a run.
type side struct {
	*kit
	// out takes replies, bounded small ones that are trimmed as they are added,
	// text is a key of another type, absent never exists.
	out, bounded, text, absent string
	// ids are the entries of the stream, by their places.
	ids   []broker.ID
	index map[broker.ID]int
	// nameless: the ids that come now are those of another stream.
	nameless bool
	// pauses are the middles of the pauses so far: see touched.
	pauses []time.Time
}

// groups are the names of groups. The second one is that of a key beside the
// first, if separators were not told apart.
var groups = []string{"ledger", "ledger:floor", "ünï %3A"}

// begin starts a run on new keys with some of the groups.
func (m *comparison) begin(t *testing.T, count int) {
	m.runs++
	for i, env := range m.envs {
		key := fmt.Sprintf("%srun%d:", env.Prefix, m.runs)
		s := &side{
			kit: &kit{T: t, Env: env, stream: key + "payments", group: groups[0], features: m.features[i]},
			out: key + "replies", bounded: key + "bounded", text: key + "text", absent: key + "absent",
			index: map[broker.ID]int{},
		}
		s.SetString(s.text)
		for _, group := range groups[:count] {
			_, err := s.Broker.CreateGroup(t.Context(), s.stream, group, "0")
			s.ok(err)
		}
		m.sides[i] = s
	}
}

// both does one thing to both brokers and compares what they say.
func (m *comparison) both(rt *rapid.T, what string, do func(*side) string) {
	var said [2]string
	for i, s := range m.sides {
		said[i] = do(s)
	}
	if said[0] != said[1] {
		rt.Fatalf("%s\n%s:\n%s\n%s:\n%s", what, m.envs[0].Server, said[0], m.envs[1].Server, said[1])
	}
	rt.Logf("%s: %s", what, said[0])
}

// next lets time pass between operations, so that no two of them happen in
// the same millisecond, and looks at the state from time to time.
func (m *comparison) next(rt *rapid.T) {
	for _, s := range m.sides {
		s.Advance(time.Millisecond)
	}
	if rapid.IntRange(0, 3).Draw(rt, "look") == 0 {
		m.look(rt)
	}
}

// look compares the state of both. Looking changes nothing, so that what a
// busy machine made imprecise is looked at again.
func (m *comparison) look(rt *rapid.T) {
	var said [2]string
	for range 3 {
		for i, s := range m.sides {
			said[i] = s.state()
		}
		if said[0] == said[1] {
			return
		}
	}
	rt.Fatalf("state\n%s:\n%s\n%s:\n%s", m.envs[0].Server, only(said[0], said[1]), m.envs[1].Server, only(said[1], said[0]))
}

// only is what one state says and the other does not, each line with its
// number.
func only(state, other string) string {
	lines, others := strings.Split(state, "\n"), strings.Split(other, "\n")
	var w strings.Builder
	for i, line := range lines {
		if !slices.Contains(others, line) {
			fmt.Fprintf(&w, "%d: %s\n", i, line)
		}
	}
	return w.String()
}

// kindOf is an error without the server's own words.
func kindOf(s *side, err error) string {
	if err == nil {
		return ""
	}
	e, ok := errors.AsType[*broker.Error](err)
	if !ok {
		return fmt.Sprintf(" error %T", err)
	}
	object := map[string]string{s.stream: "payments", s.out: "replies", s.bounded: "bounded", s.text: "text", s.absent: "absent"}[e.Stream]
	return fmt.Sprintf(" error: %s %s/%s: %v", e.Op, object, e.Group, e.Kind)
}
