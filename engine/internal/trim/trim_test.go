package trim_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/trim"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// server has some entries to trim in each stream, a hundred a step.
type server struct {
	broker.Broker
	mu       sync.Mutex
	left     map[string]int64
	errs     map[string]error
	requests []broker.TrimRequest
}

func (f *server) Trim(_ context.Context, r broker.TrimRequest) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests = append(f.requests, r)
	if err := f.errs[r.Stream]; err != nil {
		return 0, err
	}
	n := min(100, f.left[r.Stream])
	f.left[r.Stream] -= n
	return n, nil
}

// run trims for some rounds and returns the events.
func run(f *server, streams ...*spec.Stream) []observe.EventName {
	c := clock.NewVirtual(time.UnixMilli(1_000_000))
	var events []observe.EventName
	t := trim.New(&spec.Pipeline{Streams: streams}, f, c, rand.Float64, func() bool { return false }, func(e observe.Event) { events = append(events, e.Name) })
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { t.Run(ctx) })
	for range 3 {
		for _, armed := c.Next(); !armed; _, armed = c.Next() {
			runtime.Gosched()
		}
		c.Advance(2 * trim.Every)
	}
	for _, armed := c.Next(); !armed; _, armed = c.Next() {
		runtime.Gosched()
	}
	cancel()
	running.Wait()
	return events
}

func TestStreamsAreTrimmedInStepsToWhatTheyDeclare(t *testing.T) {
	f := &server{left: map[string]int64{"a": 250, "b": 50}}
	run(f,
		&spec.Stream{Name: "a", Retention: &spec.Retention{MaxLength: 10, ProtectUnacknowledged: true}},
		&spec.Stream{Name: "b", Retention: &spec.Retention{MaxAge: 400 * time.Second}},
		&spec.Stream{Name: "free"},
	)
	if f.left["a"] != 0 || f.left["b"] != 0 {
		t.Errorf("left: %v", f.left)
	}
	for _, r := range f.requests {
		switch r.Stream {
		case "a":
			if r.MaxLen != 10 || !r.Protect || !r.MinID.IsZero() || r.MaxAge != 0 {
				t.Errorf("asked %+v", r)
			}
		case "b":
			if r.MaxLen != 0 || r.Protect || r.MaxAge != 400*time.Second || !r.MinID.IsZero() { // the age is by the server's clock
				t.Errorf("asked %+v", r)
			}
		default:
			t.Errorf("a stream without a retention was trimmed: %+v", r)
		}
	}
}

func TestAStreamThatCannotBeTrimmedIsToldOnceAndStopsNoOther(t *testing.T) {
	f := &server{left: map[string]int64{"b": 50}, errs: map[string]error{
		"a": &broker.Error{Op: "trim", Kind: broker.ErrNoPermission},
		"c": &broker.Error{Op: "trim", Kind: broker.ErrUnavailable},
	}}
	keep := &spec.Retention{MaxLength: 1}
	events := run(f, &spec.Stream{Name: "a", Retention: keep}, &spec.Stream{Name: "c", Retention: keep}, &spec.Stream{Name: "b", Retention: keep})
	if !slices.Equal(events, []observe.EventName{observe.EventTrimRefused}) {
		t.Errorf("events %v, want one: a server that is away is the readers' to tell", events)
	}
	if f.left["b"] != 0 {
		t.Errorf("%d left of the stream that can be trimmed", f.left["b"])
	}
}
