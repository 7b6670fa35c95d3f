package lane_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/lane"
)

// team is two lanes, the first of which runs an entry that does not end before the
// test says so. The second one's runs are told by its channel.
type team struct {
	clock    *clock.Virtual
	out      chan batch.Share
	draining atomic.Bool
	lanes    []*lane.Lane
	hangs    chan struct{}
	release  chan struct{}
	helped   chan broker.ID
	ran      sync.WaitGroup
	// late are what the first lane ran after the entry that hung.
	late []broker.ID
}

// newTeam has the first lane run entry 1 of a share of entries with these keys.
func newTeam(t *testing.T, keys ...string) *team {
	m := &team{
		clock: clock.NewVirtual(time.Unix(0, 0)), out: make(chan batch.Share, 100),
		hangs: make(chan struct{}), release: make(chan struct{}), helped: make(chan broker.ID),
	}
	slow := &runner{body: func(_ context.Context, it *batch.Item) bool {
		if it.Delivery.ID != id(1) {
			m.late = append(m.late, it.Delivery.ID)
			return true
		}
		close(m.hangs)
		<-m.release
		return true
	}}
	other := &runner{body: func(_ context.Context, it *batch.Item) bool {
		m.helped <- it.Delivery.ID
		return true
	}}
	for _, r := range []*runner{slow, other} {
		m.lanes = append(m.lanes, lane.New(m.clock, r, m.out, &m.draining))
	}
	for i, l := range m.lanes {
		l.Join(&gate{}, m.lanes, i)
		m.ran.Go(func() { l.Run(context.Background()) })
	}
	m.send(1, keys...)
	<-m.hangs
	t.Cleanup(func() {
		m.draining.Store(true)
		for _, l := range m.lanes {
			l.Close()
		}
		m.ran.Wait()
		for i, l := range m.lanes {
			if n := l.Depth(); n != 0 {
				t.Errorf("lane %d has %d entries when all is handed on", i, n)
			}
		}
	})
	return m
}

// send gives the first lane entries with ids from first on.
func (m *team) send(first int, keys ...string) {
	b := batch.Get(len(keys))
	for i, key := range keys {
		it := b.Grow()
		it.Delivery.ID, it.Key = id(first+i), key
	}
	b.Split(1, 0, false, func(_ int, s batch.Share) { m.lanes[0].Send(context.Background(), s) })
}

// helps expects that the second lane runs these, in any order.
func (m *team) helps(t *testing.T, want ...broker.ID) {
	t.Helper()
	var got []broker.ID
	for range want {
		select {
		case id := <-m.helped:
			got = append(got, id)
		case <-time.After(time.Minute):
			t.Fatalf("the lane that is free ran %v, want %v", got, want)
		}
	}
	if slices.SortFunc(got, broker.ID.Compare); !slices.Equal(got, want) {
		t.Fatalf("the lane that is free ran %v, want %v", got, want)
	}
}

func TestWhatHasNoKeyDoesNotWaitForAnEntryThatHangs(t *testing.T) {
	m := newTeam(t, "", "a", "", "", "b", "")
	m.send(7, "", "a")
	m.clock.Advance(lane.Flush)
	m.helps(t, id(3), id(4), id(6), id(7))
	m.send(9, "b", "", "") // what comes later, too, without a clock
	m.helps(t, id(10), id(11))
	close(m.release)
	for n := 0; n < 11; {
		n += (<-m.out).Len()
	}
	if want := []broker.ID{id(2), id(5), id(8), id(9)}; !slices.Equal(m.late, want) {
		t.Errorf("the lane of the keys ran %v, want %v", m.late, want)
	}
}

// Quick entries stay where they are: to move them would cost more than to run them.
func TestWhatIsQuickIsNotMoved(t *testing.T) {
	m := newTeam(t, "", "", "")
	m.clock.Advance(lane.Flush - 1)
	m.lanes[1].Wake()
	close(m.release)
	for n := 0; n < 3; {
		n += (<-m.out).Len()
	}
	if want := []broker.ID{id(2), id(3)}; !slices.Equal(m.late, want) {
		t.Errorf("the lane ran %v, want %v", m.late, want)
	}
}

// A drain hands back what is queued behind the entry that hangs; nobody starts it.
func TestADrainIsNotHelped(t *testing.T) {
	m := newTeam(t, "", "", "")
	m.draining.Store(true)
	m.clock.Advance(lane.Flush)
	m.lanes[0].Drain(context.Background())
	if s := <-m.out; s.Len() != 2 || s.At(0).Action.Verb != batch.Release {
		t.Errorf("%d entries are handed on, the first one %v", s.Len(), s.At(0).Action.Verb)
	}
	close(m.release)
	if s := <-m.out; s.At(0).Delivery.ID != id(1) {
		t.Errorf("%v is handed on", s.At(0).Delivery.ID)
	}
}
