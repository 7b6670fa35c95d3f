package cli

import (
	"context"
	"iter"
	"os"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/live"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
)

// entriesOf says whose entries are tried.
type entriesOf struct {
	// pipeline names the streams of an input file, and the server.
	pipeline *spec.Pipeline
	// versions are the pipeline, and the other one of a comparison.
	versions []*spec.Pipeline
	// streams are those whose entries are of use.
	streams []*spec.Stream
}

// dryEntries are the entries of a dry-run: those of a file, or of real streams.
// Its methods are called from one goroutine, but for entries, whose sequence
// another one reads meanwhile.
type dryEntries struct {
	a        *app
	ctx      context.Context
	progress *progress
	// in is the file, nil when live and server are set.
	in     *inputFile
	live   *live.Reader
	server broker.Broker
	// owner is the pipeline whose server it is.
	owner *spec.Pipeline
	// noTimes: nothing is said of how long things took.
	noTimes bool

	// count are the entries that were tried, by their stream; each run of several
	// subscriptions counts once.
	count map[string]*triedStream
	last  struct {
		stream string
		id     broker.ID
	}
}

// triedStream is how far the entries of a stream were tried.
type triedStream struct {
	entries int64
	last    broker.ID
}

// openEntries opens what the flags name. The first signal ends its context; stop
// gives the signals back.
func (a *app) openEntries(cmd *cobra.Command, flags dryRunFlags, of entriesOf) (from *dryEntries, stop func(), err error) {
	ctx, stop := a.untilSignal(cmd.Context(), func(os.Signal) {})
	from = &dryEntries{a: a, ctx: ctx, owner: of.pipeline, noTimes: flags.noTimes, count: map[string]*triedStream{}}
	if flags.live {
		err = a.openLive(cmd, from, flags, of)
	} else {
		err = a.openInputEntries(cmd, from, flags, of)
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return from, stop, nil
}

func (a *app) openInputEntries(cmd *cobra.Command, from *dryEntries, flags dryRunFlags, of entriesOf) error {
	var target *spec.Stream
	var err error
	if flags.stream != "" {
		if target, err = findStream(cmd, of.pipeline, "stream", flags.stream); err != nil {
			return err
		}
	}
	if from.in, err = a.openInput(from.ctx, cmd, of.pipeline, inputOptions{path: flags.input, target: target}); err != nil {
		return err
	}
	from.in.watch(of.versions...)
	from.progress = a.newProgress("tried", from.in)
	return nil
}

// entries are what is tried, in order. Those of a file have the numbers of their
// lines as ids.
func (d *dryEntries) entries() iter.Seq[engine.DryEntry] {
	if d.live != nil {
		return func(yield func(engine.DryEntry) bool) {
			for e := range d.live.Entries(d.ctx) {
				d.progress.step()
				if !yield(e) {
					return
				}
			}
		}
	}
	return func(yield func(engine.DryEntry) bool) {
		for {
			line, stream, fields, ok := d.in.next()
			if !ok {
				return
			}
			d.progress.step()
			if !yield(engine.DryEntry{Stream: stream, ID: broker.ID{Ms: uint64(line)}, Fields: fields}) {
				return
			}
		}
	}
}

// tried counts an entry of which an outcome came.
func (d *dryEntries) tried(s *spec.Stream, id broker.ID) {
	if d.last.id == id && d.last.stream == s.Name {
		return
	}
	d.last.id, d.last.stream = id, s.Name
	c := d.count[s.Name]
	if c == nil {
		c = &triedStream{}
		d.count[s.Name] = c
	}
	c.entries++
	c.last = id
}

// close ends reading and says what has to be said of it.
func (d *dryEntries) close() {
	if d.in != nil {
		d.in.close()
		return
	}
	_ = d.server.Close() // it was only read
	if d.ctx.Err() == nil && d.live.Err() == nil {
		d.sayEmpty()
	}
}

// summary is how many entries were tried.
func (d *dryEntries) summary() view.DrySummary {
	if d.in != nil {
		return view.DrySummary{Entries: d.in.entries.Load()}
	}
	s := view.DrySummary{Elapsed: clock.Since(d.a.clock, d.progress.start), Live: []view.LiveStream{}}
	if d.noTimes {
		s.Elapsed = 0
	}
	for _, read := range d.live.Streams() {
		l := view.LiveStream{Stream: read.Spec.Name, Read: read.Read, Done: read.Done}
		if c := d.count[read.Spec.Name]; c != nil {
			l.Tried, l.Last, l.Next = c.entries, c.last.String(), c.last.Next().String()
		}
		// What was read and not tried any more is still to do.
		if l.Done = l.Done && l.Tried == read.Given; l.Done {
			l.Next = ""
		}
		s.Entries += l.Tried
		s.Live = append(s.Live, l)
	}
	return s
}

// result is the error to end with because of the entries.
func (d *dryEntries) result() error {
	switch {
	case d.ctx.Err() != nil && d.in != nil:
		return fail(exitLeft, "interrupted", "stopped by a signal before the end of the input")
	case d.ctx.Err() != nil:
		return fail(exitLeft, "interrupted", "stopped by a signal before the end of the streams; the summary says how far they were tried")
	case d.in != nil:
		return d.in.result()
	}
	return d.serverResult()
}
