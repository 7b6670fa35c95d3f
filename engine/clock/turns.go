package clock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// Turns runs goroutines one at a time, in an order that is the same in every
// run. Only who has the turn runs; it gives the turn up when it waits, and the
// next one is chosen among those whose wait is over, by rank and then in the
// order in which they were started. When nobody can go on, everything rests:
// the moment at which a Virtual clock may be moved.
//
// Goroutines take part when they are started with Go or by a Group whose
// context came from Context, and wait only through this package: Until, Wait,
// Sleep, Nap, Yield, Group and Mutex. Code that uses those is not changed by
// them where its context has no turns: they then wait as channels and mutexes
// do.
//
// Run, Go and Names are called by the goroutine that owns the Turns, while
// Run is not running; Go also by whoever has the turn.
type Turns struct {
	// All fields but the atomic ones belong to who has the turn, or to the owner
	// while nobody has.
	runners []*runner
	// frozen are the first names of those who do not get the turn.
	frozen map[string]bool
	steps  int
	// atRest is that of the Run under way.
	atRest func() bool
	// rest tells the owner that nobody has the turn any more.
	rest chan struct{}
	// out: the turn is given away.
	out   bool
	timer *time.Timer

	current atomic.Pointer[runner]
	// halt makes the next who gives up the turn give it to the owner.
	halt atomic.Bool
	// rests counts what atRest made happen.
	rests atomic.Int64
}

// runner is a goroutine that takes part.
type runner struct {
	name string
	// root is the name of the first of those who started it, one another.
	root  string
	turn  chan struct{}
	ready func() bool
	rank  Rank
}

// Rank orders those who could go on; the zero Rank is the first. Later puts
// what should wait for everything else behind it, First to Third order equals.
type Rank struct {
	Later                int
	First, Second, Third uint64
}

// The values of Later that this module uses.
const (
	// LaterCall is for handlers that are about to be called: all entries that
	// can be, have been brought to their workers by then.
	LaterCall = 1 + iota
	// LaterSettle is for settlements: all handlers that can run have run.
	LaterSettle
)

func (r Rank) less(o Rank) bool {
	switch {
	case r.Later != o.Later:
		return r.Later < o.Later
	case r.First != o.First:
		return r.First < o.First
	case r.Second != o.Second:
		return r.Second < o.Second
	}
	return r.Third < o.Third
}

// maxTurns bounds one Run: more turns without rest are a loop that never ends.
const maxTurns = 2_000_000

// ErrBusy says that there was no rest within the time or the turns given.
var ErrBusy = errors.New("it does not come to rest")

// NewTurns returns turns that nobody takes part in yet.
func NewTurns() *Turns {
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &Turns{rest: make(chan struct{}, 1), timer: timer}
}

type turnsKey struct{}

// Context returns a context whose goroutines take part.
func (t *Turns) Context(ctx context.Context) context.Context {
	return context.WithValue(ctx, turnsKey{}, t)
}

// TurnsOf returns the turns of a context, or nil. The methods Until and Yield
// may be called on nil.
func TurnsOf(ctx context.Context) *Turns {
	t, _ := ctx.Value(turnsKey{}).(*Turns)
	return t
}

// Go starts a goroutine that takes part. It first runs when it gets the turn.
// Its name, for messages, is appended to that of the goroutine that starts it.
func (t *Turns) Go(name string, f func()) {
	root := name
	if parent := t.current.Load(); parent != nil {
		name, root = parent.name+"/"+name, parent.root
	}
	r := &runner{name: name, root: root, turn: make(chan struct{}, 1), ready: always}
	t.runners = append(t.runners, r)
	go func() {
		<-r.turn
		f()
		i := slices.Index(t.runners, r)
		t.runners = slices.Delete(t.runners, i, i+1)
		t.pass()
	}()
}

func always() bool { return true }

// Freeze keeps the goroutine with that name, and all that it started, from
// getting the turn until Thaw, as the machine does with a process that is
// stopped. Who has the turn keeps it until it waits. Both are called by who may
// call Go, or by the atRest of a Run.
func (t *Turns) Freeze(name string) {
	if t.frozen == nil {
		t.frozen = map[string]bool{}
	}
	t.frozen[name] = true
}

// Thaw ends Freeze.
func (t *Turns) Thaw(name string) { delete(t.frozen, name) }

// Until waits until ready holds and it is this goroutine's turn. When ready
// holds already, the goroutine keeps the turn. ready is called by whoever has
// the turn; it must be quick and change nothing.
func (t *Turns) Until(ready func() bool) {
	if t != nil && !ready() {
		t.wait(Rank{}, ready)
	}
}

// Yield lets everybody with a lower rank go on first.
func (t *Turns) Yield(rank Rank) {
	if t != nil {
		t.wait(rank, always)
	}
}

func (t *Turns) wait(rank Rank, ready func() bool) {
	r := t.current.Load()
	r.rank, r.ready = rank, ready
	t.pass()
	<-r.turn
}

// pass gives the turn to the next, or back to the owner.
func (t *Turns) pass() {
	t.steps--
	if t.steps > 0 && !t.halt.Load() {
		if next := t.goOn(); next != nil {
			t.current.Store(next)
			next.turn <- struct{}{}
			return
		}
	}
	t.current.Store(nil)
	t.rest <- struct{}{}
}

// goOn is who goes on now or after something happened at rest; nil when nothing
// more happens.
func (t *Turns) goOn() *runner {
	for {
		if next := t.next(); next != nil {
			return next
		}
		if t.halt.Load() || t.atRest == nil || !t.atRest() {
			return nil
		}
		t.steps = maxTurns
		t.rests.Add(1)
	}
}

// next is who goes on, nil at rest.
func (t *Turns) next() *runner {
	var best *runner
	for _, r := range t.runners {
		if len(t.frozen) > 0 && t.frozen[r.root] {
			continue
		}
		if (best == nil || r.rank.less(best.rank)) && r.ready() {
			best = r
			if r.rank == (Rank{}) {
				break
			}
		}
	}
	return best
}

// Run gives turns until everything rests. Then it calls atRest, unless that is
// nil, and goes on while that reports that it made something happen, such as
// moving a clock. atRest is called by whoever had the turn last.
//
// Run fails with ErrBusy when there is no rest for longer than within, on the
// machine's clock, or never seems to be, and with ctx's error when that is
// done. A goroutine that still has the turn then keeps it until it waits; the
// next Run goes on from there.
func (t *Turns) Run(ctx context.Context, within time.Duration, atRest func() bool) error {
	t.halt.Store(false)
	t.timer.Reset(within)
	defer t.timer.Stop()
	rests := t.rests.Load()
	for begun := false; ; {
		if !t.out {
			t.atRest = atRest
			if !begun {
				t.steps, begun = maxTurns, true
			}
			next := t.goOn()
			switch {
			case next == nil:
				return nil
			case t.steps <= 0:
				return fmt.Errorf("%w: after %d turns, time standing still, %s would go on", ErrBusy, maxTurns, next.name)
			}
			t.out = true
			t.current.Store(next)
			next.turn <- struct{}{}
		}
		select {
		case <-t.rest:
			t.out = false
		case <-t.timer.C:
			if now := t.rests.Load(); now != rests {
				rests = now
				t.timer.Reset(within)
				continue
			}
			return t.giveUp(fmt.Errorf("%w within %v", ErrBusy, within))
		case <-ctx.Done():
			return t.giveUp(ctx.Err())
		}
	}
}

// giveUp stops waiting for the turn.
func (t *Turns) giveUp(err error) error {
	t.halt.Store(true)
	if busy := t.current.Load(); busy != nil {
		err = fmt.Errorf("%w: %s runs", err, busy.name)
	}
	return err
}

// Names are those who take part, in the order of their start: at rest, who
// waits.
func (t *Turns) Names() []string {
	names := make([]string, len(t.runners))
	for i, r := range t.runners {
		names[i] = r.name
	}
	return names
}
