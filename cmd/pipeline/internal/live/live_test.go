package live_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"pipeline/cmd/pipeline/internal/live"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/broker/readonly"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var epoch = time.UnixMilli(1_700_000_000_000)

// source is a broker in memory that counts ranges and may do something before
// each.
type source struct {
	*memory.Broker
	clock  *clock.Virtual
	asked  []int
	before func(n int)
	err    error
}

func newSource() *source {
	c := clock.NewVirtual(epoch)
	return &source{Broker: memory.New(c, memory.Options{}), clock: c}
}

func (s *source) Range(ctx context.Context, stream string, first, last broker.ID, count int) ([]broker.Entry, error) {
	if s.before != nil {
		s.before(len(s.asked))
	}
	s.asked = append(s.asked, count)
	if s.err != nil && len(s.asked) > 2 {
		return nil, s.err
	}
	return s.Broker.Range(ctx, stream, first, last, count)
}

// fill adds n entries of a size, one a millisecond.
func (s *source) fill(t *testing.T, stream string, n, size int) []broker.ID {
	t.Helper()
	var ids []broker.ID
	for i := range n {
		s.clock.MoveTo(s.clock.Now().Add(time.Millisecond))
		added, err := s.Add(t.Context(), []broker.Add{{
			Stream: stream, Fields: []broker.Field{{Name: "n", Value: fmt.Sprint(i)}, {Name: "x", Value: strings.Repeat("x", size)}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, added...)
	}
	return ids
}

// reader looks at streams.
func reader(t *testing.T, b broker.Broker, o live.Options, names ...string) *live.Reader {
	t.Helper()
	var streams []*spec.Stream
	for _, name := range names {
		streams = append(streams, &spec.Stream{Label: name, Name: name})
	}
	r := live.New(readonly.New(b), streams, o)
	if err := r.Look(t.Context()); err != nil {
		t.Fatal(err)
	}
	return r
}

func ids(t *testing.T, r *live.Reader) (got []broker.ID) {
	t.Helper()
	for e := range r.Entries(t.Context()) {
		got = append(got, e.ID)
	}
	return got
}

func TestRangesAndCounts(t *testing.T) {
	s := newSource()
	all := s.fill(t, "in", 1000, 10)
	for name, c := range map[string]struct {
		o    live.Options
		want []broker.ID
	}{
		"everything":        {live.Options{}, all},
		"from":              {live.Options{From: all[990]}, all[990:]},
		"to":                {live.Options{To: all[3]}, all[:4]},
		"between":           {live.Options{From: all[3], To: all[5]}, all[3:6]},
		"one":               {live.Options{From: all[3], To: all[3]}, all[3:4]},
		"nothing":           {live.Options{From: all[5], To: all[3]}, nil},
		"after the end":     {live.Options{From: all[999].Next()}, nil},
		"before the start":  {live.Options{To: all[0].Prev()}, nil},
		"the oldest":        {live.Options{Count: 7}, all[:7]},
		"the oldest from":   {live.Options{From: all[100], Count: 700}, all[100:800]},
		"as many as it has": {live.Options{Count: 1000}, all},
		"more than it has":  {live.Options{Count: 5000}, all},
	} {
		t.Run(name, func(t *testing.T) {
			r := reader(t, s, c.o, "in")
			if got := ids(t, r); !slices.Equal(got, c.want) {
				t.Errorf("got %d entries, want %d", len(got), len(c.want))
			}
			state := r.Streams()[0]
			if !state.Done || state.Given != int64(len(c.want)) || r.Err() != nil {
				t.Errorf("ended as %+v, %v", state, r.Err())
			}
			if expected := r.Expected(); expected < int64(len(c.want)) || len(c.want) > 0 && expected > int64(len(c.want))+1 {
				t.Errorf("expected about %d, there were %d", expected, len(c.want))
			}
		})
	}
}

func TestCountIsForEachStream(t *testing.T) {
	s := newSource()
	a, b := s.fill(t, "a", 5, 1), s.fill(t, "b", 5, 1)
	r := reader(t, s, live.Options{Count: 2}, "b", "a", "absent")
	if got := ids(t, r); !slices.Equal(got, slices.Concat(b[:2], a[:2])) {
		t.Errorf("got %v", got)
	}
	if absent := r.Streams()[2]; absent.Length != 0 || !absent.Done || absent.About != 0 {
		t.Errorf("the absent stream is %+v", absent)
	}
}

func TestWhatIsAddedMeanwhileIsNotRead(t *testing.T) {
	s := newSource()
	all := s.fill(t, "in", 40, 1)
	s.before = func(int) { s.fill(t, "in", 5, 1) }
	if got := ids(t, reader(t, s, live.Options{}, "in")); !slices.Equal(got, all) {
		t.Errorf("got %d entries, want the %d from before", len(got), len(all))
	}
}

func TestTrimmingUnderTheRange(t *testing.T) {
	s := newSource()
	all := s.fill(t, "in", 2000, 1)
	s.before = func(n int) {
		if n == 2 {
			if _, err := s.Trim(t.Context(), broker.TrimRequest{Stream: "in", MinID: all[1000]}); err != nil {
				t.Error(err)
			}
		}
	}
	got := ids(t, reader(t, s, live.Options{}, "in"))
	first := len(got) - 1000
	if first < 0 || !slices.Equal(got[:first], all[:first]) || !slices.Equal(got[first:], all[1000:]) {
		t.Errorf("got %d entries, want those before the trim and those that it left", len(got))
	}
	s.before = func(n int) {
		if _, err := s.Trim(t.Context(), broker.TrimRequest{Stream: "in", MinID: broker.MaxID}); err != nil {
			t.Error(err)
		}
	}
	if r := reader(t, s, live.Options{}, "in"); len(ids(t, r)) != 0 || r.Err() != nil {
		t.Errorf("a stream that is emptied meanwhile: %v", r.Err())
	}
}

func TestPagesFollowTheSizeOfEntries(t *testing.T) {
	for name, c := range map[string]struct {
		sizes   []int // of so many entries each
		entries int
		most    int
		last    int // at most
	}{
		"small":              {[]int{10}, 600, 250, 250},
		"large":              {[]int{100_000}, 600, 16, 10},
		"small, then large":  {[]int{10, 100_000}, 600, 250, 10},
		"larger than a page": {[]int{2 << 20}, 40, 16, 1},
		"large, then small":  {[]int{100_000, 10}, 600, 250, 250},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSource()
			n := 0
			for _, size := range c.sizes {
				n += len(s.fill(t, "in", c.entries, size))
			}
			if got := ids(t, reader(t, s, live.Options{}, "in")); len(got) != n {
				t.Fatalf("got %d entries of %d", len(got), n)
			}
			if slices.Max(s.asked) > c.most || c.last == c.most && slices.Max(s.asked) < c.most || s.asked[0] != 16 {
				t.Errorf("the pages were %v", s.asked)
			}
			for i := 1; i < len(s.asked); i++ {
				if s.asked[i] > 2*s.asked[i-1] {
					t.Errorf("page %d is more than twice the one before: %v", i, s.asked)
				}
			}
			if last := s.asked[len(s.asked)-1]; last > c.last {
				t.Errorf("the last page was one of %d, want at most %d", last, c.last)
			}
		})
	}
}

func TestReadingEndsEarly(t *testing.T) {
	s := newSource()
	s.fill(t, "in", 5000, 1)
	r := reader(t, s, live.Options{}, "in", "in")
	n := 0
	for range r.Entries(t.Context()) {
		if n++; n == 100 {
			break
		}
	}
	if state := r.Streams()[0]; state.Done || state.Given != 100 || r.Err() != nil {
		t.Errorf("after a break: %+v, %v", state, r.Err())
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, n = reader(t, s, live.Options{}, "in"), 0
	for range r.Entries(ctx) {
		if n++; n == 100 {
			cancel()
		}
	}
	if r.Streams()[0].Done || r.Err() != nil || n == 5000 {
		t.Errorf("after a cancel: %d entries, %v", n, r.Err())
	}
}

func TestErrorsOfTheServer(t *testing.T) {
	s := newSource()
	s.fill(t, "in", 5000, 1)
	s.err = &broker.Error{Op: "read range of", Stream: "in", Kind: broker.ErrUnavailable}
	r := reader(t, s, live.Options{}, "in")
	got := ids(t, r)
	e, ok := errors.AsType[*live.StreamError](r.Err())
	if !ok || e.Stream.Name != "in" || !errors.Is(r.Err(), broker.ErrUnavailable) || e.Error() != s.err.Error() {
		t.Errorf("the error is %v", r.Err())
	}
	if state := r.Streams()[0]; state.Done || len(got) == 0 || state.Last != got[len(got)-1] {
		t.Errorf("%d entries came before it, the state is %+v", len(got), state)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := live.New(s, []*spec.Stream{{Name: "in"}}, live.Options{}).Look(t.Context()); !errors.Is(err, broker.ErrClosed) {
		t.Errorf("looking gave %v", err)
	}
}

// What is given stays as it was, however few of a page are chosen.
func TestSampledEntriesAreWhole(t *testing.T) {
	s := newSource()
	s.fill(t, "in", 3000, 1)
	part, err := live.ParseSample("1/10")
	if err != nil {
		t.Fatal(err)
	}
	r := reader(t, s, live.Options{Sample: part}, "in")
	var got []engine.DryEntry
	for e := range r.Entries(t.Context()) {
		got = append(got, e)
	}
	if n := len(got); n < 200 || n > 400 || r.Streams()[0].Read != 3000 {
		t.Fatalf("%d of %d entries are a tenth", n, r.Streams()[0].Read)
	}
	for _, e := range got {
		if !part.Takes(e.ID) || e.Fields[0].Value != fmt.Sprint(e.ID.Ms-uint64(epoch.UnixMilli())-1) {
			t.Fatalf("entry %v holds %v", e.ID, e.Fields)
		}
	}
	again := reader(t, s, live.Options{Sample: part, Count: 5}, "in")
	if few := ids(t, again); len(few) != 5 || few[4] != got[4].ID {
		t.Errorf("another run chose %v", few)
	}
}

func TestParseSample(t *testing.T) {
	for text, share := range map[string]float64{
		"1/100": 0.01, "1%": 0.01, "0.5%": 0.005, "100%": 1, "3/3": 1, "1/3": 1. / 3, "12.5%": 0.125, "1/1000000000000": 1e-12,
	} {
		got, err := live.ParseSample(text)
		if err != nil || math.Abs(got.Share()-share) > share/1e6 {
			t.Errorf("%s: %v, %v", text, got.Share(), err)
		}
	}
	for _, text := range []string{
		"", "%", "/", "1", "0.5", "0/5", "0%", "2/1", "101%", "-1%", "-1/-2", "1/0", "1/2%", "1/2/3", "1e9999999%", "a/b", "1 %", "0x1/0x2", "∞%",
	} {
		if got, err := live.ParseSample(text); err == nil {
			t.Errorf("%q is taken as %v", text, got.Share())
		}
	}
}

func TestSamplesAreEvenAndNested(t *testing.T) {
	tenth, _ := live.ParseSample("10%")
	hundredth, _ := live.ParseSample("1/100")
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.Uint64Range(0, math.MaxUint64-100_000).Draw(t, "start")
		bySeq := rapid.Bool().Draw(t, "by sequence number")
		tens, hundreds := 0, 0
		for i := range uint64(20_000) {
			id := broker.ID{Ms: start + i}
			if bySeq {
				id = broker.ID{Ms: start, Seq: i}
			}
			if tenth.Takes(id) {
				tens++
			}
			if hundredth.Takes(id) {
				hundreds++
				if !tenth.Takes(id) {
					t.Fatalf("%v is in the smaller part and not in the larger", id)
				}
			}
		}
		if tens < 1700 || tens > 2300 || hundreds < 110 || hundreds > 300 {
			t.Fatalf("of 20,000 entries %d are a tenth and %d a hundredth", tens, hundreds)
		}
	})
}

func TestPositions(t *testing.T) {
	now := time.UnixMilli(1_700_000_000_000)
	const last = math.MaxUint64
	for text, want := range map[string][2]broker.ID{
		"5-3":                         {{Ms: 5, Seq: 3}, {Ms: 5, Seq: 3}},
		"1700000000000":               {{Ms: 1_700_000_000_000}, {Ms: 1_700_000_000_000, Seq: last}},
		"0":                           {{}, {Seq: last}},
		"2023-11-14T22:13:20Z":        {{Ms: 1_700_000_000_000}, {Ms: 1_700_000_000_000, Seq: last}},
		"2023-11-14T23:13:20.5+01:00": {{Ms: 1_700_000_000_500}, {Ms: 1_700_000_000_500, Seq: last}},
		"1s":                          {{Ms: 1_699_999_999_000}, {Ms: 1_699_999_999_000, Seq: last}},
		"1h30m":                       {{Ms: 1_699_994_600_000}, {Ms: 1_699_994_600_000, Seq: last}},
		"2d":                          {{Ms: 1_699_827_200_000}, {Ms: 1_699_827_200_000, Seq: last}},
		"1d12h":                       {{Ms: 1_699_870_400_000}, {Ms: 1_699_870_400_000, Seq: last}},
		"60000d":                      {{}, {Seq: last}},
	} {
		from, errFrom := live.ParseFrom(text, now)
		to, errTo := live.ParseTo(text, now)
		if errFrom != nil || errTo != nil || from != want[0] || to != want[1] {
			t.Errorf("%s: from %v (%v), to %v (%v)", text, from, errFrom, to, errTo)
		}
	}
	for _, text := range []string{"", "-1", "-24h", "yesterday", "d", "1d-1h", "99999999d", "2023-11-14", "1-2-3", "$", "1d2d"} {
		if id, err := live.ParseFrom(text, now); err == nil {
			t.Errorf("%q is taken as %v", text, id)
		}
	}
}

func FuzzPosition(f *testing.F) {
	for _, text := range []string{"1-1", "24h", "2023-11-14T22:13:20Z", "1d12h", "%", "9999d9999h"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		from, err := live.ParseFrom(text, epoch)
		to, errTo := live.ParseTo(text, epoch)
		if (err == nil) != (errTo == nil) || err == nil && to.Less(from) {
			t.Errorf("%q is %v and %v, %v and %v", text, from, to, err, errTo)
		}
		_, _ = live.ParseSample(text)
	})
}
