package cli

import (
	"errors"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/metrics"
	"pipeline/cmd/pipeline/internal/ops"
	"pipeline/cmd/pipeline/internal/telemetry"
	"pipeline/cmd/pipeline/internal/web"
	"pipeline/engine/broker/readonly"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
)

func (a *app) monitorCommand() *cobra.Command {
	var flags opsFlags
	var ui uiFlags
	cmd := &cobra.Command{
		Use:   "monitor PATH",
		Short: "Serve the health, the metrics and a page of a pipeline without working on it",
		Long: "monitor looks at a pipeline's streams, groups and dead letters every five seconds and serves what it finds, as run\n" +
			"does, and for people at http://127.0.0.1:9631, until SIGINT or SIGTERM. It has no consumer and changes nothing: it\n" +
			"tells how far workers are behind when none of them runs. A server that is away, at the start or later, is waited\n" +
			"for. Logs go to stderr.",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.monitor(cmd, args[0], flags, ui) },
	}
	flags.register(cmd)
	ui.register(cmd, web.Default)
	return cmd
}

func (a *app) monitor(cmd *cobra.Command, path string, flags opsFlags, ui uiFlags) error {
	if err := ui.check(cmd); err != nil {
		return err
	}
	p, err := a.loadServed(cmd, path)
	if err != nil {
		return err
	}
	if exported := telemetry.Read(a.getenv).Metrics.Exporter != telemetry.None; flags.listen == opsOff && ui.listen == uiOff && !exported {
		return usage(cmd, "--ops-listen and --ui-listen: monitor has nothing else to do")
	}
	server, err := a.openServer(p)
	if err != nil {
		return err
	}
	a.view.Live()
	return errors.Join(a.watch(cmd, flags, uiOf{flags: ui, path: path, mode: "monitor", server: server}, p), server.Close())
}

// watch serves until a signal.
func (a *app) watch(cmd *cobra.Command, flags opsFlags, ui uiOf, p *spec.Pipeline) error {
	log := a.view.Logger(slog.LevelInfo)
	o := a.observe(cmd, flags, p, readonly.New(ui.server), log, observe.None{})
	o.flags.asked = true // without it there is nothing left
	o.SetState(metrics.Monitoring)
	defer o.export(cmd.Context(), false)()
	ctx, stop := a.untilSignal(cmd.Context(), func(s os.Signal) {
		log.Info("stopping", slog.String("event", "process.stopping"), slog.String("signal", s.String()))
	})
	defer stop()
	redis := ops.Answering(o.poller, a.clock)
	end, err := o.serve(ctx, ui, checks{alive: []ops.Check{ops.Beating(o.Metrics, a.clock)}, ready: []ops.Check{redis}})
	if err != nil {
		return err
	}
	defer end()
	log.Info("monitoring", slog.String("event", "process.started"), slog.String("pipeline", p.Name), slog.String("version", p.Version))
	<-ctx.Done()
	return nil
}
