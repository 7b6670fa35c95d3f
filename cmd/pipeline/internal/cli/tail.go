package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/live"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
	"pipeline/engine/codec"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// tailFlags are the flags of tail.
type tailFlags struct {
	count           int
	from            string
	follow          bool
	key, holds      string
	full, sensitive bool
}

// What tail asks for at once, and the most that it looks back.
const (
	tailPage  = 64
	tailBlock = time.Second
	tailMost  = 10_000
	tailAgain = time.Second
)

func (a *app) tailCommand() *cobra.Command {
	var flags tailFlags
	cmd := &cobra.Command{
		Use:   "tail PATH [STREAM…]",
		Short: "Print the newest entries of streams, and with --follow those that come",
		Long: "tail reads streams as no group does: it takes nothing from anybody, and leaves nothing behind. It prints the last\n" +
			"entries of the named streams, or of all of the pipeline, in the order of their ids, or with --from all since then.\n" +
			"With --follow it goes on until a signal, and waits for a server that is away. What streams declare sensitive is\n" +
			"masked, and a long body is cut.",
		Example: "  pipeline tail examples/payments.hcl payments --follow\n" +
			"  pipeline tail examples/payments.hcl payments.dead --from 24h --full\n" +
			"  pipeline tail examples/payments.hcl --count 100 --json | jq -r .id",
		Args: func(cmd *cobra.Command, args []string) error { return onePath(cmd, args[:min(1, len(args))]) },
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return pipelineFiles(cmd, args, toComplete)
			}
			return labels("", "stream")(cmd, args, toComplete)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.tail(cmd, args, &flags) },
	}
	f := cmd.Flags()
	f.IntVarP(&flags.count, "count", "n", 10, "look at the last `N` entries of each stream, at most 10000")
	f.StringVar(&flags.from, "from", "", "begin at this `POSITION` instead: an id, a time (2026-01-02T15:04:05Z), or 24h or 7d back from now")
	f.BoolVarP(&flags.follow, "follow", "f", false, "go on with the entries that come, until a signal")
	f.StringVar(&flags.key, "key", "", "only entries with the partition key `KEY`")
	f.StringVar(&flags.holds, "contains", "", "only entries whose body, as it is printed, contains this `TEXT`")
	f.BoolVar(&flags.full, "full", false, "cut no body")
	f.BoolVar(&flags.sensitive, "show-sensitive", false, "show what streams declare sensitive")
	return cmd
}

// tailing is one run of tail.
type tailing struct {
	a       *app
	cmd     *cobra.Command
	flags   *tailFlags
	server  *redis.Broker
	printed *view.EntryPrinter
	// from is where to begin instead of at the last entries; nil without --from.
	from *broker.ID

	// away says that the server's absence was told; printing holds one entry together.
	mu   sync.Mutex
	away bool
}

func (a *app) tail(cmd *cobra.Command, args []string, flags *tailFlags) error {
	switch {
	case flags.count < 0 || flags.count > tailMost:
		return usage(cmd, "--count is %d; it is 0 to %d", flags.count, tailMost)
	case flags.from != "" && cmd.Flags().Changed("count"):
		return usage(cmd, "--count looks back from the end, and --from begins elsewhere; give one of the two")
	}
	p, err := a.loadServed(cmd, args[0])
	if err != nil {
		return err
	}
	streams, err := tailStreams(cmd, p, args[1:])
	if err != nil {
		return err
	}
	t := &tailing{a: a, cmd: cmd, flags: flags, printed: a.view.Entries(p, flags.sensitive)}
	t.printed.Full = flags.full
	if flags.from != "" {
		from, err := live.ParseFrom(flags.from, a.clock.Now())
		if err != nil {
			return usage(cmd, "--from: %v", err)
		}
		t.from = &from
	}
	if t.server, err = build.OpenRedis(p.Broker, a.clock, a.warned); err != nil {
		return invalidBroker(err)
	}
	defer func() { _ = t.server.Close() }() // nothing was written
	ctx, stop := a.until(cmd)
	defer stop()
	a.view.Live()
	at, err := t.past(ctx, streams)
	if err == nil && flags.follow {
		err = t.followAll(ctx, streams, at)
	}
	switch {
	case ctx.Err() != nil && flags.follow:
		return nil // which is how it ends
	case ctx.Err() != nil:
		return fail(exitLeft, "interrupted", "tail: stopped by a signal before the end of the streams")
	case err != nil:
		return fmt.Errorf("tail: %w", err)
	}
	return nil
}

// tailStreams are the streams that are named, or all of the pipeline.
func tailStreams(cmd *cobra.Command, p *spec.Pipeline, names []string) ([]*spec.Stream, error) {
	all := slices.Clone(p.Streams)
	for _, s := range deadletters.Sources(p) {
		if !slices.ContainsFunc(all, func(known *spec.Stream) bool { return known.Name == s.Stream.Name }) {
			all = append(all, s.Stream)
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	var chosen []*spec.Stream
	for _, name := range names {
		at := slices.IndexFunc(all, func(s *spec.Stream) bool { return s.Label == name || s.Name == name })
		if at < 0 {
			var known []string
			for _, s := range all {
				known = append(known, s.Name)
			}
			return nil, usage(cmd, "the pipeline has no stream %q", name).near(diag.Nearest(name, known))
		}
		if !slices.Contains(chosen, all[at]) {
			chosen = append(chosen, all[at])
		}
	}
	return chosen, nil
}

// past prints what is there already, and returns for each stream the id behind
// which it goes on.
func (t *tailing) past(ctx context.Context, streams []*spec.Stream) ([]broker.ID, error) {
	type found struct {
		of *spec.Stream
		broker.Entry
	}
	var all []found
	at := make([]broker.ID, len(streams))
	for i, s := range streams {
		info, err := t.server.StreamInfo(ctx, s.Name)
		if err != nil {
			return nil, err
		}
		at[i] = info.LastID
		if t.from != nil {
			if err := t.since(ctx, s, info.LastID); err != nil {
				return nil, err
			}
			continue
		}
		last := info.LastID
		for left := t.flags.count; left > 0; {
			page, err := t.server.RangeBack(ctx, s.Name, broker.ID{}, last, min(left, tailPage))
			if err != nil {
				return nil, err
			}
			for _, e := range page {
				all = append(all, found{s, e})
			}
			if left -= len(page); len(page) < tailPage || page[len(page)-1].ID.IsZero() {
				break
			}
			last = page[len(page)-1].ID.Prev()
		}
	}
	slices.SortStableFunc(all, func(x, y found) int { return cmp.Or(x.ID.Compare(y.ID), cmp.Compare(x.of.Name, y.of.Name)) })
	for _, e := range all {
		t.print(e.of, e.Entry)
	}
	return at, nil
}

// since prints the entries of a stream from --from to the last one that it had.
func (t *tailing) since(ctx context.Context, s *spec.Stream, last broker.ID) error {
	for from := *t.from; !last.Less(from); {
		page, err := t.server.Range(ctx, s.Name, from, last, tailPage)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, e := range page {
			t.print(s, e)
		}
		from = page[len(page)-1].ID.Next()
	}
	return nil
}

// followAll prints what comes to the streams until ctx is done, or one of them
// cannot be read.
func (t *tailing) followAll(ctx context.Context, streams []*spec.Stream, at []broker.ID) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var readers sync.WaitGroup
	for i, s := range streams {
		readers.Go(func() {
			if err := t.followOne(ctx, s, at[i]); err != nil {
				cancel(err)
			}
		})
	}
	readers.Wait()
	if err := context.Cause(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (t *tailing) followOne(ctx context.Context, s *spec.Stream, at broker.ID) error {
	if t.from != nil && at.Less(*t.from) {
		at = t.from.Prev() // what comes before is not asked for
	}
	for ctx.Err() == nil {
		entries, err := t.server.Follow(ctx, s.Name, at, tailPage, tailBlock)
		if ctx.Err() != nil {
			break
		}
		if err != nil && !broker.Transient(err) {
			return err
		}
		if t.heard(err); err != nil {
			_ = clock.Sleep(ctx, t.a.clock, tailAgain) // the loop asks why it ended
			continue
		}
		for _, e := range entries {
			t.print(s, e)
			at = e.ID
		}
	}
	return nil //nolint:nilerr // a read that was called off is how it ends
}

// heard tells once that the server is away, and once that it is back.
func (t *tailing) heard(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.away == (err != nil) {
		return
	}
	t.away = err != nil
	d := diag.Diagnostic{Severity: diag.Notice, Code: codeServerAway, Summary: "the server answers again; nothing was missed but what was trimmed meanwhile"}
	if err != nil {
		d.Severity, d.Summary = diag.Warning, "the server is away, and is asked again: "+err.Error()
	}
	t.a.view.Diagnostic(d)
}

// print prints an entry that the flags choose.
func (t *tailing) print(s *spec.Stream, e broker.Entry) {
	if t.cmd.Flags().Changed("key") && keyOf(e) != t.flags.key {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.printed.Entry(s, e, t.flags.holds)
}

// keyOf is an entry's partition key, "" without one.
func keyOf(e broker.Entry) string {
	for _, f := range e.Fields {
		if f.Name == codec.HeaderPrefix+codec.HeaderPartitionKey {
			return f.Value
		}
	}
	return ""
}
