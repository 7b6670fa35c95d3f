package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// pendingFlags are the flags of pending list.
type pendingFlags struct {
	group string
	limit int
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
	pending.AddCommand(list)
	return pending
}

func (a *app) pendingList(cmd *cobra.Command, path string, flags pendingFlags) error {
	if flags.limit < 1 {
		return usage(cmd, "--limit is %d; it is at least 1", flags.limit)
	}
	p, err := a.load(cmd, path)
	if err != nil {
		return err
	}
	if err := needsServer(cmd, p); err != nil {
		return err
	}
	groups, err := pickGroups(cmd, p, flags.group)
	if err != nil {
		return err
	}
	server, err := a.openServer(p)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // nothing was written
	var found []view.PendingGroup
	for _, g := range groups {
		listed, err := listPending(cmd.Context(), server, g, flags.limit, a.clock.Now())
		if err != nil {
			return fmt.Errorf("pending list: %w", err)
		}
		found = append(found, listed)
	}
	a.view.Pending(found)
	return nil
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

// pendingPage is how many entries one command to the server lists.
const pendingPage = 500

// listPending reads a group's pending list, up to limit entries.
func listPending(ctx context.Context, b broker.Broker, g *spec.Group, limit int, now time.Time) (view.PendingGroup, error) {
	out := view.PendingGroup{Group: g.Label, Stream: g.Stream.Name, Missing: true}
	infos, err := b.GroupInfos(ctx, g.Stream.Name)
	if err != nil {
		return out, err
	}
	for _, info := range infos {
		if info.Name == g.Name {
			out.Missing, out.Total = false, info.Pending
		}
	}
	var after broker.ID
	for !out.Missing && len(out.Shown) < limit {
		page, err := b.Pending(ctx, g.Stream.Name, g.Name, "", after, min(pendingPage, limit-len(out.Shown)))
		if errors.Is(err, broker.ErrNoGroup) {
			out.Missing = true
			break
		}
		if err != nil {
			return out, err
		}
		if len(page) == 0 {
			break
		}
		ids := make([]broker.ID, len(page))
		for i := range page {
			ids[i] = page[i].ID
		}
		records, err := b.Records(ctx, g.Stream.Name, g.Name, ids)
		if err != nil {
			return out, err
		}
		for i := range page {
			out.Shown = append(out.Shown, pendingEntry(g, page[i], records[i], now))
		}
		after = page[len(page)-1].ID
	}
	out.Total = max(out.Total, int64(len(out.Shown)))
	return out, nil
}

func pendingEntry(g *spec.Group, p broker.Pending, r broker.Record, now time.Time) view.PendingEntry {
	e := view.PendingEntry{Group: g.Label, Stream: g.Stream.Name, Pending: p, Attempts: r.Attempts(p.Deliveries), Error: r.Error}
	if due, ok := dueAt(g, p, r, now); ok {
		e.Due, e.In = due, due.Sub(now)
	}
	return e
}

// dueAt is when a pending entry may run again: at the time in its record, which its consumer keeps by itself, a
// little before others may claim it; without one when it has been idle for as long as the group's claims demand.
// ok is false when neither says anything.
func dueAt(g *spec.Group, p broker.Pending, r broker.Record, now time.Time) (due time.Time, ok bool) {
	if minIdle := groupMinIdle(g); minIdle > 0 {
		due, ok = now.Add(max(0, minIdle-p.Idle)), true
	}
	if r.Due.After(now) {
		due, ok = r.Due, true
	}
	return due, ok
}

// groupMinIdle is the smallest min_idle of a group's claims, 0 without any.
func groupMinIdle(g *spec.Group) time.Duration {
	var least time.Duration
	for _, s := range g.Subscriptions {
		if s.Claim != nil && (least == 0 || s.Claim.MinIdle < least) {
			least = s.Claim.MinIdle
		}
	}
	return least
}
