package consumers_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/cmd/pipeline/internal/consumers"
	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/spec"
	"pipeline/tests/redistest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a group on a server.
type world struct {
	*redis.Broker

	t      *testing.T
	server *redistest.Server
	group  *spec.Group
}

// everyVersion runs a test with an empty group on each server version.
func everyVersion(t *testing.T, test func(w *world)) {
	t.Helper()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Shared(t, version)
			b, err := redis.Open(redis.Options{URL: s.URL()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = b.Close() })
			if _, err := b.CreateGroup(t.Context(), "in", "g", "0"); err != nil {
				t.Fatal(err)
			}
			test(&world{Broker: b, t: t, server: s, group: &spec.Group{Label: "g", Name: "g", Stream: &spec.Stream{Label: "in", Name: "in"}}})
		})
	}
}

func (w *world) consumer(names ...string) {
	w.t.Helper()
	for _, name := range names {
		w.server.CLI("XGROUP", "CREATECONSUMER", "in", "g", name)
	}
}

func (w *world) gives(name string) {
	w.t.Helper()
	w.server.CLI("XADD", "in", "*", "n", "1")
	w.server.CLI("XREADGROUP", "GROUP", "g", name, "COUNT", "1", "STREAMS", "in", ">")
}

func (w *world) look() []consumers.Consumer {
	w.t.Helper()
	list, exists, err := consumers.Look(w.t.Context(), w, w.group)
	if err != nil || !exists {
		w.t.Fatal(exists, err)
	}
	return list
}

// choose freezes what may be removed now.
func (w *world) choose(leftOut *deadletters.Counts) *consumers.Selection {
	s := &consumers.Selection{Pipeline: "p"}
	for _, c := range (consumers.Filter{}).Choose(w.look(), leftOut) {
		s.Chosen = append(s.Chosen, consumers.Chosen{Stream: "in", Group: "g", Consumer: c.Name})
	}
	return s
}

// Between the preview and the act one is given an entry and a process takes the name
// of another: both stay.
func TestWhoIsInUseByThenStays(t *testing.T) {
	everyVersion(t, func(w *world) {
		w.consumer("s-host-0.aaaa", "busy", "free")
		var leftOut deadletters.Counts
		s := w.choose(&leftOut)
		if len(s.Chosen) != 3 {
			w.t.Fatalf("chosen are %v", s.Chosen)
		}
		w.gives("busy")
		slot := broker.SlotRequest{Stream: "in", Group: "g", Base: "s-host", Token: "aaaa", TTL: time.Minute}
		if _, err := w.AcquireSlot(w.t.Context(), slot); err != nil {
			w.t.Fatal(err)
		}
		why := map[string]string{}
		got, err := consumers.Prune(w.t.Context(), w, s, func(c consumers.Chosen, reason string) { why[c.Consumer] = reason })
		if err != nil || got != (consumers.Result{Total: 3, Removed: 1, Kept: 2}) {
			w.t.Errorf("%+v, %v", got, err)
		}
		if why["busy"] != consumers.WhyHolds || why["s-host-0.aaaa"] != consumers.WhyAlive || len(why) != 2 {
			w.t.Errorf("kept for %q", why)
		}
		if left := w.look(); len(left) != 2 {
			w.t.Errorf("left are %+v", left)
		}
		pending, err := w.Pending(w.t.Context(), "in", "g", "busy", broker.ID{}, 10)
		if err != nil || len(pending) != 1 {
			w.t.Errorf("%d entries are pending, %v", len(pending), err)
		}
		if again := w.choose(&leftOut); len(again.Chosen) != 0 {
			w.t.Errorf("chosen again are %v", again.Chosen)
		}
	})
}

// A run that is broken off between two steps says what it left, and another one goes
// on.
func TestARunThatIsBrokenOffGoesOn(t *testing.T) {
	everyVersion(t, func(w *world) {
		const all = redis.MaxPrune + 30
		for i := range all {
			w.consumer(fmt.Sprintf("old-%03d", i))
		}
		s := w.choose(&deadletters.Counts{})
		ctx, cancel := context.WithCancel(w.t.Context())
		got, err := consumers.Prune(ctx, stopping{w, cancel}, s, func(consumers.Chosen, string) {})
		if !errors.Is(err, context.Canceled) || got != (consumers.Result{Total: all, Removed: redis.MaxPrune}) || got.Left() != 30 {
			w.t.Errorf("%+v, %v", got, err)
		}
		got, err = consumers.Prune(w.t.Context(), w, s, func(consumers.Chosen, string) {})
		if err != nil || got != (consumers.Result{Total: all, Removed: 30, Gone: redis.MaxPrune}) || got.Left() != 0 {
			w.t.Errorf("%+v, %v", got, err)
		}
		if left := w.look(); len(left) != 0 {
			w.t.Errorf("left are %+v", left)
		}
	})
}

// stopping is a server after whose first step a signal comes.
type stopping struct {
	consumers.Server
	stop func()
}

func (s stopping) PruneConsumers(ctx context.Context, stream, group string, names []string, idle time.Duration) ([]redis.Prune, error) {
	defer s.stop()
	return s.Server.PruneConsumers(ctx, stream, group, names, idle)
}

func TestConsumersOfAGroupThatIsGoneAreGone(t *testing.T) {
	everyVersion(t, func(w *world) {
		w.consumer("old")
		s := w.choose(&deadletters.Counts{})
		w.server.CLI("XGROUP", "DESTROY", "in", "g")
		got, err := consumers.Prune(w.t.Context(), w, s, func(consumers.Chosen, string) {})
		if err != nil || got != (consumers.Result{Total: 1, Gone: 1}) {
			w.t.Errorf("%+v, %v", got, err)
		}
		if _, exists, err := consumers.Look(w.t.Context(), w, w.group); exists || err != nil {
			w.t.Errorf("%v, %v", exists, err)
		}
	})
}

func TestASelectionComesBackAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chosen")
	s := &consumers.Selection{Pipeline: "p", Filter: "--all", Idle: 5, Chosen: []consumers.Chosen{{Stream: "in", Group: "g", Consumer: `<"odd">`}}}
	if err := s.Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := consumers.Open(path)
	if err != nil || got.Idle != 5 || len(got.Chosen) != 1 || got.Chosen[0] != s.Chosen[0] || got.Pipeline != "p" {
		t.Errorf("%+v, %v", got, err)
	}
}
