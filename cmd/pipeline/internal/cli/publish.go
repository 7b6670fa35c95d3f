package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
)

// publishFlags are the flags of publish.
type publishFlags struct {
	to, input string
	wait      time.Duration
}

func (a *app) publishCommand() *cobra.Command {
	var flags publishFlags
	cmd := &cobra.Command{
		Use:   "publish PATH --to STREAM",
		Short: "Add the entries of a file to streams",
		Long: "publish adds entries to the streams of a pipeline, in the order of the file. With --to each line is a body for\n" +
			"that stream; without it each line is an envelope {\"stream\":…,\"entry\":{…},\"key\":…,\"headers\":{…}},\n" +
			"or a letter as dlq export writes it, whose fields are added byte for byte.\n" +
			"A body that does not fit the type that its stream declares is reported with its line and not added.\n" +
			"Near a stream's max_backlog publish slows down, and there it waits. When nothing can be added for as long as\n" +
			"--wait it ends, with exit code 5, and names the line to go on from.",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.publish(cmd, args[0], flags) },
	}
	cmd.Flags().StringVar(&flags.to, "to", "", "each line is a body for the stream `NAME`")
	cmd.Flags().StringVar(&flags.input, "input", "-", "read entries from a `FILE`; - is stdin")
	cmd.Flags().DurationVar(&flags.wait, "wait", time.Minute, "wait up to a `TIME` for room in a stream that has reached its max_backlog")
	return cmd
}

func (a *app) publish(cmd *cobra.Command, path string, flags publishFlags) error {
	if flags.wait < 0 {
		return usage(cmd, "--wait wants a time like 1m, or 0 not to wait")
	}
	p, err := a.loadServed(cmd, path)
	if err != nil {
		return err
	}
	var target *spec.Stream
	if flags.to != "" {
		if target, err = findStream(cmd, p, "to", flags.to); err != nil {
			return err
		}
	}
	ctx, stop := a.untilSignal(cmd.Context(), func(os.Signal) {})
	defer stop()
	in, err := a.openInput(ctx, cmd, p, inputOptions{path: flags.input, target: target, strict: true})
	if err != nil {
		return err
	}
	defer in.close()
	server, err := a.openServer(p)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // every entry was answered or reported
	if _, err := server.Probe(ctx); err != nil {
		return fmt.Errorf("publish: nothing was added: %w", err)
	}
	return a.addEntries(ctx, server, in, a.newGates(p, server, flags.wait))
}

// Batches of publish: enough to hide the round trip, small enough that the
// server and this process hold little at a time.
const (
	publishBatch = 500
	publishBytes = 1 << 20
	publishAhead = 4
)

// publishing is a batch with the lines that it came from.
type publishing struct {
	adds  []broker.Add
	lines []int
	bytes int
}

// addEntries adds what the input holds, as far as there is room for it: one
// goroutine reads and encodes while this one waits for the server.
func (a *app) addEntries(ctx context.Context, server broker.Broker, in *inputFile, gates *gates) error {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	batches := make(chan publishing, publishAhead)
	go func() {
		defer close(batches)
		readBatches(reading, in, batches)
	}()
	added := added{streams: map[string]*view.StreamCount{}}
	progress := a.newProgress("published", in)
	var failed error
	for b := range batches {
		if failed != nil || ctx.Err() != nil {
			continue // until the reader has ended
		}
		for len(b.adds) > 0 && failed == nil && ctx.Err() == nil {
			n, err := gates.pass(ctx, b.adds)
			if err != nil {
				failed = passFailure(ctx, in, b, err)
				break
			}
			part := b.cut(n)
			ids, err := server.Add(context.WithoutCancel(ctx), part.adds)
			added.count(part, ids)
			if err != nil {
				failed = addFailure(part, ids, err)
			}
			progress.show()
		}
		if failed != nil {
			stop()
		}
	}
	a.view.Published(added.summary(in.bad.Load(), clock.Since(a.clock, progress.start)))
	switch {
	case failed != nil:
		return failed
	case ctx.Err() != nil:
		return fail(exitLeft, "interrupted", "stopped by a signal: "+added.reach())
	}
	return in.result()
}

// cut takes the first n entries off.
func (b *publishing) cut(n int) publishing {
	first := publishing{adds: b.adds[:n], lines: b.lines[:n]}
	b.adds, b.lines = b.adds[n:], b.lines[n:]
	return first
}

// readBatches reads the input into batches until its end or ctx is done.
func readBatches(ctx context.Context, in *inputFile, to chan<- publishing) {
	var b publishing
	send := func() bool {
		if len(b.adds) == 0 {
			return true
		}
		select {
		case to <- b:
			b = publishing{}
			return true
		case <-ctx.Done():
			return false
		}
	}
	in.reader.BeforeWait(func() { send() })
	for {
		line, s, fields, ok := in.next()
		if !ok {
			send()
			return
		}
		b.adds = append(b.adds, broker.Add{Stream: s.Name, Fields: fields})
		b.lines = append(b.lines, line)
		for _, f := range fields {
			b.bytes += len(f.Name) + len(f.Value)
		}
		if (len(b.adds) == publishBatch || b.bytes >= publishBytes) && !send() {
			return
		}
	}
}

// addFailure says what is known of a batch that failed.
func addFailure(b publishing, ids []broker.ID, err error) error {
	exit, word := classify(err)
	first := b.lines[min(len(ids), len(b.lines)-1)]
	text := fmt.Sprintf("%v; the entries from line %d on were not added", err, first)
	if errors.Is(err, broker.ErrUnavailable) {
		last := b.lines[len(b.lines)-1]
		text = fmt.Sprintf("%v; whether the entries of lines %d to %d were added is not known, those after were not", err, first, last)
	}
	return &failure{Failure: view.Failure{Exit: exit, Code: word, Message: text}, err: err}
}

// passFailure says why the entries of a batch were not even tried; nil when a
// signal is the reason.
func passFailure(ctx context.Context, in *inputFile, b publishing, err error) error {
	line := b.lines[0]
	if full, ok := errors.AsType[noRoomError](err); ok {
		next := fmt.Sprintf("give the lines from %d on again", line)
		if in.name != "stdin" {
			next = fmt.Sprintf("go on with `tail -n +%d %s | pipeline publish …`", line, in.name)
		}
		return fail(exitLeft, codeBacklogFull, fmt.Sprintf("%v; the entries from line %d on were not added. When its readers have caught up, %s", full, line, next))
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // the signal is told, with how far it came
	}
	exit, word := classify(err)
	text := fmt.Sprintf("%v; the entries from line %d on were not added", err, line)
	return &failure{Failure: view.Failure{Exit: exit, Code: word, Message: text}, err: err}
}

// added counts what the server has confirmed.
type added struct {
	streams map[string]*view.StreamCount
	entries int64
	// last is the line of the last entry.
	last int
}

func (d *added) count(b publishing, ids []broker.ID) {
	for i, id := range ids {
		name := b.adds[i].Stream
		s := d.streams[name]
		if s == nil {
			s = &view.StreamCount{Stream: name, FirstID: id.String()}
			d.streams[name] = s
		}
		s.Entries++
		s.LastID = id.String()
		d.entries++
		d.last = b.lines[i]
	}
}

// reach says how far an input was added that was not read to its end.
func (d *added) reach() string {
	if d.entries == 0 {
		return "nothing was added"
	}
	return fmt.Sprintf("the entries up to line %d were added, those after were not", d.last)
}

func (d *added) summary(rejected int64, elapsed time.Duration) view.Published {
	p := view.Published{Entries: d.entries, Rejected: rejected, Millis: elapsed.Milliseconds()}
	for s := range maps.Values(d.streams) {
		p.Streams = append(p.Streams, *s)
	}
	slices.SortFunc(p.Streams, func(a, b view.StreamCount) int { return cmp.Compare(a.Stream, b.Stream) })
	return p
}
