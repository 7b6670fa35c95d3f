package cli

import (
	"context"
	"fmt"
	"iter"
	"os"
	"time"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
)

// dryRunFlags are the flags of dry-run.
type dryRunFlags struct {
	input, stream string
	strict        bool
}

func (a *app) dryRunCommand() *cobra.Command {
	var flags dryRunFlags
	cmd := &cobra.Command{
		Use:   "dry-run PATH --input FILE",
		Short: "Show what every subscription would do with the entries of a file; nothing is written",
		Long: "dry-run runs each entry of a file once through every subscription of its stream and prints what it would do:\n" +
			"no server, no retries, nothing written anywhere. The file is JSON Lines: envelopes\n\n" +
			"  {\"stream\":\"payments\",\"entry\":{…},\"key\":\"…\",\"headers\":{\"…\":\"…\"}}\n\n" +
			"or, with --stream, the bodies of entries of that stream.",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.dryRun(cmd, args[0], flags) },
	}
	cmd.Flags().StringVar(&flags.input, "input", "", "read entries from a `FILE`; - is stdin")
	cmd.Flags().StringVar(&flags.stream, "stream", "", "each line is a body for the stream `NAME`")
	cmd.Flags().BoolVar(&flags.strict, "strict", false, "exit 1 when a handler failed or an entry was invalid")
	return cmd
}

func (a *app) dryRun(cmd *cobra.Command, path string, flags dryRunFlags) error {
	if flags.input == "" {
		return usage(cmd, "dry-run needs --input FILE: the entries to try")
	}
	p, err := a.load(cmd, path)
	if err != nil {
		return err
	}
	var target *spec.Stream
	if flags.stream != "" {
		if target, err = findStream(cmd, p, "stream", flags.stream); err != nil {
			return err
		}
	}
	logs := &engine.LogKeeper{}
	handlers, err := build.Compile(p, logs)
	if err != nil {
		return err
	}
	run, err := engine.NewDryRun(engine.Config{
		Pipeline: p, Handlers: handlers.ByLabel(), Clock: a.clock, KeepLogs: logs,
	})
	if err != nil {
		return fail(exitUsage, "not_available", err.Error())
	}
	ctx, stop := a.untilSignal(cmd.Context(), func(os.Signal) {})
	defer stop()
	in, err := a.openInput(ctx, cmd, p, inputOptions{path: flags.input, target: target})
	if err != nil {
		return err
	}
	in.watch(p)
	return a.tryEntries(ctx, run, p, in, flags.strict)
}

// tryEntries runs the entries and prints what came of them.
func (a *app) tryEntries(ctx context.Context, run *engine.DryRun, p *spec.Pipeline, in *inputFile, strict bool) error {
	out := a.view.DryRun(p)
	progress := a.newProgress("tried", in)
	err := run.Run(ctx, dryEntries(in, progress), func(o *engine.DryOutcome) error { return out.Outcome(o.Subscription, o.Outcome) })
	in.close()
	switch {
	case ctx.Err() != nil:
		out.Summary(in.entries.Load())
		return fail(exitLeft, "interrupted", "stopped by a signal before the end of the input")
	case err != nil:
		return err
	}
	for _, n := range run.NotRun() {
		out.NotRun(n.Subscription, n.Reason)
	}
	out.Summary(in.entries.Load())
	if err := in.result(); err != nil {
		return err
	}
	if failed, invalid := out.Tally().Of(observe.ResultFailed), out.Tally().Of(observe.ResultInvalid); strict && failed+invalid > 0 {
		return fail(exitFailed, "strict", fmt.Sprintf("--strict: %d failed and %d invalid", failed, invalid))
	}
	return nil
}

// dryEntries are the entries of the input. The id of each is the number of its
// line.
func dryEntries(in *inputFile, progress *progress) iter.Seq[engine.DryEntry] {
	return func(yield func(engine.DryEntry) bool) {
		for {
			line, stream, fields, ok := in.next()
			if !ok {
				return
			}
			progress.step()
			if !yield(engine.DryEntry{Stream: stream, ID: broker.ID{Ms: uint64(line)}, Fields: fields}) {
				return
			}
		}
	}
}

// progress shows how far an input has been read, now and then.
type progress struct {
	a     *app
	in    *inputFile
	what  string
	start time.Time
	next  time.Time
	steps int
}

// progressEvery is how often progress is shown, and progressLook after how
// many entries the clock is asked whether it is time.
const (
	progressEvery = 200 * time.Millisecond
	progressLook  = 256
)

func (a *app) newProgress(what string, in *inputFile) *progress {
	now := a.clock.Now()
	return &progress{a: a, in: in, what: what, start: now, next: now.Add(progressEvery)}
}

// step is called for each entry.
func (p *progress) step() {
	if p.steps++; p.steps%progressLook == 0 {
		p.show()
	}
}

func (p *progress) show() {
	now := p.a.clock.Now()
	if now.Before(p.next) {
		return
	}
	p.next = now.Add(progressEvery)
	p.a.view.Progress(view.Progress{
		What: p.what, Entries: p.in.entries.Load(), Bytes: p.in.offset.Load(), Total: p.in.size,
		Elapsed: clock.Since(p.a.clock, p.start),
	})
}
