package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/cmd/pipeline/internal/waiting"
	"pipeline/engine/broker"
	"pipeline/engine/broker/readonly"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// pendingFlags are the flags of pending list and pending show.
type pendingFlags struct {
	group, after    string
	limit           int
	sensitive, full bool
}

// defaultPending is how many entries of a group are listed unless --limit says
// otherwise.
const defaultPending = 100

func (a *app) pendingCommand() *cobra.Command {
	pending := &cobra.Command{
		Use:   "pending",
		Short: "Show what waits in the groups of a pipeline",
		Long:  "pending looks at entries that were delivered and not acknowledged yet. It changes nothing.",
		Args:  unknownCommand,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	pending.AddCommand(a.pendingListCommand(), a.pendingShowCommand())
	return pending
}

func (a *app) pendingListCommand() *cobra.Command {
	var flags pendingFlags
	list := &cobra.Command{
		Use:   "list PATH",
		Short: "List the entries that wait: who holds them, why, and until when",
		Long: "list shows the pending entries of every group, the oldest first: the consumer that holds each, how often it was\n" +
			"delivered, how many attempts that cost, when it may run again, and the last error. It reads the server and changes\n" +
			"nothing; an entry without a time waits for a worker of its consumer's slot.",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.pendingList(cmd, args[0], flags) },
	}
	list.Flags().StringVar(&flags.group, "group", "", "only the group `NAME`")
	list.Flags().IntVar(&flags.limit, "limit", defaultPending, "list at most `N` entries of a group, the oldest first")
	list.Flags().StringVar(&flags.after, "after", "", "go on after the entry with this `ID`, where an earlier list of one group ended")
	list.Flags().BoolVar(&flags.sensitive, "show-sensitive", false, "show what streams declare sensitive")
	return list
}

func (a *app) pendingList(cmd *cobra.Command, path string, flags pendingFlags) error {
	if flags.limit < 1 {
		return usage(cmd, "--limit is %d; it is at least 1", flags.limit)
	}
	var after broker.ID
	if flags.after != "" {
		var err error
		if after, err = broker.ParseID(flags.after); err != nil {
			return usage(cmd, "--after: %v", err)
		}
		if flags.group == "" {
			return usage(cmd, "--after is about one group; name it with --group")
		}
	}
	p, groups, server, err := a.openPending(cmd, path, flags.group)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // nothing was written
	ctx, stop := a.until(cmd)
	defer stop()
	list := a.view.PendingList()
	walk := waiting.Walk{Broker: server, After: after, Limit: int64(flags.limit), Now: a.clock.Now(), Each: list.Row}
	printed := a.view.Letters(p, flags.sensitive)
	walk.Mask = func(ctx context.Context, g *spec.Group, page []view.PendingEntry) error {
		return waiting.MaskErrors(ctx, server, printed, g, page)
	}
	for _, g := range groups {
		listed, err := walk.Group(ctx, g)
		if err != nil {
			list.End()
			return dlqError(ctx, "pending list", err)
		}
		list.Group(listed)
	}
	list.End()
	return nil
}

// openPending loads the pipeline, and opens its server for looking at groups.
func (a *app) openPending(cmd *cobra.Command, path, group string) (*spec.Pipeline, []*spec.Group, broker.Broker, error) {
	p, err := a.loadServed(cmd, path)
	if err != nil {
		return nil, nil, nil, err
	}
	groups, err := pickGroups(cmd, p, group)
	if err != nil {
		return nil, nil, nil, err
	}
	server, err := a.openServer(p)
	if err != nil {
		return nil, nil, nil, err
	}
	return p, groups, readonly.New(server), nil
}

// pickGroups are the groups to look at: all, or the one that a flag names.
func pickGroups(cmd *cobra.Command, p *spec.Pipeline, name string) ([]*spec.Group, error) {
	if name == "" {
		return p.Groups, nil
	}
	var names []string
	for _, g := range p.Groups {
		if g.Label == name || g.Name == name {
			return []*spec.Group{g}, nil
		}
		names = append(names, g.Label)
	}
	return nil, usage(cmd, "--group: the pipeline has no group %q", name).near(diag.Nearest(name, names))
}
