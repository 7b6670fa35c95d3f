package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/broker/readonly"
)

// dlqShowFlags are the flags of dlq show.
type dlqShowFlags struct{ sensitive, full bool }

func (a *app) dlqShowCommand() *cobra.Command {
	var flags dlqShowFlags
	cmd := &cobra.Command{
		Use:   "show PATH ID",
		Short: "Show everything about a dead letter",
		Long: "show prints a letter by its own id, or by the id of the entry that it was: why and where it died, its headers, its\n" +
			"body by the codec of its stream, what is wrong with it for this file, and commands to go on with. It reads the\n" +
			"server and changes nothing. What streams declare sensitive is masked.",
		Args: pathAndID,
		RunE: func(cmd *cobra.Command, args []string) error { return a.dlqShow(cmd, args, flags) },
	}
	cmd.Flags().BoolVar(&flags.sensitive, "show-sensitive", false, "show what streams declare sensitive")
	cmd.Flags().BoolVar(&flags.full, "full", false, "cut nothing, however long")
	return cmd
}

// pathAndID checks the arguments PATH ID.
func pathAndID(cmd *cobra.Command, args []string) error {
	if err := onePath(cmd, args[:min(1, len(args))]); err != nil {
		return err
	}
	if len(args) != 2 {
		return usage(cmd, "%s needs a PATH and one ID", cmd.CommandPath())
	}
	return nil
}

func (a *app) dlqShow(cmd *cobra.Command, args []string, flags dlqShowFlags) error {
	id, err := broker.ParseID(args[1])
	if err != nil {
		return usage(cmd, "%v", err)
	}
	of, err := a.dlqScope(cmd, args[:1])
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
	printed := a.view.Letters(of.pipeline, flags.sensitive)
	scan := &deadletters.Scan{Broker: readonly.New(server)}
	found := 0
	// A letter is buried after its entry was added; clocks of different servers
	// may be apart.
	const apart = 60_000
	for _, filter := range []deadletters.Filter{
		{IDs: []broker.ID{id}},
		{Entries: []broker.ID{id}, From: broker.ID{Ms: id.Ms - min(id.Ms, apart)}},
	} {
		if scan.Filter = filter; found > 0 {
			break
		}
		for _, s := range of.sources {
			n, err := a.showLetters(ctx, scan, s, func(l *deadletters.Letter) {
				printed.One(l, flags.full, a.nextSteps(of, l, printed.Sensitive(s)))
			})
			if err != nil {
				return dlqError(ctx, "dlq show", err)
			}
			found += n
		}
	}
	if found == 0 {
		return fail(exitFailed, string(codeLetterNotFound), fmt.Sprintf("dlq show: no dead letter has the id %s, and none is of an entry with it", id))
	}
	return nil
}

// showLetters calls show for every chosen letter and returns how many.
func (a *app) showLetters(ctx context.Context, scan *deadletters.Scan, s *deadletters.Source, show func(*deadletters.Letter)) (n int, err error) {
	if len(scan.Filter.IDs) == 0 {
		info, err := scan.Broker.StreamInfo(ctx, s.Stream.Name)
		if err != nil {
			return 0, err
		}
		scan.Read = a.readingLetters(info.Length)
	}
	for l, err := range scan.Letters(ctx, s) {
		if err != nil {
			return n, err
		}
		show(&l)
		n++
	}
	return n, nil
}

// nextSteps are the commands that make sense for a letter.
func (a *app) nextSteps(of *dlqScope, l *deadletters.Letter, sensitive bool) []view.NextStep {
	id := []string{of.path, l.Source.Stream.Name, "--id", l.ID.String()}
	drop := view.NextStep{Does: "remove it for good", Command: a.commandLine("dlq drop", id...)}
	stream, group, why := l.Target(false)
	var steps []view.NextStep
	if stream != nil {
		export := append([]string{}, id...)
		if sensitive {
			export = append(export, "--show-sensitive")
		}
		steps = append(steps, view.NextStep{
			Does:    "see what its handler makes of it now, with nothing written anywhere",
			Command: a.commandLine("dlq export", export...) + " | " + a.commandLine("dry-run", of.path, "--input", "-"),
		})
	}
	if why != "" {
		drop.Does += "; it cannot be replayed: " + why
		return append(steps, drop)
	}
	steps = append(steps, view.NextStep{
		Does:    "give it back to the group " + group.Label + " (a preview first)",
		Command: a.commandLine("dlq replay", id...),
	})
	return append(steps, drop)
}
