package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/live"
	"pipeline/cmd/pipeline/internal/replay"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// replayFlags are the flags of replay.
type replayFlags struct {
	from, to, group string
	publish, yes    bool
}

func (a *app) replayCommand() *cobra.Command {
	var flags replayFlags
	cmd := &cobra.Command{
		Use:   "replay PATH SUBSCRIPTION --from POSITION --group NEW",
		Short: "Run a range of a stream once more, in a group of its own",
		Long: "replay runs the entries of a subscription's stream from one position to another with its handler, in a new group that\n" +
			"reads nothing behind the range. The subscription's own group and its workers go on untouched. By itself it only\n" +
			"shows how many entries that are, and prints the command that runs them and no others. With --yes it acts.\n\n" +
			"What the handler replies is counted and not published, because it may have been before; with --publish it is\n" +
			"published, once for each entry of this replay. Entries that fail are retried, and in the end become dead letters.\n\n" +
			"The name of the group is that of the replay. Broken off, the same command goes on; when all is settled the group is\n" +
			"removed, and a replay of that name does nothing any more. To run the range again, take another name.",
		Example: "  pipeline replay examples/payments.hcl screen_payment --from 24h --group screened-again\n" +
			"  pipeline replay examples/payments.hcl screen_payment --from 1700000000000-0 --to 1700000360000-0 --group fix-7 --publish --yes",
		Args: pathAndSubscription, ValidArgsFunction: subscriptionCompletion,
		RunE: func(cmd *cobra.Command, args []string) error { return a.replay(cmd, args, flags) },
	}
	set := cmd.Flags()
	set.StringVar(&flags.from, "from", "", "begin at this `POSITION`: an id, a time (2026-01-02T15:04:05Z), or 24h or 7d back from now")
	set.StringVar(&flags.to, "to", "", "end at this `POSITION`, with it; default the last entry that is there now")
	set.StringVar(&flags.group, "group", "", "the `NAME` of the new group, and of this replay")
	set.BoolVar(&flags.publish, "publish", false, "publish what the handler replies, whether it was published before or not")
	set.BoolVar(&flags.yes, "yes", false, "act, not only show")
	complete(cmd, "group", cobra.NoFileCompletions)
	complete(cmd, "to", cobra.NoFileCompletions)
	return cmd
}

// pathAndSubscription checks the arguments PATH SUBSCRIPTION.
func pathAndSubscription(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 2:
		return usage(cmd, "%s takes a PATH and one SUBSCRIPTION; here are %d arguments", cmd.CommandPath(), len(args))
	case len(args) == 1:
		return usage(cmd, "%s needs a SUBSCRIPTION behind the PATH", cmd.CommandPath())
	}
	return onePath(cmd, args[:min(1, len(args))])
}

// subscriptionCompletion completes PATH, and behind it subscriptions.
func subscriptionCompletion(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return pipelineFiles(cmd, args, toComplete)
	case 1:
		return labels("", "subscription")(cmd, args, toComplete)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// pickSubscription is the subscription of that label.
func pickSubscription(cmd *cobra.Command, p *spec.Pipeline, label string) (*spec.Subscription, error) {
	var names []string
	for _, s := range p.Subscriptions() {
		if s.Label == label {
			return s, nil
		}
		names = append(names, s.Label)
	}
	return nil, usage(cmd, "the pipeline has no enabled subscription %q", label).near(diag.Nearest(label, names))
}

// check reads the flags as far as that takes no server.
func (f *replayFlags) check(cmd *cobra.Command, a *app, p *spec.Pipeline, s *spec.Subscription) (*replay.Range, error) {
	switch {
	case f.from == "":
		return nil, usage(cmd, "%s needs --from, where it begins", cmd.CommandPath())
	case f.group == "":
		return nil, usage(cmd, "%s needs --group, the name of the new group", cmd.CommandPath())
	}
	for _, g := range p.Groups {
		if g.Stream.Name == s.Group.Stream.Name && g.Name == f.group {
			return nil, usage(cmd, "--group is %q, which is a group of the pipeline; a replay takes a new name", f.group)
		}
	}
	r := &replay.Range{Subscription: s, Group: f.group, Publish: f.publish, Last: broker.MaxID}
	now := a.clock.Now()
	var err error
	if r.First, err = live.ParseFrom(f.from, now); err != nil {
		return nil, usage(cmd, "--from: %v", err)
	}
	if f.to != "" {
		if r.Last, err = live.ParseTo(f.to, now); err != nil {
			return nil, usage(cmd, "--to: %v", err)
		}
	}
	// No entry has the id 0-0, and a group cannot stand before it.
	if r.First.IsZero() {
		r.First = r.First.Next()
	}
	if r.Last.Less(r.First) {
		return nil, usage(cmd, "--to (%s) is before --from (%s)", r.Last, r.First)
	}
	return r, nil
}

func (a *app) replay(cmd *cobra.Command, args []string, flags replayFlags) error {
	p, err := a.loadServed(cmd, args[0])
	if err != nil {
		return err
	}
	sub, err := pickSubscription(cmd, p, args[1])
	if err != nil {
		return err
	}
	r, err := flags.check(cmd, a, p, sub)
	if err != nil {
		return err
	}
	if flags.yes && flags.to == "" {
		return usage(cmd, "--yes runs a range that was looked at: give the command without it, and then the one that it prints")
	}
	server, err := build.OpenRedis(p.Broker, a.clock, a.warned)
	if err != nil {
		return invalidBroker(err)
	}
	defer func() { _ = server.Close() }() // everything was answered or reported
	if flags.yes {
		return a.runReplay(cmd, p, server, r, a.nextReplay(args[0], r))
	}
	ctx, stop := a.until(cmd)
	defer stop()
	info, err := server.StreamInfo(ctx, sub.Group.Stream.Name)
	if err != nil {
		return replayError(ctx, err)
	}
	if info.LastID.Less(r.Last) { // what is added later is not looked at now
		r.Last = broker.Later(info.LastID, r.First)
	}
	preview, err := replay.Look(ctx, server, r)
	if err != nil {
		return replayError(ctx, err)
	}
	if err := notReplayed(r, preview.State, preview.Other); err != nil {
		return err
	}
	a.view.Replay(view.NewReplay(r, &preview, a.nextReplay(args[0], r)))
	return nil
}

// nextReplay is the command that runs a range.
func (a *app) nextReplay(path string, r *replay.Range) string {
	words := []string{path, r.Subscription.Label, "--from", r.First.String(), "--to", r.Last.String(), "--group", r.Group}
	if r.Publish {
		words = append(words, "--publish")
	}
	return a.commandLine("replay", append(words, "--yes")...)
}

// runReplay runs a range until all of it is settled, or a signal.
func (a *app) runReplay(cmd *cobra.Command, p *spec.Pipeline, server *redis.Broker, r *replay.Range, next string) error {
	log := a.view.Logger(slog.LevelInfo)
	handlers, err := build.Compile(p, build.LogHost(log))
	if err != nil {
		return err
	}
	defer func() { _ = handlers.Close() }() // nothing runs by then
	ctx, stop := a.untilSignal(cmd.Context(), func(os.Signal) {})
	defer stop()
	failures := view.NewFailures(log, a.clock, p)
	result, err := replay.Run(ctx, p, server, r, replay.Settings{
		Handlers: handlers.ByLabel(), Clock: a.clock, Logger: log, Observer: failures,
	})
	failures.Close()
	if refused := notReplayed(r, result.State, result.Other); err == nil && refused != nil {
		return refused
	}
	if result.State == redis.ReplayEnded {
		a.view.Replay(view.NewReplay(r, &replay.Preview{State: result.State}, ""))
		return nil
	}
	if result.Ended {
		next = ""
	}
	a.view.Replayed(r, &result, next)
	a.auditReplay(log, p, r, &result, err)
	switch {
	case err != nil:
		return replayError(ctx, err)
	case !result.Ended:
		return fail(exitLeft, "entries_left", "replay: entries of the range are still pending; the same command goes on")
	}
	return nil
}

// notReplayed is why a replay cannot be run under its name, nil if it can.
func notReplayed(r *replay.Range, state redis.ReplayState, other string) error {
	name := "replay: the group " + r.Group + " of " + r.Subscription.Group.Stream.Name
	switch state {
	case redis.ReplayOther:
		return fail(exitFailed, string(codeReplayName), name+" is that of another replay ("+other+"); take another name. Nothing was changed")
	case redis.ReplayTaken:
		return fail(exitFailed, string(codeReplayName), name+" exists, or existed, and is no replay; take a name that is free. Nothing was changed")
	}
	return nil
}

// replayError is an error that ended a replay.
func replayError(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return fail(exitLeft, "interrupted", "replay: stopped by a signal; what was settled is not run again, and the same command goes on")
	}
	return fmt.Errorf("replay: %w", err)
}

// auditReplay logs who ran which range again, and what that came to.
func (a *app) auditReplay(log *slog.Logger, p *spec.Pipeline, r *replay.Range, result *replay.Result, err error) {
	attrs := append(a.auditAttrs("group.replayed", p),
		slog.String("stream", r.Subscription.Group.Stream.Name), slog.String("group", r.Group), slog.String("subscription", r.Subscription.Label),
		slog.String("from", r.First.String()), slog.String("to", r.Last.String()), slog.Bool("publish", r.Publish),
		slog.Bool("ended", result.Ended), slog.Int64("unpublished", result.Unpublished))
	for _, outcome := range view.Results() {
		if n := result.Settled[outcome]; n > 0 {
			attrs = append(attrs, slog.Int64(string(outcome), n))
		}
	}
	if err != nil {
		attrs = append(attrs, slog.String("error", err.Error()))
	}
	log.Warn("a range was run again", attrs...)
}

// codes of replay.
const codeReplayName diag.Code = "replay_name_taken"
