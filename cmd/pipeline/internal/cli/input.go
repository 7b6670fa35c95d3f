package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/input"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// inputFile is a file of entries that is being read. Next is called from one
// goroutine; the counts may be read from any.
type inputFile struct {
	a       *app
	name    string
	file    io.Closer
	size    int64
	reader  *input.Reader
	encode  *build.Entries
	record  input.Record
	entries atomic.Int64
	bad     atomic.Int64
	// offset is how many bytes were read.
	offset atomic.Int64
	// unread counts entries of streams that nobody reads, when watch is set.
	watched map[string]bool
	unread  map[*spec.Stream]int64
	// failed is why reading ended before the end of the file.
	failed error
}

// shownBadLines is how many bad lines are printed in text; the others are
// counted.
const shownBadLines = 20

// inputOptions say which file is read, and how.
type inputOptions struct {
	// path is the file; "-" is stdin.
	path string
	// target is the stream of every line; nil for envelopes.
	target *spec.Stream
	// strict refuses bodies that do not fit their stream.
	strict bool
}

// openInput opens a file of entries. Waiting for stdin ends with ctx.
func (a *app) openInput(ctx context.Context, cmd *cobra.Command, p *spec.Pipeline, o inputOptions) (*inputFile, error) {
	encode, err := build.NewEntries(p, o.strict)
	if err != nil {
		return nil, err
	}
	f := &inputFile{a: a, name: o.path, encode: encode, unread: map[*spec.Stream]int64{}}
	var from io.Reader
	if o.path == "-" {
		f.name, from = "stdin", newInterruptible(ctx, a.process.Stdin)
	} else {
		opened, size, err := openFile(cmd, o.path)
		if err != nil {
			return nil, err
		}
		f.file, f.size, from = opened, size, opened
	}
	f.reader = input.NewReader(from, p, o.target)
	return f, nil
}

func openFile(cmd *cobra.Command, path string) (*os.File, int64, error) {
	refuse := func(reason string) error {
		e := usage(cmd, "the input %s cannot be read: %s", path, reason)
		e.Code = codeInput
		e.Detail = "--input names a file of JSON Lines; - is stdin."
		return e
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, 0, refuse(systemReason(err))
	}
	info, err := file.Stat()
	if err == nil && info.IsDir() {
		err = errors.New("it is a directory")
	}
	if err != nil {
		_ = file.Close() // nothing was read from it
		return nil, 0, refuse(systemReason(err))
	}
	if !info.Mode().IsRegular() {
		return file, 0, nil
	}
	return file, info.Size(), nil
}

// watch counts entries of streams that no enabled subscription reads, in any
// version of the pipeline.
func (f *inputFile) watch(versions ...*spec.Pipeline) {
	f.watched = map[string]bool{}
	for _, p := range versions {
		for _, s := range p.Subscriptions() {
			f.watched[s.Group.Stream.Name] = true
		}
	}
}

// next returns the next entry, its line and stream. Bad lines are printed and
// passed over. ok is false at the end; failed then tells whether that was the
// file's.
func (f *inputFile) next() (line int, s *spec.Stream, fields []broker.Field, ok bool) {
	for {
		err := f.reader.Next(&f.record)
		f.offset.Store(f.reader.Offset())
		if bad, ok := errors.AsType[*input.LineError](err); ok {
			f.badLine(bad)
			continue
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				f.failed = err
			}
			return 0, nil, nil, false
		}
		line, s = f.record.Line, f.record.Stream
		if fields, err = f.encode.Fields(&f.record); err != nil {
			f.badLine(&input.LineError{Line: line, Problem: err.Error()})
			continue
		}
		f.entries.Add(1)
		if f.watched != nil && !f.watched[s.Name] {
			f.unread[s]++
		}
		return line, s, fields, true
	}
}

// badLine counts a line that cannot be used and prints it.
func (f *inputFile) badLine(bad *input.LineError) {
	if f.bad.Add(1) > shownBadLines && !f.a.json {
		return
	}
	at := diag.Pos{Line: bad.Line, Column: bad.Column}
	f.a.view.Diagnostic(diag.Diagnostic{
		Severity: diag.Error, Code: codeInputLine, Summary: bad.Problem, Suggestion: bad.Suggestion,
		Range: diag.Range{File: f.name, Start: at, End: at},
	})
}

// close closes the file and says which entries nobody reads.
func (f *inputFile) close() {
	if f.file != nil {
		_ = f.file.Close() // it was only read
	}
	for s, n := range f.unread {
		f.a.view.Diagnostic(diag.Diagnostic{
			Severity: diag.Warning, Code: codeUnread,
			Summary: fmt.Sprintf("no enabled subscription reads the stream %q; %d of the entries are for it", s.Label, n),
		})
	}
}

// result is the error to end with because of the file.
func (f *inputFile) result() error {
	if f.failed != nil {
		return fail(exitFailed, string(codeInput), fmt.Sprintf("read %s: %s; the entries before were used", f.name, systemReason(f.failed)))
	}
	switch n := f.bad.Load(); n {
	case 0:
		return nil
	case 1:
		return fail(exitFailed, "bad_lines", "1 line of "+f.name+" could not be used; the others were")
	default:
		return fail(exitFailed, "bad_lines", fmt.Sprintf("%d lines of %s could not be used; the others were", n, f.name))
	}
}
