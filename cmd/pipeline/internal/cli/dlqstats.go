package cli

import (
	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/engine/broker/readonly"
	"pipeline/engine/clock"
)

func (a *app) dlqStatsCommand() *cobra.Command {
	var flags letterFlags
	var top int
	cmd := &cobra.Command{
		Use:   "stats PATH [GROUP|STREAM]",
		Short: "Count dead letters by reason, group, subscription, version and error",
		Long: "stats reads every letter once, in pages, and counts. Errors are counted without what differs from entry to entry:\n" +
			"what stands in quotes becomes \"…\", words with digits #. It reads the server and changes nothing.",
		Args: pathAndScope, ValidArgsFunction: scopeCompletion,
		RunE: func(cmd *cobra.Command, args []string) error { return a.dlqStats(cmd, args, &flags, top) },
	}
	flags.add(cmd)
	cmd.Flags().IntVar(&top, "top", 10, "show the `N` most frequent values of each kind")
	return cmd
}

func (a *app) dlqStats(cmd *cobra.Command, args []string, flags *letterFlags, top int) error {
	if top < 1 {
		return usage(cmd, "--top is %d; it is at least 1", top)
	}
	of, err := a.dlqScope(cmd, args)
	if err != nil {
		return err
	}
	filter, err := a.filter(cmd, flags, of)
	if err != nil {
		return err
	}
	server, err := a.openServer(of.pipeline)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // nothing was written
	ctx, stop := a.until(cmd)
	defer stop()
	printed := a.view.Letters(of.pipeline, false)
	scan := &deadletters.Scan{Broker: readonly.New(server), Filter: filter}
	start := a.clock.Now()
	var all []*deadletters.Stats
	for _, s := range of.sources {
		info, err := scan.Broker.StreamInfo(ctx, s.Stream.Name)
		if err != nil {
			return dlqError(ctx, "dlq stats", err)
		}
		scan.Read = a.readingLetters(info.Length)
		stats := &deadletters.Stats{Source: s}
		for l, err := range scan.Letters(ctx, s) {
			if err != nil {
				return dlqError(ctx, "dlq stats", err)
			}
			stats.Add(&l, printed.Error(&l))
		}
		all = append(all, stats)
	}
	a.view.LetterStats(all, top, a.clock.Now(), clock.Since(a.clock, start))
	return nil
}
