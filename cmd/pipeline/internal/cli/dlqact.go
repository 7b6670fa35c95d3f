package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

// actFlags are the flags of dlq replay and dlq drop.
type actFlags struct {
	letterFlags
	all, yes, allGroups bool
	selection           string
	rate                int
}

// actDoc is what both commands say of themselves.
const actDoc = "By itself it only shows what it would do: the letters that the flags choose are written to a selection file, one a\n" +
	"line, and the command to act on them is printed. With --yes it acts, on that file or on what the flags choose now.\n" +
	"Without any flag that chooses, it needs --all. It may be interrupted and done again: what was done is not done twice.\n"

func (a *app) dlqReplayCommand() *cobra.Command {
	var flags actFlags
	cmd := &cobra.Command{
		Use:   "replay PATH [GROUP|STREAM]",
		Short: "Put the entries of dead letters back into their streams",
		Long: actDoc + "Each entry is added to the stream that it came from, its fields byte for byte, and its letter deleted, in one step\n" +
			"on the server. Only the group that buried it runs it: other groups of pipelines acknowledge it unrun, as they do\n" +
			"with the copy of a retry. --all-groups gives it to every group.",
		Args: pathAndScope, ValidArgsFunction: scopeCompletion,
		RunE: func(cmd *cobra.Command, args []string) error { return a.dlqAct(cmd, args, deadletters.Replay, &flags) },
	}
	flags.add(cmd)
	cmd.Flags().BoolVar(&flags.allGroups, "all-groups", false, "every group of the stream runs the entries again, not only the one that buried them")
	return cmd
}

func (a *app) dlqDropCommand() *cobra.Command {
	var flags actFlags
	cmd := &cobra.Command{
		Use:   "drop PATH [GROUP|STREAM]",
		Short: "Delete dead letters for good",
		Long:  actDoc + "What is dropped cannot be brought back: `pipeline dlq export` keeps a copy.",
		Args:  pathAndScope, ValidArgsFunction: scopeCompletion,
		RunE: func(cmd *cobra.Command, args []string) error { return a.dlqAct(cmd, args, deadletters.Drop, &flags) },
	}
	flags.add(cmd)
	return cmd
}

func (f *actFlags) add(cmd *cobra.Command) {
	f.letterFlags.add(cmd)
	flags := cmd.Flags()
	flags.BoolVar(&f.all, "all", false, "choose every letter")
	flags.BoolVar(&f.yes, "yes", false, "act, not only show")
	flags.StringVar(&f.selection, "selection", "", "act on the selection in `FILE`; with flags that choose, write it there (a new file)")
	flags.IntVar(&f.rate, "rate", 0, "do at most `N` letters a second; 0 is as fast as the server")
	complete(cmd, "selection", anyFile)
}

// acting is one run of dlq replay or dlq drop.
type acting struct {
	a      *app
	cmd    *cobra.Command
	action deadletters.Action
	flags  *actFlags
	of     *dlqScope
	server broker.Broker
	ctx    context.Context //nolint:containedctx // it lives as long as the run
}

// name is the command in messages.
func (r *acting) name() string { return "dlq " + string(r.action) }

func (a *app) dlqAct(cmd *cobra.Command, args []string, action deadletters.Action, flags *actFlags) error {
	given := flags.given(cmd)
	frozen := flags.selection != "" && given == "" && !flags.all
	switch {
	case flags.rate < 0:
		return usage(cmd, "--rate is %d; it is at least 0", flags.rate)
	case flags.all && given != "":
		return usage(cmd, "--all chooses every letter, and %s fewer; give one of them", given)
	case frozen && (len(args) > 1 || flags.allGroups):
		return usage(cmd, "the selection in --selection says what is done; a group, a stream or --all-groups beside it would not count")
	case !frozen && given == "" && !flags.all:
		return usage(cmd, "%s needs to know which letters: give a flag that chooses, or --all", cmd.CommandPath())
	}
	of, err := a.dlqScope(cmd, args)
	if err != nil {
		return err
	}
	filter, err := a.filter(cmd, &flags.letterFlags, of)
	if err != nil {
		return err
	}
	server, err := a.openServer(of.pipeline)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // everything was answered or reported
	ctx, stop := a.until(cmd)
	defer stop()
	r := &acting{a: a, cmd: cmd, action: action, flags: flags, of: of, server: server, ctx: ctx}
	var leftOut deadletters.Counts
	path := flags.selection
	if !frozen {
		var n int64
		if path, n, leftOut, err = r.freeze(filter, given); err != nil {
			return err
		}
		if n == 0 {
			left, _ := leftOut.Top(maxLeftOut)
			a.view.Selected(view.Selected{Action: action, Filter: given, LeftOut: left})
			return nil
		}
	}
	return r.onFile(path, leftOut)
}

// maxLeftOut is how many reasons for leaving letters out are shown.
const maxLeftOut = 10

// freeze writes what the flags choose to a selection file.
func (r *acting) freeze(filter deadletters.Filter, given string) (path string, n int64, leftOut deadletters.Counts, err error) {
	scan := &deadletters.Scan{Broker: r.server, Filter: filter}
	var about int64
	for _, s := range r.of.sources {
		info, err := r.server.StreamInfo(r.ctx, s.Stream.Name)
		if err != nil {
			return "", 0, leftOut, dlqError(r.ctx, r.name(), err)
		}
		about += info.Length
	}
	scan.Read = r.a.readingLetters(about)
	if given == "" {
		given = "--all"
	}
	if r.of.name != "" {
		given = shellWord(r.of.name) + " " + given
	}
	now := r.a.clock.Now()
	path = r.flags.selection
	if path == "" {
		path = filepath.Join(os.TempDir(), fmt.Sprintf("pipeline-dlq-%s-%s-%d.jsonl", r.action, now.UTC().Format("20060102T150405.000"), os.Getpid()))
	}
	selection := deadletters.Selection{
		Action: r.action, Pipeline: r.of.pipeline.Name, Filter: given, At: now.UTC(), AllGroups: r.flags.allGroups,
	}
	n, leftOut, err = deadletters.Freeze(r.ctx, scan, r.of.sources, selection, path)
	if _, ok := errors.AsType[*broker.Error](err); ok || errors.Is(err, context.Canceled) {
		return "", 0, leftOut, dlqError(r.ctx, r.name(), err)
	}
	return path, n, leftOut, fileError(err)
}

// fileError is an error of a file that was to be written.
func fileError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, fs.ErrExist):
		return fail(exitUsage, "file_exists", err.Error()+"; nothing was written")
	}
	return fail(exitFailed, "not_written", err.Error())
}

// onFile shows what a selection file holds, or acts on it.
func (r *acting) onFile(path string, leftOut deadletters.Counts) error {
	selection, err := deadletters.Open(path)
	if err != nil {
		return r.unusable(path, err)
	}
	defer func() { _ = selection.Close() }() // it was only read
	switch {
	case selection.Action != r.action:
		return r.unusable(path, &deadletters.SelectionError{Path: path, Problem: "is for dlq " + string(selection.Action)})
	case selection.Pipeline != r.of.pipeline.Name:
		return r.unusable(path, &deadletters.SelectionError{Path: path, Problem: "is of the pipeline " + strconv.Quote(selection.Pipeline)})
	}
	places, problem := r.places(&selection.Preview, selection.AllGroups)
	if !r.flags.yes {
		r.a.view.Selected(r.selected(path, selection, places, leftOut))
		return problem
	}
	if problem != nil {
		return problem
	}
	return r.act(path, selection)
}

func (r *acting) unusable(path string, err error) error {
	if bad, ok := errors.AsType[*deadletters.SelectionError](err); ok {
		return fail(exitUsage, string(codeSelection), r.name()+": "+bad.Error()+"; nothing was done")
	}
	return fail(exitUsage, string(codeSelection), fmt.Sprintf("%s: the selection %s cannot be read: %s; nothing was done", r.name(), path, systemReason(err)))
}

// selected is a preview as it is shown.
func (r *acting) selected(path string, s *deadletters.Reader, places []view.SelectedPlace, leftOut deadletters.Counts) view.Selected {
	out := view.Selected{
		Action: r.action, File: path, Filter: s.Filter, AllGroups: s.AllGroups, Letters: s.Letters,
		Oldest: s.Oldest.String(), Newest: s.Newest.String(), Places: places, Next: r.next(path),
	}
	out.Reasons, _ = s.Reasons.Top(maxLeftOut)
	out.LeftOut, _ = leftOut.Top(maxLeftOut)
	return out
}

// next is the command that acts on a selection.
func (r *acting) next(path string) string {
	words := []string{r.of.path, "--selection", path, "--yes"}
	if r.flags.rate > 0 {
		words = append(words, "--rate", strconv.Itoa(r.flags.rate))
	}
	return r.a.commandLine(r.name(), words...)
}

// act does what the selection says.
func (r *acting) act(path string, selection *deadletters.Reader) error {
	var now deadletters.Result
	progress := r.a.newProgressOf(string(r.action), func(p *view.Progress) {
		p.Entries, p.About = now.Total-now.Left(), max(1, now.Total)
	})
	problems := 0
	apply := &deadletters.Apply{
		Broker: r.server, Pipeline: r.of.pipeline, Clock: r.a.clock, Rate: r.flags.rate,
		Progress: func(so deadletters.Result) {
			now = so
			progress.show()
		},
		Problem: func(c deadletters.Chosen, why string) {
			if problems++; problems <= shownBadLines || r.a.json {
				r.a.view.LetterProblem(c, why)
			}
		},
	}
	result, err := apply.Run(r.ctx, selection)
	acted := view.NewActed(result, clock.Since(r.a.clock, progress.start))
	acted.File = path
	if err != nil {
		acted.Next = r.next(path)
	}
	r.a.view.Acted(r.action, acted)
	r.audit(path, selection, result, err)
	switch {
	case err != nil && r.ctx.Err() != nil && errors.Is(err, context.Canceled):
		return fail(exitLeft, "interrupted", fmt.Sprintf("%s: stopped by a signal: %d of %d letters were done, the others were not touched", r.name(), result.Done, result.Total))
	case err != nil:
		return fmt.Errorf("%s: %w", r.name(), err)
	case result.Refused+result.Changed > 0:
		return fail(exitFailed, string(codeLettersLeft), fmt.Sprintf("%s: %d letters stay where they are; the lines above say why", r.name(), result.Refused+result.Changed))
	}
	return nil
}
