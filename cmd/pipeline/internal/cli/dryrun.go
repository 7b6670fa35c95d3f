package cli

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
)

// dryRunFlags are the flags of dry-run.
type dryRunFlags struct {
	input, stream, against string
	strict, noTimes        bool
	examples               int
	live                   bool
	rangeFlags
}

func (a *app) dryRunCommand() *cobra.Command {
	var flags dryRunFlags
	cmd := &cobra.Command{
		Use:   "dry-run PATH (--input FILE | --live)",
		Short: "Show what every subscription would do with entries, of a file or of the real streams; nothing is written",
		Long: "dry-run runs each entry once through every subscription of its stream and prints what it would do: no retries,\n" +
			"nothing written anywhere. With --input the entries are those of a file of JSON Lines: envelopes\n\n" +
			"  {\"stream\":\"payments\",\"entry\":{…},\"key\":\"…\",\"headers\":{\"…\":\"…\"}}\n\n" +
			"or, with --stream, the bodies of entries of that stream. No server is needed.\n\n" +
			"With --live they are those that the server holds now, of all streams that enabled subscriptions read, with their\n" +
			"real ids. They are read by XINFO STREAM and XRANGE alone: no group, no consumer, no write of any kind. Whole streams\n" +
			"are read, oldest entry first, unless --from, --to, --count or --sample say otherwise; what is added meanwhile is not.\n" +
			"A server on this machine is left one of its processors.\n" +
			"--from and --to take an entry id, a time (2026-01-02T15:04:05Z) or a time back from now (24h, 7d).\n\n" +
			"With --against the same entries run through another version of the pipeline too, and only what differs is printed;\n" +
			"the exit code is 3 if anything does. Logs and times do not count. Both versions see the same moment; a handler that\n" +
			"differs from itself when run twice is told and not counted. --strict looks at the new version, PATH.\n\n" +
			"The summary shows the most time, instructions and memory that a call took, beside the handler's limits.\n\n" +
			"Fields that a stream declares sensitive are masked, and their values wherever they turn up again as they are.",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.dryRun(cmd, args[0], flags) },
	}
	cmd.Flags().StringVar(&flags.input, "input", "", "read entries from a `FILE`; - is stdin")
	cmd.Flags().BoolVar(&flags.live, "live", false, "read the entries of the real streams, and nothing else of the server")
	cmd.Flags().StringVar(&flags.stream, "stream", "", "each line is a body for the stream `NAME`; with --live, read that stream alone")
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.against, "against", "", "compare with another version of the pipeline, at the `PATH` OLD; print only what differs")
	cmd.Flags().IntVar(&flags.examples, "examples", view.DefaultExamples, "with --against, show `N` changed entries of each subscription; with --json all, unless given")
	cmd.Flags().BoolVar(&flags.strict, "strict", false, "exit 1 when a handler failed or an entry was invalid")
	cmd.Flags().BoolVar(&flags.noTimes, "no-times", false, "leave out how long things took and how much memory, so that two runs can be compared byte by byte")
	complete(cmd, "against", pipelineFiles)
	complete(cmd, "to", cobra.NoFileCompletions) // a position, elsewhere a stream
	return cmd
}

// check refuses flags that do not go together.
func (f *dryRunFlags) check(cmd *cobra.Command) error {
	switch {
	case f.input == "" && !f.live:
		return usage(cmd, "dry-run needs --input FILE or --live: the entries to try")
	case f.input != "" && f.live:
		return usage(cmd, "--input and --live are two sources of entries; give one of them")
	case f.against == "" && cmd.Flags().Changed("examples"):
		return usage(cmd, "--examples goes with --against")
	case f.examples < 0:
		return usage(cmd, "--examples is %d; it is at least 0", f.examples)
	}
	return f.rangeFlags.check(cmd, f.live)
}

func (a *app) dryRun(cmd *cobra.Command, path string, flags dryRunFlags) error {
	if err := flags.check(cmd); err != nil {
		return err
	}
	if flags.against != "" {
		return a.compareVersions(cmd, path, flags)
	}
	p, err := a.load(cmd, path)
	if err != nil {
		return err
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
	from, stop, err := a.openEntries(cmd, flags, entriesOf{pipeline: p, versions: []*spec.Pipeline{p}, streams: run.Streams()})
	if err != nil {
		return err
	}
	defer stop()
	return a.tryEntries(from.ctx, run, p, from, flags.strict)
}

// tryEntries runs the entries and prints what came of them.
func (a *app) tryEntries(ctx context.Context, run *engine.DryRun, p *spec.Pipeline, from *dryEntries, strict bool) error {
	out := a.view.DryRun(p)
	err := run.Run(ctx, from.entries(), func(o *engine.DryOutcome) error {
		from.tried(o.Subscription.Group.Stream, o.Outcome.ID)
		if from.noTimes {
			// The memory of a module depends on what its instance was given before.
			o.Outcome.Elapsed, o.Outcome.Usage.Bytes = 0, 0
		}
		return out.Outcome(o.Subscription, o.Body, o.Outcome)
	})
	from.close()
	if ctx.Err() == nil {
		if err != nil {
			return err
		}
		for _, n := range run.NotRun() {
			out.NotRun(n.Subscription, n.Reason)
		}
	}
	out.Summary(from.summary())
	return cmp.Or(from.result(), strictly(strict, out.Tally().Of))
}

// strictly is the error of --strict.
func strictly(strict bool, of func(observe.Result) int64) error {
	failed, invalid := of(observe.ResultFailed), of(observe.ResultInvalid)
	if !strict || failed+invalid == 0 {
		return nil
	}
	return fail(exitFailed, "strict", fmt.Sprintf("--strict: %d failed and %d invalid", failed, invalid))
}
