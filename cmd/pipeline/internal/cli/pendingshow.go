package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
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
		e, err := a.onePending(ctx, server, g, id)
		if err != nil {
			return dlqError(ctx, "pending show", err)
		}
		if e == nil {
			continue
		}
		found++
		if e.Body, err = bodyOf(ctx, server, g, id, e); err != nil {
			return dlqError(ctx, "pending show", err)
		}
		printed.Pending(e, flags.full)
	}
	if found == 0 {
		return fail(exitFailed, string(codePendingNotFound), fmt.Sprintf("pending show: %s is pending in no group of this pipeline that was looked at", id))
	}
	return nil
}

// onePending looks for an entry in a group's pending list; nil without one.
func (a *app) onePending(ctx context.Context, b broker.Broker, g *spec.Group, id broker.ID) (*view.PendingDetail, error) {
	list, err := b.Pending(ctx, g.Stream.Name, g.Name, "", id.Prev(), 1)
	if errors.Is(err, broker.ErrNoGroup) || err == nil && (len(list) == 0 || list[0].ID != id) {
		return nil, nil //nolint:nilnil // no entry is no error
	}
	if err != nil {
		return nil, err
	}
	records, err := b.Records(ctx, g.Stream.Name, g.Name, []broker.ID{id})
	if err != nil {
		return nil, err
	}
	now := a.clock.Now()
	e := &view.PendingDetail{PendingEntry: pendingEntry(g, list[0], records[0], now), Record: records[0], Now: now, MinIdle: groupMinIdle(g)}
	for _, s := range g.Subscriptions {
		if e.MaxAttempts == 0 || s.Retry.MaxAttempts < e.MaxAttempts {
			e.MaxAttempts = s.Retry.MaxAttempts
		}
	}
	return e, nil
}

// bodyOf reads the entry itself; nil where it is gone or may not be read.
func bodyOf(ctx context.Context, b broker.Broker, g *spec.Group, id broker.ID, e *view.PendingDetail) (*deadletters.Letter, error) {
	entries, err := b.Range(ctx, g.Stream.Name, id, id, 1)
	switch {
	case errors.Is(err, broker.ErrNoPermission):
		e.NoBody = "the login may not read it: " + err.Error()
		return nil, nil //nolint:nilnil // it is shown without
	case err != nil:
		return nil, err
	case len(entries) == 0:
		e.NoBody = "it was deleted or trimmed; the entry cannot be run any more"
		return nil, nil //nolint:nilnil // it is shown without
	}
	l := deadletters.Waiting(g, entries[0])
	return &l, nil
}
