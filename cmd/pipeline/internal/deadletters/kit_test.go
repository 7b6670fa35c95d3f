package deadletters

import (
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/codec"
	"pipeline/engine/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fixture is a pipeline whose two groups bury in one stream, a third in another,
// on a broker in memory.
type fixture struct {
	testing.TB
	pipeline *spec.Pipeline
	broker   *memory.Broker
	clock    *clock.Virtual
	dead     *Source
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	payments := &spec.Stream{Label: "payments", Name: "payments", Codec: spec.CodecJSON, Body: spec.DefaultBody}
	orders := &spec.Stream{Label: "orders", Name: "shop.orders", Codec: spec.CodecJSON, Body: spec.DefaultBody}
	dead := &spec.Stream{Label: "payments_dead", Name: "payments.dead", Codec: spec.CodecJSON}
	p := &spec.Pipeline{Name: "payments", Version: "2", Streams: []*spec.Stream{payments, orders, dead}}
	for _, g := range []*spec.Group{
		{Label: "ledger", Name: "ledger", Stream: payments, DeadLetter: dead},
		{Label: "fraud", Name: "fraud-v2", Stream: payments, DeadLetter: dead},
		{Label: "ship", Name: "ship", Stream: orders, DeadLetter: &spec.Stream{Name: "shop.orders.dead", Codec: spec.CodecJSON}},
	} {
		g.Subscriptions = []*spec.Subscription{{Label: "run_" + g.Label, Group: g}}
		p.Groups = append(p.Groups, g)
	}
	c := clock.NewVirtual(time.UnixMilli(1_700_000_000_000))
	return &fixture{t, p, memory.New(c, memory.Options{}), c, Sources(p)[0]}
}

// bury adds the letter of an entry with the number n, that the group buried.
func (f *fixture) bury(n int, group, reason, text string, more ...broker.Field) broker.ID {
	f.Helper()
	original := append([]broker.Field{{Name: "_payload", Value: strconv.Itoa(n)}}, more...)
	d := codec.DeadLetter{
		Reason: reason, Error: text, Stream: "payments", ID: strconv.Itoa(n) + "-0", Group: group, Subscription: "run_" + group,
		Consumer: "c", Attempts: 5, PipelineVersion: "1",
	}
	return f.add("payments.dead", d.Fields(original))
}

func (f *fixture) add(stream string, fields []broker.Field) broker.ID {
	f.Helper()
	ids, err := f.broker.Add(f.Context(), []broker.Add{{Stream: stream, Fields: fields}})
	f.ok(err)
	return ids[0]
}

func (f *fixture) ok(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// stands is what a stream holds.
func (f *fixture) stands(stream string) []broker.Entry {
	f.Helper()
	entries, err := f.broker.Range(f.Context(), stream, broker.ID{}, broker.MaxID, 1_000_000)
	f.ok(err)
	return entries
}

// chosen are the letters of a scan, by the numbers of their entries.
func (f *fixture) chosen(s Scan) []string {
	f.Helper()
	s.Broker = f.broker
	var got []string
	for l, err := range s.Letters(f.Context(), f.dead) {
		f.ok(err)
		got = append(got, l.Facts.ID[:max(0, len(l.Facts.ID)-2)])
	}
	return got
}

// frozen freezes what a filter chooses, and opens it.
func (f *fixture) frozen(action Action, filter Filter) *Reader {
	f.Helper()
	path := f.TempDir() + "/selection.jsonl"
	_, _, err := Freeze(f.Context(), &Scan{Broker: f.broker, Filter: filter}, []*Source{f.dead}, Selection{Action: action, Pipeline: "payments"}, path)
	f.ok(err)
	r, err := Open(path)
	f.ok(err)
	f.Cleanup(func() { _ = r.Close() })
	return r
}
