package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/codec"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// Config is what a Harness is made of.
type Config struct {
	// Pipeline is what to run. Required.
	Pipeline *spec.Pipeline
	// Handlers are the compiled handlers by their labels: one for each handler
	// that an enabled subscription uses. The harness does not close them.
	Handlers map[string]sandbox.Handler
	// Version is the version of Redis that the server plays, such as "8.2.0";
	// default the newest that memory knows.
	Version string
	// Start is where the clock stands at first; default DefaultStart.
	Start time.Time
	// Open makes another server than the one in memory, whose time is the clock's.
	// The harness closes it. Version is not used then.
	Open func(clock.Clock) (Server, error)
	// KeepLogs is the host that the handlers were compiled with, if what they
	// log is to be seen in their Calls.
	KeepLogs *engine.LogKeeper
	// Wrap, if set, stands between each worker, by its name, and the server: for
	// tests that have it go wrong in ways of their own. The harness asks once for
	// a worker "none" that never runs.
	Wrap func(worker string, server broker.Broker) broker.Broker
	// Monotonic gives the times of workers a monotonic reading beside that of the
	// wall clock, as those of processes have one. What they reckon then goes by it,
	// whatever Worker.Jump does to the wall clock. Without it there is one reading.
	Monotonic bool
	// Random returns the numbers in [0, 1) that spread retries and attempts to reach a
	// server that is away. Workers ask in the same order in every run, one at a time.
	// Default always 0.5, so that times are easy to reckon.
	Random func() float64
	// Patience is how long, in real time, the pipeline may take to come to rest
	// while the clock stands still; default 30s.
	Patience time.Duration
}

// Server is a server that a Harness can run on. What happens on it without time
// passing has happened when its operations return; its reads wait on the clock,
// as package clock's functions do.
type Server interface {
	broker.Broker
	// Disconnect ends all blocked reads with broker.ErrUnavailable, DisconnectIf
	// those of the owners for which match holds.
	Disconnect()
	DisconnectIf(match func(broker.Owner) bool)
}

// DefaultStart is where clocks stand at first: a fixed moment, so that entry ids
// are the same in every run.
var DefaultStart = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// DefaultPatience is that of a Config that names none.
const DefaultPatience = 30 * time.Second

// Harness is one pipeline with its server, its workers and its clock. It is
// used by one goroutine; Close it when done.
type Harness struct {
	cfg    Config
	server Server
	// time is the server's clock. Each worker has one of its own beside it, so
	// that the time of a dead one can run on alone.
	time    *clock.Virtual
	turns   *clock.Turns
	workers []*Worker
	// order is each subscription's place in the pipeline, by label; tokens are
	// the subscriptions by the last part of their consumers' names.
	order    map[string]int
	tokens   map[string]string
	decoders map[string]*codec.Decoder
	faults   []*armed
	// down keeps workers from the server; back ends it.
	down   bool
	back   clock.Timer
	calls  map[string][]*Call
	events []Event
	// broken: the last run gave up while something was still busy.
	broken bool
	// unchecked is why Close does not check; empty where it does.
	unchecked string
	// published is how many steps published something of an entry, by group.
	published map[*spec.Group]map[broker.ID]int
}

// New returns a harness without workers, on an empty server. It fails where no
// engine could be made of the configuration.
func New(cfg Config) (*Harness, error) {
	if cfg.Pipeline == nil {
		return nil, errors.New("harness: no pipeline")
	}
	if cfg.Version == "" {
		cfg.Version = memory.DefaultVersion
	}
	if err := memory.CheckVersion(cfg.Version); err != nil {
		return nil, fmt.Errorf("harness: server %w", err)
	}
	if cfg.Start.IsZero() {
		cfg.Start = DefaultStart
	}
	if cfg.Patience <= 0 {
		cfg.Patience = DefaultPatience
	}
	h := &Harness{
		cfg: cfg, time: clock.NewVirtual(cfg.Start), turns: clock.NewTurns(), order: map[string]int{},
		tokens: map[string]string{}, decoders: map[string]*codec.Decoder{}, calls: map[string][]*Call{},
		published: map[*spec.Group]map[broker.ID]int{},
	}
	for i, s := range cfg.Pipeline.Subscriptions() {
		h.order[s.Label] = i
	}
	for _, s := range h.streams() {
		d, err := codec.NewDecoder(s)
		if err != nil {
			return nil, fmt.Errorf("harness: %w", err)
		}
		h.decoders[s.Name] = d
	}
	var err error
	if h.server, err = cfg.open(h.time); err != nil {
		return nil, fmt.Errorf("harness: %w", err)
	}
	if _, err := h.newEngine(&Worker{harness: h, name: "none", machine: "none", pipeline: cfg.Pipeline}); err != nil {
		return nil, errors.Join(fmt.Errorf("harness: %w", err), h.server.Close())
	}
	return h, nil
}

// open makes the server.
func (cfg *Config) open(c clock.Clock) (Server, error) {
	if cfg.Open != nil {
		return cfg.Open(c)
	}
	return memory.New(c, memory.Options{Version: cfg.Version}), nil
}

// streams are those that the pipeline names or makes up.
func (h *Harness) streams() []*spec.Stream {
	streams := slices.Clone(h.cfg.Pipeline.Streams)
	add := func(s *spec.Stream) {
		if s != nil && !slices.Contains(streams, s) {
			streams = append(streams, s)
		}
	}
	for _, g := range h.cfg.Pipeline.Groups {
		add(g.Stream)
		add(g.DeadLetter)
		for _, s := range g.Subscriptions {
			if s.Reply != nil {
				add(s.Reply.To)
			}
			for _, r := range s.Routes {
				add(r.To)
			}
		}
	}
	return streams
}

// Now is where the clock stands.
func (h *Harness) Now() time.Time { return h.time.Now() }

// Server is the server in memory, for what a test does to it as another client
// or an operator: delete, destroy groups, look. Its operations act at once; call
// Settle after them. It is nil where Config.Open made another one.
func (h *Harness) Server() *memory.Broker {
	server, _ := h.server.(*memory.Broker)
	return server
}

// Publish appends entries as a producer does and returns their ids. Before the
// first Start they are there before the service. Producers reach the server even
// while ServerDown keeps the workers from it. Workers see the entries at the
// next Settle or Advance.
func (h *Harness) Publish(adds ...broker.Add) ([]broker.ID, error) {
	return h.server.Add(context.Background(), adds)
}

// Start starts a worker process and runs it until it rests. It fails with what
// the engine's Run returned if that ended at once: an *engine.UnsuitableError
// where the server lacks what the pipeline asks for. Several workers share the
// work as processes on machines of their own do.
func (h *Harness) Start(ctx context.Context) (*Worker, error) {
	return h.StartOn(ctx, "worker"+strconv.Itoa(len(h.workers)+1))
}

// StartOn is Start on the machine with that name, which is part of consumer
// names. A worker on the machine of one that is gone, whose lease has run out,
// takes over what that one left: at once where nobody claims, else what has been
// idle for min_idle.
func (h *Harness) StartOn(ctx context.Context, machine string) (*Worker, error) {
	return h.StartVersion(ctx, machine, h.cfg.Pipeline)
}

// StartVersion is StartOn with another version of the pipeline: one that differs
// in settings, not in its streams and in the labels of its subscriptions, as
// while a new version is rolled out.
func (h *Harness) StartVersion(ctx context.Context, machine string, p *spec.Pipeline) (*Worker, error) {
	w := &Worker{
		harness: h, number: len(h.workers) + 1, name: "worker" + strconv.Itoa(len(h.workers)+1), machine: machine, pipeline: p,
		clock: clock.NewVirtual(h.Now()), consumers: map[string]string{}, open: map[callKey]*Call{}, received: map[string]int64{}, last: map[callKey]bool{},
	}
	run, err := h.newEngine(w)
	if err != nil {
		return nil, err
	}
	w.engine = run
	life, end := context.WithCancel(context.WithValue(context.Background(), workerKey{}, w))
	w.end = end
	life = h.turns.Context(life)
	h.workers = append(h.workers, w)
	h.turns.Go(w.name, func() {
		w.err = run.Run(life)
		w.ended = true
	})
	if err := h.Settle(ctx); err != nil {
		return nil, err
	}
	if w.ended && w.err != nil && !w.crashed {
		return nil, w.err
	}
	return w, nil
}

// Revive starts a worker for each one that crashed and was not replaced yet, and
// returns them.
func (h *Harness) Revive(ctx context.Context) ([]*Worker, error) {
	var fresh []*Worker
	for _, w := range slices.Clone(h.workers) {
		if !w.crashed || w.replaced {
			continue
		}
		w.replaced = true
		next, err := h.Start(ctx)
		if err != nil {
			return fresh, err
		}
		fresh = append(fresh, next)
	}
	return fresh, nil
}

// Settle runs everything that happens without time passing. It fails when that
// does not end within Config.Patience or when ctx is done, and says what was
// still busy.
func (h *Harness) Settle(ctx context.Context) error { return h.run(ctx, func() bool { return false }) }

// run runs everything that happens until the clock would have to be moved, and
// goes on while pass does that.
func (h *Harness) run(ctx context.Context, pass func() bool) error {
	err := h.turns.Run(ctx, h.cfg.Patience, func() bool {
		if dying := h.dying(); dying != nil {
			return dying.clock.AdvanceToNext(dying.clock.Now().Add(forever))
		}
		return pass()
	})
	h.broken = err != nil
	if err != nil {
		return fmt.Errorf("harness: %v after the start: %w", h.Now().Sub(h.cfg.Start), err)
	}
	if dying := h.dying(); dying != nil {
		return fmt.Errorf("harness: crashed %s does not end: %s", dying.name, strings.Join(h.turns.Names(), ", "))
	}
	return nil
}

// dying is a crashed worker whose goroutines have not come to their end, for
// which its own time runs on; nil when there is none.
func (h *Harness) dying() *Worker {
	for _, w := range h.workers {
		if w.crashed && !w.ended {
			return w
		}
	}
	return nil
}

// forever is longer than anything that an engine waits for.
const forever = 100 * 365 * 24 * time.Hour

// Advance moves the clock by d. Before it moves, and after each timer on the
// way, everything is run that happens without time passing.
func (h *Harness) Advance(ctx context.Context, d time.Duration) error {
	limit := h.Now().Add(max(d, 0))
	return h.run(ctx, func() bool { return h.fire(limit) })
}

// fire moves all clocks to the earliest timer that is due by limit, fires it
// and reports whether there was one; else they move to limit. Of timers due at
// the same time the server's are the first, then those of the workers in order.
func (h *Harness) fire(limit time.Time) bool {
	first, at := (*clock.Virtual)(nil), limit
	look := func(c *clock.Virtual) {
		if due, ok := c.Next(); ok && (due.Before(at) || first == nil && !due.After(at)) {
			first, at = c, due
		}
	}
	look(h.time)
	for _, w := range h.workers {
		if !w.ended && !w.stalled {
			look(w.clock)
		}
	}
	h.time.MoveTo(at)
	for _, w := range h.workers {
		if !w.ended && !w.stalled {
			w.clock.MoveTo(at)
		}
	}
	return first != nil && first.AdvanceToNext(at)
}

// Stop drains all workers, as a signal does, and returns what their Run said:
// an *engine.LeftError where something was left pending. Time passes if
// handlers need it.
func (h *Harness) Stop(ctx context.Context) error {
	var errs []error
	var stopping []*Worker
	for _, w := range h.workers {
		if !w.ended {
			w.end()
			stopping = append(stopping, w)
		}
	}
	for _, w := range stopping {
		errs = append(errs, w.Stop(ctx))
	}
	return errors.Join(errs...)
}

// Unchecked keeps Close from checking, because the caller has made the server and
// the workers disagree: it says how. Without a reason Close checks.
func (h *Harness) Unchecked(reason string) { h.unchecked = reason }

// Close checks the state (see Check), kills what still runs and frees everything.
// Nothing of the harness may be used afterwards but what it returned before. An
// error says what does not agree, or names a goroutine that does not end.
func (h *Harness) Close() error {
	if h.broken {
		// Nothing can be done to workers while one of their goroutines runs.
		if err := h.Settle(context.Background()); err != nil {
			return err
		}
	}
	var disagreement error
	if h.unchecked == "" {
		if err := h.Check(); err != nil {
			disagreement = fmt.Errorf("harness: at the end: %w", err)
		}
	}
	for _, w := range h.workers {
		if !w.ended {
			w.die()
		}
	}
	return errors.Join(disagreement, h.Settle(context.Background()), h.server.Close())
}
