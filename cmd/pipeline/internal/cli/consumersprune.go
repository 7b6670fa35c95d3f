package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/consumers"
	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker/redis"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// pruneFlags are the flags of consumers prune.
type pruneFlags struct {
	group, selection string
	names            []string
	idle             time.Duration
	all, yes         bool
}

func (a *app) consumersPruneCommand() *cobra.Command {
	var flags pruneFlags
	cmd := &cobra.Command{
		Use:   "prune PATH",
		Short: "Remove consumers that hold nothing and that nobody is behind",
		Long: "prune removes the names that dead processes left in the groups. By itself it only shows which: those that the flags\n" +
			"choose are written to a selection file, and the command to act on it is printed. With --yes it acts, on that file or\n" +
			"on what the flags choose now. Without any flag that chooses, it needs --all.\n\n" +
			"Only a consumer goes under which nothing is pending, whose name no process holds a lease of, and that has not read or\n" +
			"claimed for --idle. The server decides that in the same step in which it removes it, so that one that was given an\n" +
			"entry meanwhile stays. It may be interrupted and done again.",
		Example: "  pipeline consumers prune examples/payments.hcl --group ledger\n" +
			"  pipeline consumers prune examples/payments.hcl --idle 24h --yes\n" +
			"  pipeline consumers prune examples/payments.hcl --selection chosen.jsonl --yes",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.consumersPrune(cmd, args[0], &flags) },
	}
	set := cmd.Flags()
	set.StringVar(&flags.group, "group", "", "only consumers of the group `NAME`")
	set.StringArrayVar(&flags.names, "consumer", nil, "only the consumer `NAME`; may repeat")
	set.DurationVar(&flags.idle, "idle", plan.StaleAfter, "only consumers that have not read or claimed for this `TIME`")
	set.BoolVar(&flags.all, "all", false, "choose every consumer that may be removed")
	set.BoolVar(&flags.yes, "yes", false, "act, not only show")
	set.StringVar(&flags.selection, "selection", "", "act on the selection in `FILE`; with flags that choose, write it there (a new file)")
	complete(cmd, "selection", anyFile)
	return cmd
}

// given are the flags that choose, as they were typed.
func (f *pruneFlags) given(cmd *cobra.Command) string {
	var parts []string
	if f.group != "" {
		parts = append(parts, "--group "+shellWord(f.group))
	}
	for _, name := range f.names {
		parts = append(parts, "--consumer "+shellWord(name))
	}
	if cmd.Flags().Changed("idle") {
		parts = append(parts, "--idle "+f.idle.String())
	}
	return strings.Join(parts, " ")
}

// pruning is one run of consumers prune.
type pruning struct {
	a        *app
	path     string
	flags    *pruneFlags
	pipeline *spec.Pipeline
	groups   []*spec.Group
	server   *redis.Broker
}

func (a *app) consumersPrune(cmd *cobra.Command, path string, flags *pruneFlags) error {
	given := flags.given(cmd)
	frozen := flags.selection != "" && given == "" && !flags.all
	switch {
	case flags.idle < 0:
		return usage(cmd, "--idle is %v; it is 0s or longer", flags.idle)
	case flags.all && (flags.group != "" || len(flags.names) > 0):
		return usage(cmd, "--all chooses every consumer, and %s fewer; give one of them", given)
	case !frozen && given == "" && !flags.all:
		return usage(cmd, "%s needs to know which consumers: give a flag that chooses, or --all", cmd.CommandPath())
	}
	p, groups, server, err := a.openConsumers(cmd, path, flags.group)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // everything was answered or reported
	ctx, stop := a.until(cmd)
	defer stop()
	r := &pruning{a: a, path: path, flags: flags, pipeline: p, groups: groups, server: server}
	var leftOut deadletters.Counts
	file := flags.selection
	if !frozen {
		if flags.all {
			given = strings.TrimSpace("--all " + given)
		}
		if file, err = r.freeze(ctx, given, &leftOut); err != nil || file == "" {
			return err
		}
	}
	return r.onFile(ctx, file, &leftOut)
}

// freeze writes what the flags choose to a selection file; "" where that is nothing,
// which is told.
func (r *pruning) freeze(ctx context.Context, given string, leftOut *deadletters.Counts) (string, error) {
	filter := consumers.Filter{Names: r.flags.names, Idle: r.flags.idle}
	now := r.a.clock.Now()
	s := &consumers.Selection{Pipeline: r.pipeline.Name, Filter: given, At: now.UTC(), Idle: r.flags.idle.Milliseconds()}
	for _, g := range r.groups {
		list, _, err := consumers.Look(ctx, r.server, g)
		if err != nil {
			return "", consumersError(ctx, "consumers prune", err)
		}
		for _, c := range filter.Choose(list, leftOut) {
			s.Chosen = append(s.Chosen, consumers.Chosen{Stream: g.Stream.Name, Group: g.Name, Consumer: c.Name})
		}
	}
	if len(s.Chosen) == 0 {
		top, _ := leftOut.Top(maxLeftOut)
		r.a.view.PruneSelected(view.PruneSelection{Filter: given, Idle: s.Idle, LeftOut: top})
		return "", nil
	}
	path := r.flags.selection
	if path == "" {
		path = filepath.Join(os.TempDir(), fmt.Sprintf("pipeline-consumers-prune-%s-%d.jsonl", now.UTC().Format("20060102T150405.000"), os.Getpid()))
	}
	return path, fileError(s.Write(path))
}

// onFile shows what a selection file holds, or acts on it.
func (r *pruning) onFile(ctx context.Context, path string, leftOut *deadletters.Counts) error {
	s, err := consumers.Open(path)
	if err != nil {
		if bad, ok := errors.AsType[*deadletters.SelectionError](err); ok {
			return fail(exitUsage, string(codeSelection), "consumers prune: "+bad.Error()+"; nothing was done")
		}
		return fail(exitUsage, string(codeSelection), fmt.Sprintf("consumers prune: the selection %s cannot be read: %s; nothing was done", path, systemReason(err)))
	}
	if s.Pipeline != r.pipeline.Name {
		bad := &deadletters.SelectionError{Path: path, Problem: "is of the pipeline " + strconv.Quote(s.Pipeline)}
		return fail(exitUsage, string(codeSelection), "consumers prune: "+bad.Error()+"; nothing was done")
	}
	next := r.a.commandLine("consumers prune", r.path, "--selection", path, "--yes")
	if !r.flags.yes {
		top, _ := leftOut.Top(maxLeftOut)
		r.a.view.PruneSelected(view.PruneSelection{File: path, Filter: s.Filter, Idle: s.Idle, Chosen: s.Chosen, LeftOut: top, Next: next})
		return nil
	}
	return r.act(ctx, path, s, next)
}

// act removes what the selection names.
func (r *pruning) act(ctx context.Context, path string, s *consumers.Selection, next string) error {
	result, err := consumers.Prune(ctx, r.server, s, r.a.view.ConsumerKept)
	out := view.Pruned{File: path, Total: result.Total, Removed: result.Removed, Gone: result.Gone, Kept: result.Kept, Left: result.Left()}
	if err != nil {
		out.Next = next
	}
	r.a.view.Pruned(out)
	r.audit(path, s, &result, err)
	switch {
	case err != nil && ctx.Err() != nil && errors.Is(err, context.Canceled):
		return fail(exitLeft, "interrupted", fmt.Sprintf("consumers prune: stopped by a signal: %d of %d consumers were not looked at", result.Left(), result.Total))
	case err != nil:
		return fmt.Errorf("consumers prune: %w", err)
	case result.Kept > 0:
		return fail(exitFailed, string(codeConsumersKept), fmt.Sprintf("consumers prune: %d of the selection stay; the lines above say why", result.Kept))
	}
	return nil
}

// audit logs who removed how many consumers: one line for every run that acts.
func (r *pruning) audit(path string, s *consumers.Selection, result *consumers.Result, err error) {
	attrs := append(r.a.auditAttrs("consumers.pruned", r.pipeline),
		slog.String("selection", path), slog.String("filter", s.Filter), slog.Time("selected_at", s.At),
		slog.Int("consumers", result.Total), slog.Int("removed", result.Removed), slog.Int("gone", result.Gone),
		slog.Int("kept", result.Kept), slog.Int("left", result.Left()))
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	r.a.view.Logger(slog.LevelInfo).Warn("consumers were removed", attrs...)
}

// codes of consumers.
const codeConsumersKept diag.Code = "consumers_kept"
