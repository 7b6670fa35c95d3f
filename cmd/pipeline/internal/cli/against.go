package cli

import (
	"cmp"
	"fmt"
	"log/slog"
	"slices"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/engine"
	"pipeline/engine/spec"
	"pipeline/lang"
)

// compareVersions runs entries through two versions of a pipeline and prints
// what differs.
func (a *app) compareVersions(cmd *cobra.Command, path string, flags dryRunFlags) error {
	old, recent, err := a.loadVersions(cmd, path, flags.against)
	if err != nil {
		return err
	}
	run, err := a.comparison(old, recent)
	if err != nil {
		return err
	}
	of := entriesOf{pipeline: withStreams(recent, old), versions: []*spec.Pipeline{recent, old}, streams: run.Streams()}
	from, stop, err := a.openEntries(cmd, flags, of)
	if err != nil {
		return err
	}
	defer stop()
	examples := flags.examples
	if a.json && !cmd.Flags().Changed("examples") {
		examples = -1
	}
	out := a.view.Comparison(old, recent, examples)
	out.Changes(run.Changes(), old, recent)
	err = run.Run(from.ctx, from.entries(), func(x *engine.Compared) error {
		from.tried(x.Stream, x.New.Outcome.ID)
		return out.Entry(x)
	})
	from.close()
	if from.ctx.Err() == nil {
		if err != nil {
			return err
		}
		for _, n := range run.NotRun() {
			out.NotRun(n.Subscription.Label, n.Reason)
		}
	}
	out.Summary(from.summary())
	if err := cmp.Or(from.result(), strictly(flags.strict, out.Of)); err != nil {
		return err
	}
	if out.Differs() {
		return fail(exitDifference, "versions_differ", differWords(out.Changed()))
	}
	return nil
}

func differWords(changed int64) string {
	switch changed {
	case 0:
		return "the versions differ; no entry that both handle changes"
	case 1:
		return "the versions differ: 1 entry changes"
	}
	return fmt.Sprintf("the versions differ: %d entries change", changed)
}

// loadVersions loads both versions with the same variables. A variable that only
// one of them declares is no mistake; one that neither declares is the new
// one's.
func (a *app) loadVersions(cmd *cobra.Command, path, against string) (old, recent *spec.Pipeline, err error) {
	if recent, err = a.load(cmd, path, variablesOf(against)...); err != nil {
		return nil, nil, err
	}
	was, report, err := a.read(cmd, against, variablesOf(path)...)
	if err != nil {
		return nil, nil, err
	}
	if report.HasErrors() {
		a.view.Report(report)
		return nil, nil, said(exitUsage)
	}
	return was, recent, nil
}

// variablesOf are the variables that a pipeline declares.
func variablesOf(path string) []string {
	var names []string
	for _, l := range lang.Labels(lang.OS(), path) {
		if l.Block == "variable" {
			names = append(names, l.Name)
		}
	}
	return names
}

// comparison compiles both versions. What handlers log is not of interest.
func (a *app) comparison(old, recent *spec.Pipeline) (*engine.Comparison, error) {
	nowhere := build.LogHost(slog.New(slog.DiscardHandler))
	configs := make([]engine.Config, 2)
	for i, p := range []*spec.Pipeline{old, recent} {
		handlers, err := build.Compile(p, nowhere)
		if err != nil {
			return nil, err
		}
		configs[i] = engine.Config{Pipeline: p, Handlers: handlers.ByLabel(), Clock: a.clock}
	}
	run, err := engine.NewComparison(configs[0], configs[1])
	if err != nil {
		return nil, fail(exitUsage, "not_available", err.Error())
	}
	return run, nil
}

// withStreams is a pipeline with the streams of another one that it lacks, so
// that an input file may hold entries of them.
func withStreams(p, other *spec.Pipeline) *spec.Pipeline {
	both := *p
	both.Streams = slices.Clone(p.Streams)
	for _, s := range other.Streams {
		if !slices.ContainsFunc(p.Streams, func(known *spec.Stream) bool { return known.Name == s.Name || known.Label == s.Label }) {
			both.Streams = append(both.Streams, s)
		}
	}
	return &both
}
