package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/waiting"
	"pipeline/engine/broker"
)

func (a *app) pendingShowCommand() *cobra.Command {
	var flags pendingFlags
	show := &cobra.Command{
		Use:   "show PATH ID",
		Short: "Show everything about a pending entry",
		Long: "show prints, for every group in which the entry is pending, who holds it and since when, how often it was delivered\n" +
			"and started, what its handler asked for, when it may run again, and the last error, and then the entry itself. It\n" +
			"reads the server and changes nothing. What its stream declares sensitive is masked.",
		Args: pathAndID,
		RunE: func(cmd *cobra.Command, args []string) error { return a.pendingShow(cmd, args, flags) },
	}
	show.Flags().StringVar(&flags.group, "group", "", "only the group `NAME`")
	show.Flags().BoolVar(&flags.sensitive, "show-sensitive", false, "show what streams declare sensitive")
	show.Flags().BoolVar(&flags.full, "full", false, "cut nothing, however long")
	return show
}

func (a *app) pendingShow(cmd *cobra.Command, args []string, flags pendingFlags) error {
	id, err := broker.ParseID(args[1])
	if err != nil {
		return usage(cmd, "%v", err)
	}
	p, groups, server, err := a.openPending(cmd, args[0], flags.group)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // nothing was written
	ctx, stop := a.until(cmd)
	defer stop()
	printed := a.view.Letters(p, flags.sensitive)
	found := 0
	for _, g := range groups {
		e, err := waiting.One(ctx, server, g, id, a.clock.Now())
		if err != nil {
			return dlqError(ctx, "pending show", err)
		}
		if e == nil {
			continue
		}
		found++
		if e.Body, err = waiting.Body(ctx, server, g, id, e); err != nil {
			return dlqError(ctx, "pending show", err)
		}
		printed.Pending(e, flags.full)
	}
	if found == 0 {
		return fail(exitFailed, string(codePendingNotFound), fmt.Sprintf("pending show: %s is pending in no group of this pipeline that was looked at", id))
	}
	return nil
}
