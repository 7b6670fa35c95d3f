package cli

import (
	"context"
	"io"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/engine/broker/readonly"
)

// dlqExportFlags are the flags of dlq export.
type dlqExportFlags struct {
	letterFlags
	output    string
	sensitive bool
}

func (a *app) dlqExportCommand() *cobra.Command {
	var flags dlqExportFlags
	cmd := &cobra.Command{
		Use:   "export PATH [GROUP|STREAM]",
		Short: "Write dead letters as JSON Lines that publish, dry-run and dev read",
		Long: "export writes a line for each letter: the entry that it was, its fields byte for byte, and beside them what the\n" +
			"letter says. dry-run --input tries them on any machine, and publish adds them to their stream, for every group\n" +
			"there. It reads the server and changes nothing. A file appears when it is complete, readable by its owner alone,\n" +
			"and replaces none. Nothing is masked: where streams declare fields sensitive, it has to be asked for.",
		Args: pathAndScope, ValidArgsFunction: scopeCompletion,
		RunE: func(cmd *cobra.Command, args []string) error { return a.dlqExport(cmd, args, &flags) },
	}
	flags.add(cmd)
	cmd.Flags().StringVar(&flags.output, "output", "-", "write to a new `FILE`; - is stdout")
	cmd.Flags().BoolVar(&flags.sensitive, "show-sensitive", false, "export what streams declare sensitive, too")
	return cmd
}

func (a *app) dlqExport(cmd *cobra.Command, args []string, flags *dlqExportFlags) error {
	if a.json && flags.output == "-" {
		return usage(cmd, "--json is about what export says, and stdout is for the letters; name a file with --output")
	}
	of, err := a.dlqScope(cmd, args)
	if err != nil {
		return err
	}
	filter, err := a.filter(cmd, &flags.letterFlags, of)
	if err != nil {
		return err
	}
	printed := a.view.Letters(of.pipeline, flags.sensitive)
	for _, s := range of.sources {
		if printed.Sensitive(s) && !flags.sensitive {
			return fail(exitUsage, string(codeSensitive), "dlq export: the letters in "+s.Stream.Name+
				" are of a stream with sensitive fields, and an export masks nothing; --show-sensitive writes them all the same")
		}
	}
	server, err := a.openServer(of.pipeline)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // nothing was written
	ctx, stop := a.until(cmd)
	defer stop()
	scan := &deadletters.Scan{Broker: readonly.New(server), Filter: filter}
	if flags.output == "-" {
		_, err := a.exportTo(ctx, a.view.Output(), scan, of)
		return err
	}
	file, err := deadletters.Create(flags.output)
	if err != nil {
		return fileError(err)
	}
	n, err := a.exportTo(ctx, file, scan, of)
	if err != nil {
		file.Abandon()
		return err
	}
	if err := file.Commit(); err != nil {
		return fileError(err)
	}
	a.view.Exported(flags.output, n)
	return nil
}

func (a *app) exportTo(ctx context.Context, to io.Writer, scan *deadletters.Scan, of *dlqScope) (int64, error) {
	out := deadletters.NewExporter(to)
	for _, s := range of.sources {
		info, err := scan.Broker.StreamInfo(ctx, s.Stream.Name)
		if err != nil {
			return 0, dlqError(ctx, "dlq export", err)
		}
		scan.Read = a.readingLetters(info.Length)
		for l, err := range scan.Letters(ctx, s) {
			if err != nil {
				return 0, dlqError(ctx, "dlq export", err)
			}
			if err := out.Write(&l); err != nil {
				return 0, fileError(err)
			}
		}
	}
	return out.Letters, nil
}
