package cli

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/metrics"
	"pipeline/cmd/pipeline/internal/ops"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/cmd/pipeline/internal/web"
	"pipeline/engine"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// runFlags are the flags of run.
type runFlags struct {
	watch bool
	level string
	// seek are groups to move before anything is read; yes lets them pass over entries.
	seek []string
	yes  bool
	ops  opsFlags
	ui   uiFlags
}

func (a *app) runCommand() *cobra.Command {
	var flags runFlags
	cmd := &cobra.Command{
		Use:   "run PATH",
		Short: "Run a pipeline on its server until a signal",
		Long: "run consumes until SIGINT or SIGTERM. The first signal drains: nothing more is read, what has not started is\n" +
			"handed back, running handlers get the pipeline's drain_timeout. The second stops at once.\n" +
			"A server that is away, at the start or later, is waited for. Logs go to stderr.\n\n" +
			"--seek moves a group before anything is read, each time that run is started so; once, and with a look at\n" +
			"what it comes to, pipeline seek does it.\n" + positionDoc + "\n" +
			"Where entries would be passed over that nobody was given, it needs --yes.",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.run(cmd, args[0], flags) },
	}
	cmd.Flags().BoolVar(&flags.watch, "watch", false, "take handler scripts that change; one that does not compile keeps the old code")
	cmd.Flags().StringArrayVar(&flags.seek, "seek", nil, "first move a group of the pipeline: `GROUP=POSITION`; may repeat")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "with --seek: pass over entries that nobody was given")
	flags.ops.register(cmd)
	flags.ui.register(cmd, uiOff)
	cmd.Flags().StringVar(&flags.level, "log-level", "info", "log from this `LEVEL` on: debug, info, warn, error")
	return cmd
}

func (a *app) run(cmd *cobra.Command, path string, flags runFlags) error {
	if err := oneOf(cmd, "log-level", flags.level, "debug", "info", "warn", "error"); err != nil {
		return err
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(flags.level)); err != nil {
		return usage(cmd, "--log-level: %v", err)
	}
	if err := flags.ui.check(cmd); err != nil {
		return err
	}
	p, err := a.loadServed(cmd, path)
	if err != nil {
		return err
	}
	targets, err := a.parseTargets(cmd, p, flags)
	if err != nil {
		return err
	}
	server, err := a.openServer(p)
	if err != nil {
		return err
	}
	a.view.Live()
	log := a.view.Logger(level)
	moves := &seeking{a: a, pipeline: p, server: server, log: log, targets: targets, skip: flags.yes}
	err = a.consume(cmd, p, log, flags, uiOf{flags: flags.ui, path: path, mode: "run", server: server}, moves.move)
	return errors.Join(err, server.Close())
}

// consume runs the pipeline on the server until a signal. First is done before anything
// is read.
func (a *app) consume(
	cmd *cobra.Command, p *spec.Pipeline, log *slog.Logger, flags runFlags, ui uiOf, first func(context.Context) error,
) error {
	handlers, err := build.Compile(p, build.LogHost(log))
	if err != nil {
		return err
	}
	server := ui.server
	failures := view.NewFailures(log, a.clock, p)
	ui.handlers, ui.journal = handlers, web.NewJournal(failures)
	o := a.observe(cmd, flags.ops, p, server, log, ui.journal)
	defer o.export(cmd.Context(), true)()
	eng, err := engine.New(engine.Config{
		Pipeline: p, Broker: o.Broker(server), Handlers: o.Handlers(handlers.ByLabel()), Clock: a.clock, Logger: log,
		Observer: o, Tracer: o.exports.Tracer(), BeforeReading: first,
	})
	if err != nil {
		return fail(exitUsage, "not_available", err.Error())
	}
	ctx, stop := a.untilSignal(cmd.Context(), func(s os.Signal) {
		o.SetState(metrics.Draining)
		log.Info("stopping: what runs is finished, the rest is handed back; a second signal stops at once",
			slog.String("event", "process.stopping"), slog.String("signal", s.String()))
	})
	defer stop()
	end, err := a.serveRun(ctx, o, ui, eng)
	if err != nil {
		return errors.Join(err, handlers.Close())
	}
	defer end()
	if flags.watch {
		w, err := a.watchScripts(p, handlers, logReload(eng, o, log))
		if err != nil {
			return err
		}
		defer w.close()
	}
	log.Info("started", slog.String("event", "process.started"), slog.String("pipeline", p.Name), slog.String("version", p.Version))
	err = eng.Run(ctx)
	failures.Close()
	logStopped(log, eng.Snapshot())
	return errors.Join(err, handlers.Close())
}

// serveRun serves the health, the metrics and the page of a running engine.
func (a *app) serveRun(ctx context.Context, o *observed, ui uiOf, eng *engine.Engine) (stop func(), err error) {
	o.Watch(eng)
	o.trimmed = eng.Trimmed
	ui.engine = eng
	begun := ops.Begun(eng)
	return o.serve(ctx, ui, checks{
		alive: []ops.Check{ops.Beating(o.Metrics, a.clock)}, started: []ops.Check{begun},
		ready: []ops.Check{begun, ops.Answering(o.poller, a.clock), ops.NotDraining(o.Metrics), ops.Subscriptions(eng)},
	})
}

// logStopped says once, for each subscription, what it has settled.
func logStopped(log *slog.Logger, snap engine.Snapshot) {
	for _, s := range snap.Subscriptions {
		counts := make([]any, 0, len(s.Settled))
		for _, r := range view.Results() {
			if n := s.Settled[r]; n > 0 {
				counts = append(counts, slog.Int64(string(r), n))
			}
		}
		log.Info("stopped", slog.String("event", "subscription.stopped"), slog.String("subscription", s.Label), slog.Group("settled", counts...))
	}
}

// logReload takes new code into a running engine and logs it.
func logReload(eng *engine.Engine, o *observed, log *slog.Logger) reload {
	return reload{
		replace: func(label string, h sandbox.Handler) error { return eng.Replace(label, o.Handler(label, h)) },
		refused: func(h *spec.Handler, err error) {
			log.Error("the script was not taken, the code before runs on", slog.String("event", "handler.refused"),
				slog.String("handler", h.Label), slog.String("error", err.Error()))
		},
	}
}
