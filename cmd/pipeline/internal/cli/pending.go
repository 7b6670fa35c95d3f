package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/view"
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
	walk := pendingWalk{broker: server, after: after, limit: int64(flags.limit), now: a.clock.Now(), each: list.Row}
	printed := a.view.Letters(p, flags.sensitive)
	walk.mask = func(ctx context.Context, g *spec.Group, page []view.PendingEntry) error {
		return maskErrors(ctx, server, printed, g, page)
	}
	for _, g := range groups {
		listed, err := walk.group(ctx, g)
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
	p, err := a.load(cmd, path)
	if err != nil {
		return nil, nil, nil, err
	}
	if err := needsServer(cmd, p); err != nil {
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

// pendingPage is how many entries one command to the server lists.
const pendingPage = 500

// pendingWalk reads pending lists in pages, whatever their length.
type pendingWalk struct {
	broker broker.Broker
	// after is where each list is gone on after; limit bounds the entries of a
	// group.
	after broker.ID
	limit int64
	now   time.Time
	each  func(view.PendingEntry)
	// mask takes out of a page what must not be seen; nil does not.
	mask func(context.Context, *spec.Group, []view.PendingEntry) error
}

// group reads a group's pending list.
func (w *pendingWalk) group(ctx context.Context, g *spec.Group) (view.PendingGroup, error) {
	out := view.PendingGroup{Group: g.Label, Stream: g.Stream.Name, Missing: true}
	infos, err := w.broker.GroupInfos(ctx, g.Stream.Name)
	if err != nil {
		return out, err
	}
	for _, info := range infos {
		if info.Name == g.Name {
			out.Missing, out.Total = false, info.Pending
		}
	}
	after := w.after
	for !out.Missing {
		// One more than is shown tells whether any follows.
		count := int(min(pendingPage, w.limit-out.Shown+1))
		entries, err := w.page(ctx, g, after, count)
		if errors.Is(err, broker.ErrNoGroup) {
			out.Missing = true
			break
		}
		if err != nil {
			return out, err
		}
		for _, e := range entries {
			if out.Shown == w.limit {
				out.After = after
				break
			}
			w.each(e)
			out.Shown, after = out.Shown+1, e.ID
		}
		if len(entries) < count || !out.After.IsZero() {
			break
		}
	}
	out.Total = max(out.Total, out.Shown)
	return out, nil
}

// page reads some entries with their records.
func (w *pendingWalk) page(ctx context.Context, g *spec.Group, after broker.ID, count int) ([]view.PendingEntry, error) {
	list, err := w.broker.Pending(ctx, g.Stream.Name, g.Name, "", after, count)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	ids := make([]broker.ID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	records, err := w.broker.Records(ctx, g.Stream.Name, g.Name, ids)
	if err != nil {
		return nil, err
	}
	entries := make([]view.PendingEntry, len(list))
	for i := range list {
		entries[i] = pendingEntry(g, list[i], records[i], w.now)
	}
	if w.mask != nil {
		err = w.mask(ctx, g, entries)
	}
	return entries, err
}

// maskErrors takes out of the errors of a page what their entries' stream declares
// sensitive. Only such a stream's entries are read for it; an error whose entry is
// gone, or may not be read, is not shown.
func maskErrors(ctx context.Context, b broker.Broker, printed *view.Letters, g *spec.Group, page []view.PendingEntry) error {
	if !printed.Masks(g.Stream) {
		return nil
	}
	var ids []broker.ID
	var at []int
	for i := range page {
		if page[i].Error != "" {
			ids, at = append(ids, page[i].ID), append(at, i)
		}
	}
	err := deadletters.Fetch(ctx, b, g.Stream.Name, ids, func(i int, e *broker.Entry) error {
		p := &page[at[i]]
		if e == nil {
			p.Error = view.Masked
			return nil
		}
		l := deadletters.Waiting(g, *e)
		p.Error = printed.Scrub(&l, p.Error)
		return nil
	})
	if errors.Is(err, broker.ErrNoPermission) {
		for _, i := range at {
			page[i].Error = view.Masked
		}
		return nil
	}
	return err
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
