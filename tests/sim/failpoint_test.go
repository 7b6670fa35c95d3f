package sim

import (
	"maps"
	"slices"
	"sync"
	"time"

	"pgregory.net/rapid"
)

// step is where in an operation something goes wrong.
type step string

// The steps. All operations have the first two, a settlement has the others too.
const (
	// unsent: the server never hears of it.
	unsent step = "before it is sent"
	// unanswered: the server does it, and its answer does not arrive.
	unanswered step = "before it is answered"
	// refused: the server takes all but one outcome.
	refused step = "partly refused"
	// split: what is sent in several parts arrives in part.
	split step = "between its parts"
	// remembered: entries are acknowledged, their records not yet dropped.
	remembered step = "before records are forgotten"
)

// effect is what goes wrong there.
type effect string

// The effects.
const (
	// breaks: the connection breaks.
	breaks effect = "breaks"
	// crashes: the worker dies.
	crashes effect = "crashes"
	// stalls: the worker stands still, and goes on with the operation afterwards.
	stalls effect = "stalls"
	// restarts: the server goes away with all connections, and is back at once.
	restarts effect = "restarts"
)

var effects = []effect{breaks, breaks, crashes, stalls, restarts}

// failpoint is a place in what a worker and the server say to each other.
type failpoint struct {
	Op   string
	Step step
}

func (f failpoint) String() string { return f.Op + " " + string(f.Step) }

// operations are all that a worker asks the server for.
var operations = []string{
	"create group", "save floor", "restore group", "read", "autoclaim", "take over", "admit", "look up marks", "begin", "renew", "hand back",
	"settle", "acquire slot", "renew slot", "release slot", "remove consumer", "publish unfenced", "list pending", "read records", "list consumers",
	"look at backlog",
}

// failpoints are all there are. TestHistories fails if one of them is not reached.
var failpoints = func() (all []failpoint) {
	for _, op := range operations {
		all = append(all, failpoint{op, unsent}, failpoint{op, unanswered})
	}
	return append(all, failpoint{"settle", refused}, failpoint{"settle", split}, failpoint{"settle", remembered})
}()

// weighted are the failpoints as they are drawn: those that are seldom passed by
// more often than others.
var weighted = func() (all []failpoint) {
	often := map[string]int{
		"restore group": 6, "publish unfenced": 40, "read records": 10, "hand back": 12, "begin": 3, "list pending": 2, "settle": 4,
		"look at backlog": 3, "release slot": 3, "list consumers": 2,
	}
	for _, f := range failpoints {
		n := max(1, often[f.Op])
		if f.Step == remembered {
			n *= 4
		}
		for range n {
			all = append(all, f)
		}
	}
	return all
}()

// hitch has something go wrong at a failpoint, Times times for whoever comes by.
type hitch struct {
	At     failpoint
	Effect effect
	Times  int
	// For is how long a worker stands still.
	For time.Duration
}

func drawHitch(t *rapid.T) hitch {
	h := hitch{
		At: one(t, weighted, "failpoint"), Effect: one(t, effects, "effect"),
		Times: between(t, 1, 3, "times"),
	}
	switch h.Effect {
	case crashes:
		h.Times = 1
	case stalls:
		h.Times, h.For = 1, drawTime(t)
	}
	return h
}

// tally counts what histories came by. It is safe for concurrent use, and may be
// nil.
type tally struct {
	mu     sync.Mutex
	counts map[string]int
}

func (t *tally) add(what string, n int) {
	if t == nil || n == 0 {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int{}
	}
	t.counts[what] += n
}

func (t *tally) of(what string) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.counts[what]
}

// names are all that was counted, in order.
func (t *tally) names() []string { return slices.Sorted(maps.Keys(t.counts)) }
