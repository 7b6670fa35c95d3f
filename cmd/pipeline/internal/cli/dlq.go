package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/live"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

func (a *app) dlqCommand() *cobra.Command {
	dlq := &cobra.Command{
		Use:   "dlq",
		Short: "Look at dead letters, replay, drop or export them",
		Long: "dlq works with the entries that were set aside: in the dead-letter streams of the pipeline's groups, default ones\n" +
			"too. list, show, stats and export only read. replay and drop show what they would do, freeze it to a file, and act\n" +
			"only with --yes.",
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	dlq.AddCommand(a.dlqListCommand(), a.dlqShowCommand(), a.dlqStatsCommand(), a.dlqReplayCommand(), a.dlqDropCommand(), a.dlqExportCommand())
	return dlq
}

// letterFlags choose letters.
type letterFlags struct {
	reasons, subscriptions, ids, entries []string
	text, key, since, until              string
}

func (f *letterFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringArrayVar(&f.reasons, "reason", nil, "only letters of this `REASON`: "+strings.Join(deadletters.Reasons, ", ")+"; may repeat")
	flags.StringArrayVar(&f.subscriptions, "subscription", nil, "only letters that the subscription `NAME` buried; may repeat")
	flags.StringVar(&f.text, "error", "", "only letters whose error holds this `TEXT`, in capitals or not")
	flags.StringVar(&f.key, "key", "", "only letters of entries with the partition key `KEY`")
	flags.StringVar(&f.since, "since", "", "only letters buried at this `POSITION` or later: an id, a time (2026-01-02T15:04:05Z), or 24h or 7d back from now")
	flags.StringVar(&f.until, "until", "", "only letters buried at this `POSITION` or before")
	flags.StringArrayVar(&f.ids, "id", nil, "only the letter with this `ID`; may repeat")
	flags.StringArrayVar(&f.entries, "entry", nil, "only letters of the entry with this `ID`; may repeat")
	complete(cmd, "reason", words(deadletters.Reasons...))
}

// filterFlags are the names of the flags that choose letters.
var filterFlags = []string{"reason", "subscription", "error", "key", "since", "until", "id", "entry"}

// given are the filter's flags as they were typed, for whoever reads a selection.
func (f *letterFlags) given(cmd *cobra.Command) string {
	var parts []string
	for _, name := range filterFlags {
		flag := cmd.Flags().Lookup(name)
		if !flag.Changed {
			continue
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(interface{ GetSlice() []string }); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			parts = append(parts, "--"+name+" "+shellWord(v))
		}
	}
	return strings.Join(parts, " ")
}

// filter reads the flags.
func (a *app) filter(cmd *cobra.Command, f *letterFlags, of *dlqScope) (deadletters.Filter, error) {
	out := deadletters.Filter{Reasons: f.reasons, Subscriptions: f.subscriptions, Error: f.text}
	if of.group != nil {
		out.Group, out.GroupStream = of.group.Name, of.group.Stream.Name
	}
	for _, r := range f.reasons {
		if err := oneOf(cmd, "reason", r, deadletters.Reasons...); err != nil {
			return out, err
		}
	}
	if cmd.Flags().Changed("key") {
		out.Key = &f.key
	}
	var err error
	now := a.clock.Now()
	if f.since != "" {
		if out.From, err = live.ParseFrom(f.since, now); err != nil {
			return out, usage(cmd, "--since: %v", err)
		}
	}
	if f.until != "" {
		if out.To, err = live.ParseTo(f.until, now); err != nil {
			return out, usage(cmd, "--until: %v", err)
		}
		if out.To.Less(out.From) {
			return out, usage(cmd, "--until (%s) is before --since (%s)", out.To, out.From)
		}
	}
	if out.IDs, err = idList(cmd, "id", f.ids); err != nil {
		return out, err
	}
	out.Entries, err = idList(cmd, "entry", f.entries)
	return out, err
}

func idList(cmd *cobra.Command, flag string, texts []string) ([]broker.ID, error) {
	var ids []broker.ID
	for _, text := range texts {
		id, err := broker.ParseID(text)
		if err != nil {
			return nil, usage(cmd, "--%s: %v", flag, err)
		}
		ids = append(ids, id)
	}
	return ids, nil
}

// dlqScope is which letters a command is about.
type dlqScope struct {
	path     string
	pipeline *spec.Pipeline
	// name is the argument after PATH, "" for all dead-letter streams.
	name    string
	sources []*deadletters.Source
	group   *spec.Group
}

// pathAndScope checks the arguments PATH [GROUP|STREAM].
func pathAndScope(cmd *cobra.Command, args []string) error {
	if len(args) > 2 {
		return usage(cmd, "%s takes a PATH, and a group or a dead-letter stream; here are %d arguments", cmd.CommandPath(), len(args))
	}
	return onePath(cmd, args[:min(1, len(args))])
}

// dlqScope loads the pipeline and finds the letters that the arguments name.
func (a *app) dlqScope(cmd *cobra.Command, args []string) (*dlqScope, error) {
	p, err := a.loadServed(cmd, args[0])
	if err != nil {
		return nil, err
	}
	s := &dlqScope{path: args[0], pipeline: p, sources: deadletters.Sources(p)}
	if len(args) > 1 {
		source, group, near := deadletters.Find(p, args[1])
		if source == nil {
			return nil, usage(cmd, "the pipeline has no group and no dead-letter stream %q", args[1]).near(near)
		}
		s.name, s.sources, s.group = args[1], []*deadletters.Source{source}, group
	}
	return s, nil
}

// scopeCompletion completes PATH, and behind it groups and dead-letter streams.
func scopeCompletion(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 0:
		return pipelineFiles(cmd, args, toComplete)
	case 1:
		return labels("", "group")(cmd, args, toComplete)
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// dlqError is an error that ended a command which reads letters.
func dlqError(ctx context.Context, command string, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return fail(exitLeft, "interrupted", command+": stopped by a signal before the end of the letters")
	}
	return fmt.Errorf("%s: %w", command, err)
}

// until is the context of a command that a signal ends.
func (a *app) until(cmd *cobra.Command) (context.Context, func()) {
	return a.untilSignal(cmd.Context(), func(os.Signal) {})
}

// commandLine is a command to go on with, as a shell takes it. The values of
// variables are left out: they may be secrets.
func (a *app) commandLine(command string, words ...string) string {
	out := []string{"pipeline", command}
	for _, w := range words {
		out = append(out, shellWord(w))
	}
	return strings.Join(out, " ") + a.loadFlags()
}

// about writes command lines for the pipeline of a path: what comes after it are the
// words.
func (a *app) about(path string) func(command string, words ...string) string {
	return func(command string, words ...string) string {
		return a.commandLine(command, append([]string{path}, words...)...)
	}
}

// loadFlags are the flags that say how the pipeline is loaded, as a shell takes them, with a
// space before each.
func (a *app) loadFlags() string {
	var out strings.Builder
	for _, v := range a.vars {
		name, _, _ := strings.Cut(v, "=")
		out.WriteString(" --var " + shellWord(name) + "=…")
	}
	for _, f := range a.varFiles {
		out.WriteString(" --var-file " + shellWord(f))
	}
	return out.String()
}

// shellWord is a word as a shell takes it.
func shellWord(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=@%+", r)
	}
	if s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !plain(r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// codes of dlq.
const (
	codeLetterNotFound  diag.Code = "letter_not_found"
	codeLettersLeft     diag.Code = "letters_left"
	codeSelection       diag.Code = "selection_unusable"
	codeGroupAbsent     diag.Code = "group_absent"
	codeGroupUnread     diag.Code = "group_unread"
	codeSensitive       diag.Code = "sensitive_fields"
	codePendingNotFound diag.Code = "pending_not_found"
)
