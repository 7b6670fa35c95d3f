package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/cmd/pipeline/internal/waiting"
	"pipeline/cmd/pipeline/internal/web"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// devFlags are the flags of dev.
type devFlags struct {
	input, stream string
	follow        bool
	ui            uiFlags
}

func (a *app) devCommand() *cobra.Command {
	var flags devFlags
	cmd := &cobra.Command{
		Use:   "dev PATH --input FILE",
		Short: "Run a pipeline without a server on the entries of a file, showing each outcome",
		Long: "dev runs the same engine as run, on a broker inside this process, feeds it the entries of a file and prints each\n" +
			"outcome as it is settled. Changed handler scripts are taken while it runs. It ends when nothing is running or\n" +
			"runnable now and says what still waits; with --follow it runs on until a signal, and serves a page at\n" +
			"http://127.0.0.1:9631 meanwhile.",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.dev(cmd, args[0], flags) },
	}
	cmd.Flags().StringVar(&flags.input, "input", "", "read entries from a `FILE`; - is stdin")
	cmd.Flags().StringVar(&flags.stream, "stream", "", "each line is a body for the stream `NAME`")
	cmd.Flags().BoolVar(&flags.follow, "follow", false, "run on until a signal")
	flags.ui.register(cmd, web.Default)
	return cmd
}

func (a *app) dev(cmd *cobra.Command, path string, flags devFlags) error {
	if flags.input == "" && !flags.follow {
		return usage(cmd, "dev needs --input FILE, the entries to run, or --follow, to run on until a signal")
	}
	if err := flags.ui.check(cmd); err != nil {
		return err
	}
	if !flags.follow && !flags.ui.asked {
		flags.ui.listen = uiOff // it would be gone before anybody looks
	}
	p, err := a.load(cmd, path)
	if err != nil {
		return err
	}
	o := inputOptions{path: flags.input}
	if flags.stream != "" {
		if o.target, err = findStream(cmd, p, "stream", flags.stream); err != nil {
			return err
		}
	}
	ctx, stop := a.untilSignal(cmd.Context(), func(os.Signal) {})
	defer stop()
	var in *inputFile
	if flags.input != "" {
		if in, err = a.openInput(ctx, cmd, p, o); err != nil {
			return err
		}
		in.watch(p)
		defer in.close()
	}
	a.view.Live()
	d := &devRun{a: a, pipeline: p, broker: build.Memory(a.clock), in: in, follow: flags.follow, ui: uiOf{flags: flags.ui, path: path, mode: "dev"}}
	return d.run(ctx)
}

// devRun is one run of dev.
type devRun struct {
	a        *app
	pipeline *spec.Pipeline
	broker   *memory.Broker
	// in is nil without an input.
	in     *inputFile
	follow bool
	ui     uiOf
	out    *view.Live
	// rests: everything that could be done is done.
	rests bool
}

// run runs the engine until the input has been worked off, or until ctx is done.
func (d *devRun) run(ctx context.Context) error {
	logs := &engine.LogKeeper{}
	handlers, err := build.Compile(d.pipeline, logs)
	if err != nil {
		return err
	}
	out := d.a.view.Observer(d.pipeline)
	d.ui.server, d.ui.handlers, d.ui.journal = d.broker, handlers, web.NewJournal(out)
	log := d.a.view.Logger(slog.LevelInfo)
	o := d.a.observeQuietly(d.pipeline, d.broker, log, d.ui.journal)
	defer o.export(ctx, true)()
	eng, err := engine.New(engine.Config{
		Pipeline: d.pipeline, Broker: d.broker, Handlers: o.Handlers(handlers.ByLabel()), Clock: d.a.clock, Observer: o, Tracer: o.exports.Tracer(), KeepLogs: logs,
	})
	if err != nil {
		return fail(exitUsage, "not_available", err.Error())
	}
	end, err := d.a.serveRun(ctx, o, d.ui, eng)
	if err != nil {
		return errors.Join(err, handlers.Close())
	}
	watch, err := d.a.watchScripts(d.pipeline, handlers, d.reload(eng, o))
	if err != nil {
		end()
		return err
	}
	if d.follow {
		d.a.view.Note("running " + d.pipeline.Name + " on a broker inside this process; changed scripts are taken; an interrupt ends it")
	}
	d.out = out
	ran, failed := d.runEngine(ctx, eng)
	end()
	watch.close()
	waiting, err := d.waiting(out)
	out.Summary(d.entries(), waiting)
	if d.in != nil {
		failed = errors.Join(failed, d.in.result())
	}
	return errors.Join(ran, failed, err, handlers.Close(), d.broker.Close())
}

func (d *devRun) entries() int64 {
	if d.in == nil {
		return 0
	}
	return d.in.entries.Load()
}

// runEngine runs the engine and feeds it: ran is the engine's error, fed that
// of feeding it.
func (d *devRun) runEngine(ctx context.Context, eng *engine.Engine) (ran, fed error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var feeding sync.WaitGroup
	feeding.Go(func() {
		if fed = d.feed(ctx, eng); fed != nil || !d.follow {
			cancel()
			eng.HandBack() // nobody makes room any more
		}
	})
	ran = eng.Run(ctx)
	cancel()
	feeding.Wait()
	if _, left := errors.AsType[*engine.LeftError](ran); left && d.rests {
		ran = nil // it waits for room, and is told as what waits
	}
	return ran, fed
}

// feed adds the input to the streams and waits until all of it is worked off.
func (d *devRun) feed(ctx context.Context, eng *engine.Engine) error {
	select {
	case <-eng.Ready():
	case <-ctx.Done():
		return nil
	}
	if d.in != nil {
		if err := d.add(ctx); err != nil {
			return err
		}
	}
	if !d.follow {
		d.untilIdle(ctx, eng)
	}
	return nil
}

const (
	// devBatch is how many entries are added at a time.
	devBatch = 200
	// lookIdle is the time between two looks at whether anything runs.
	lookIdle = 5 * time.Millisecond
)

// add adds the entries of the input, in batches while they are there and at once
// where more of them have to be waited for.
func (d *devRun) add(ctx context.Context) error {
	var adds []broker.Add
	var failed error
	flush := func() {
		if len(adds) == 0 || failed != nil {
			return
		}
		_, failed = d.broker.Add(ctx, adds)
		adds = adds[:0]
	}
	d.in.reader.BeforeWait(flush)
	for ctx.Err() == nil && failed == nil {
		_, stream, fields, ok := d.in.next()
		if !ok {
			break
		}
		adds = append(adds, broker.Add{Stream: stream.Name, Fields: fields})
		if len(adds) >= devBatch {
			flush()
		}
	}
	if ctx.Err() == nil {
		flush()
	}
	if ctx.Err() != nil {
		failed = nil // it was stopped, which is no failure
	}
	return failed
}

// untilIdle waits until nothing runs and nothing can run now.
func (d *devRun) untilIdle(ctx context.Context, eng *engine.Engine) {
	for !eng.Idle(d.broker.Blocked) {
		if clock.Sleep(ctx, d.a.clock, lookIdle) != nil {
			return
		}
	}
	d.rests = true
}

// reload takes new code and says so.
func (d *devRun) reload(eng *engine.Engine, o *observed) reload {
	return reload{
		replace: func(label string, h sandbox.Handler) error { return eng.Replace(label, o.Handler(label, h)) }, // which is an event, and printed as such
		refused: func(h *spec.Handler, err error) {
			d.a.view.Remark("handler.refused", sandbox.Error, "handler "+h.Label+" runs on with the code before: "+err.Error())
		},
	}
}

// waiting is what the groups still hold.
func (d *devRun) waiting(out *view.Live) ([]view.Waiting, error) {
	var all []view.Waiting
	now := d.a.clock.Now()
	for _, g := range d.pipeline.Groups {
		if len(g.Subscriptions) == 0 {
			continue
		}
		var first *view.PendingEntry
		look := waiting.Walk{Broker: d.broker, Limit: maxWaiting, Now: now, Each: func(e view.PendingEntry) { first = firstDue(first, e) }}
		listed, err := look.Group(context.Background(), g)
		if err != nil {
			return nil, err
		}
		if first == nil {
			continue
		}
		w := view.Waiting{Group: g.Label, Stream: g.Stream.Name, Entries: listed.Total}
		w.Until, w.In, w.Why = first.Due, first.In, first.Error
		if w.Why == "" {
			w.Why = out.Why(g, first.ID)
		}
		all = append(all, w)
	}
	return all, nil
}

// maxWaiting is how many waiting entries of a group are looked through for the
// first that comes back.
const maxWaiting = 100_000

// firstDue is the entry that comes back first. Those that nothing brings back
// come last, and last of all those that were not run yet: they are held behind
// others of their key.
func firstDue(first *view.PendingEntry, e view.PendingEntry) *view.PendingEntry {
	switch {
	case first == nil:
		return &e
	case (first.Deliveries > 0) != (e.Deliveries > 0):
		if e.Deliveries > 0 {
			return &e
		}
	case !e.Due.IsZero() && (first.Due.IsZero() || e.Due.Before(first.Due)):
		return &e
	}
	return first
}
