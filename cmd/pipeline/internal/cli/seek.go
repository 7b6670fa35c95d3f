package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/seek"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// positionDoc says what a position is.
const positionDoc = "POSITION is $, the end of the stream; 0, its beginning; an entry ID, for what comes behind it; or a time\n" +
	"(2026-01-02T15:04:05Z, or 24h or 7d back from now), for what was added then or later."

// seekFlags are the flags of seek.
type seekFlags struct {
	at  string
	yes bool
}

func (a *app) seekCommand() *cobra.Command {
	var flags seekFlags
	cmd := &cobra.Command{
		Use:   "seek PATH GROUP=POSITION",
		Short: "Move a group to another position of its stream",
		Long: "seek has a group begin elsewhere: farther back, so that entries are delivered again, or farther on, so that it passes\n" +
			"over entries that nobody was given, which are then never run. By itself it only shows how many entries that would\n" +
			"be, and which, and prints the command that does this and no more. With --yes it acts.\n\n" +
			positionDoc + "\n\n" +
			"Entries that are pending behind the position are delivered as new ones, with all their attempts. Since a worker may\n" +
			"have them, that is refused while any of the group is alive. The position that a lost group is read again from moves\n" +
			"with the group.",
		Args: pathAndPosition, ValidArgsFunction: positionCompletion,
		RunE: func(cmd *cobra.Command, args []string) error { return a.seek(cmd, args, flags) },
	}
	cmd.Flags().StringVar(&flags.at, "at", "", "act only if no more is delivered again or passed over than with the group at this `ID`")
	cmd.Flags().BoolVar(&flags.yes, "yes", false, "act, not only show")
	return cmd
}

// pathAndPosition checks the arguments PATH GROUP=POSITION.
func pathAndPosition(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 2:
		return usage(cmd, "%s takes a PATH and one GROUP=POSITION; here are %d arguments", cmd.CommandPath(), len(args))
	case len(args) == 1:
		return usage(cmd, "%s needs a GROUP=POSITION behind the PATH", cmd.CommandPath())
	}
	return onePath(cmd, args[:min(1, len(args))])
}

// positionCompletion completes PATH, and behind it groups.
func positionCompletion(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return pipelineFiles(cmd, args, toComplete)
	case 1:
		return labels("=", "group")(cmd, args, toComplete)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// target is a group and where it is to be moved.
type target struct {
	group *spec.Group
	to    seek.Position
	// given is the position as it was typed.
	given string
}

// parseTarget reads GROUP=POSITION; what is where it stands on the command line.
func (a *app) parseTarget(cmd *cobra.Command, p *spec.Pipeline, what, text string) (target, error) {
	name, position, ok := strings.Cut(text, "=")
	if !ok || position == "" {
		return target{}, usage(cmd, "%s is %q; it is GROUP=POSITION, such as ledger=0", what, text)
	}
	t := target{given: position}
	var names []string
	for _, g := range p.Groups {
		if g.Label == name || g.Name == name && t.group == nil {
			t.group = g
		}
		names = append(names, g.Label)
	}
	if t.group == nil {
		return t, usage(cmd, "%s: the pipeline has no group %q", what, name).near(diag.Nearest(name, names))
	}
	var err error
	if t.to, err = seek.ParsePosition(position, a.clock.Now()); err != nil {
		return t, usage(cmd, "%s: %v", what, err)
	}
	return t, nil
}

func (a *app) seek(cmd *cobra.Command, args []string, flags seekFlags) error {
	seen := broker.MaxID
	if flags.at != "" {
		var err error
		if seen, err = broker.ParseID(flags.at); err != nil {
			return usage(cmd, "--at: %v", err)
		}
	}
	p, err := a.loadServed(cmd, args[0])
	if err != nil {
		return err
	}
	t, err := a.parseTarget(cmd, p, "the position", args[1])
	if err != nil {
		return err
	}
	server, err := a.openServer(p)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // everything was answered or reported
	ctx, stop := a.until(cmd)
	defer stop()
	if !flags.yes {
		preview, err := seek.Look(ctx, server, t.group, t.to)
		if err != nil {
			return seekError(ctx.Err() != nil, t, err)
		}
		if preview.Beyond() {
			return beyond(t, &preview)
		}
		a.view.Seek(view.NewSeek(&preview, a.commandLine("seek", args[0], t.group.Label+"="+preview.To.String(), "--at", preview.From.String(), "--yes")))
		return nil
	}
	preview, sought, err := seek.Move(ctx, server, t.group, t.to, seen, nil)
	if err != nil {
		return seekError(ctx.Err() != nil, t, err)
	}
	if err := notSought(t, &preview, sought); err != nil {
		return err
	}
	a.view.Sought(view.NewSought(&preview, sought))
	a.auditSeek(a.view.Logger(slog.LevelInfo), p, t, &preview, sought)
	return nil
}

// seekError is an error that ended a seek.
func seekError(interrupted bool, t target, err error) error {
	switch {
	case seek.Absent(err):
		return fail(exitServer, string(codeGroupAbsent), "seek: the group "+t.group.Name+" does not exist on "+t.group.Stream.Name+
			"; `pipeline apply` creates it")
	case interrupted:
		return fail(exitLeft, "interrupted", "seek: stopped by a signal; the same command may be given again")
	case errors.Is(err, broker.ErrUnavailable):
		return fmt.Errorf("seek: %w; if the answer was lost, the group may have been moved: the same command may be given again", err)
	}
	return fmt.Errorf("seek: %w", err)
}

// beyond refuses a position beyond the end of the stream.
func beyond(t target, p *seek.Preview) error {
	at := p.To.String()
	if at != t.given {
		at = t.given + ", " + at + ","
	}
	return fail(exitUsage, string(codeSeekBeyond), fmt.Sprintf("seek: %s is beyond the last id of %s, which is %s: entries would be passed over "+
		"that are not added yet; $ is the end", at, t.group.Stream.Name, p.Last))
}

// notSought is why a seek was not done, nil if it was.
func notSought(t target, p *seek.Preview, s broker.Sought) error {
	name := t.group.Name + " of " + t.group.Stream.Name
	switch s.Status {
	case broker.SeekInUse:
		who := "consumer is"
		if s.Alive != 1 {
			who = "consumers are"
		}
		text := fmt.Sprintf("seek: entries behind %s are pending in the group %s, and %d %s alive and may be working on them; "+
			"stop the workers of the group first. One that is gone without a word counts until %s",
			p.To, name, s.Alive, who, s.Until.UTC().Format(time.RFC3339))
		return fail(exitFailed, string(codeGroupInUse), text+left(p, s))
	case broker.SeekMoved:
		return fail(exitFailed, string(codeGroupMoved), fmt.Sprintf("seek: the group %s stands at %s by now, and more would be delivered again, "+
			"or passed over, than was shown; look again, with its workers stopped", name, s.At)+left(p, s))
	case broker.SeekBeyond:
		return beyond(t, p)
	}
	return nil
}

// left says where a group stands now that was not moved, or not all the way.
func left(p *seek.Preview, s broker.Sought) string {
	if s.At == s.From {
		return ". Nothing was changed"
	}
	return fmt.Sprintf(". It was moved part of the way, from %s to %s", p.From, s.At)
}

// auditSeek logs who moved which group, and what that comes to.
func (a *app) auditSeek(log *slog.Logger, p *spec.Pipeline, t target, v *seek.Preview, s broker.Sought) {
	attrs := append(a.auditAttrs("group.sought", p),
		slog.String("stream", t.group.Stream.Name), slog.String("group", t.group.Name),
		slog.String("position", t.given), slog.String("from", s.From.String()), slog.String("to", s.At.String()),
		slog.Int64("delivered_again", v.Again.Entries), slog.Int64("skipped", v.Skipped.Entries),
		slog.Bool("exact", v.Again.Exact || v.Skipped.Exact), slog.Int64("freed", s.Freed))
	log.Warn("the group was moved to another position", attrs...)
}

// codes of seek.
const (
	codeSeekBeyond diag.Code = "position_beyond"
	codeGroupInUse diag.Code = "group_in_use"
	codeGroupMoved diag.Code = "group_moved"
	codeSeekSkips  diag.Code = "seek_skips"
)
