package cli

import (
	"context"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/broker/readonly"
)

// dlqListFlags are the flags of dlq list.
type dlqListFlags struct {
	letterFlags
	limit          int64
	after          string
	newest, count  bool
	sensitiveShown bool
}

func (a *app) dlqListCommand() *cobra.Command {
	var flags dlqListFlags
	cmd := &cobra.Command{
		Use:   "list PATH [GROUP|STREAM]",
		Short: "List dead letters: which entry, why, and where",
		Long: "list shows the letters of every dead-letter stream of the pipeline, or those that a group buried, or those of one\n" +
			"dead-letter stream; the oldest first. It reads the server and changes nothing. What streams declare sensitive is\n" +
			"masked.",
		Args: pathAndScope, ValidArgsFunction: scopeCompletion,
		RunE: func(cmd *cobra.Command, args []string) error { return a.dlqList(cmd, args, flags) },
	}
	flags.add(cmd)
	cmd.Flags().Int64Var(&flags.limit, "limit", defaultPending, "list at most `N` letters of a stream")
	cmd.Flags().StringVar(&flags.after, "after", "", "go on after the letter with this `ID`, where an earlier list ended")
	cmd.Flags().BoolVar(&flags.newest, "newest", false, "list the newest first")
	cmd.Flags().BoolVar(&flags.count, "count", false, "only count")
	cmd.Flags().BoolVar(&flags.sensitiveShown, "show-sensitive", false, "show what streams declare sensitive")
	return cmd
}

func (a *app) dlqList(cmd *cobra.Command, args []string, flags dlqListFlags) error {
	if flags.limit < 1 {
		return usage(cmd, "--limit is %d; it is at least 1", flags.limit)
	}
	of, err := a.dlqScope(cmd, args)
	if err != nil {
		return err
	}
	filter, err := a.filter(cmd, &flags.letterFlags, of)
	if err != nil {
		return err
	}
	scan := &deadletters.Scan{Filter: filter, Newest: flags.newest}
	if flags.after != "" {
		if len(of.sources) > 1 {
			return usage(cmd, "--after is about one dead-letter stream; name it, or a group, behind the path")
		}
		if scan.After, err = broker.ParseID(flags.after); err != nil {
			return usage(cmd, "--after: %v", err)
		}
	}
	server, err := a.openServer(of.pipeline)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // nothing was written
	scan.Broker = readonly.New(server)
	ctx, stop := a.until(cmd)
	defer stop()
	printed := a.view.Letters(of.pipeline, flags.sensitiveShown)
	var pages []view.LetterPage
	for _, s := range of.sources {
		page, err := a.listLetters(ctx, scan, s, flags, printed)
		if err != nil {
			printed.Shown(pages)
			return dlqError(ctx, "dlq list", err)
		}
		pages = append(pages, page)
	}
	printed.Shown(pages)
	return nil
}

// listLetters prints or counts the letters of one stream.
func (a *app) listLetters(ctx context.Context, scan *deadletters.Scan, s *deadletters.Source, flags dlqListFlags, to *view.Letters) (view.LetterPage, error) {
	page := view.LetterPage{Letters: s.Stream.Name}
	info, err := scan.Broker.StreamInfo(ctx, s.Stream.Name)
	if err != nil {
		return page, err
	}
	page.Total = info.Length
	if flags.count {
		n := info.Length
		if !scan.Filter.Empty() || !scan.After.IsZero() {
			n, err = a.countLetters(ctx, scan, s, info.Length)
		}
		page.Matched = &n
		return page, err
	}
	var last broker.ID
	for l, err := range scan.Letters(ctx, s) {
		if err != nil {
			return page, err
		}
		if page.Shown == flags.limit {
			page.After = last.String()
			break
		}
		to.Row(&l)
		page.Shown, last = page.Shown+1, l.ID
	}
	return page, nil
}

// countLetters reads them all.
func (a *app) countLetters(ctx context.Context, scan *deadletters.Scan, s *deadletters.Source, about int64) (n int64, err error) {
	scan.Read = a.readingLetters(about)
	for _, err := range scan.Letters(ctx, s) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// readingLetters shows how far letters have been read, of about so many.
func (a *app) readingLetters(about int64) func(int, broker.ID) {
	var read int64
	var at broker.ID
	progress := a.newProgressOf("read", func(p *view.Progress) {
		p.Entries, p.About, p.At = read, max(about, read), deadletters.At(at)
	})
	return func(n int, last broker.ID) {
		read, at = read+int64(n), last
		progress.show()
	}
}
