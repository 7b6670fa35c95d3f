package cli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/live"
	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/broker/readonly"
	"pipeline/engine/broker/redis"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// codeNoEntries: a stream has no entry in the range.
const codeNoEntries diag.Code = "no_entries"

// rangeFlags are the flags that choose among the entries of real streams.
type rangeFlags struct {
	from, to, sample string
	count            int64
}

func (f *rangeFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.from, "from", "", "with --live, begin at the `POSITION`: an entry id, a time, or a time back from now")
	cmd.Flags().StringVar(&f.to, "to", "", "with --live, end with the `POSITION`")
	cmd.Flags().Int64Var(&f.count, "count", 0, "with --live, try at most `N` entries of each stream, the oldest of the range")
	cmd.Flags().StringVar(&f.sample, "sample", "", "with --live, try a `PART` of the entries, 1/100 or 1%, chosen by their ids: every run chooses the same")
}

// check refuses these flags without --live.
func (f *rangeFlags) check(cmd *cobra.Command, live bool) error {
	for _, name := range []string{"from", "to", "count", "sample"} {
		if !live && cmd.Flags().Changed(name) {
			return usage(cmd, "--%s goes with --live", name)
		}
	}
	if cmd.Flags().Changed("count") && f.count < 1 {
		return usage(cmd, "--count is %d; it is at least 1", f.count)
	}
	return nil
}

// options are the range in terms of ids.
func (f *rangeFlags) options(a *app, cmd *cobra.Command) (live.Options, error) {
	o := live.Options{Count: f.count}
	var err error
	now := a.clock.Now()
	if f.from != "" {
		if o.From, err = live.ParseFrom(f.from, now); err != nil {
			return o, usage(cmd, "--from: %v", err)
		}
	}
	if f.to != "" {
		if o.To, err = live.ParseTo(f.to, now); err != nil {
			return o, usage(cmd, "--to: %v", err)
		}
		if o.To.Less(o.From) {
			return o, usage(cmd, "--to (%s) is before --from (%s)", o.To, o.From)
		}
	}
	if f.sample != "" {
		if o.Sample, err = live.ParseSample(f.sample); err != nil {
			return o, usage(cmd, "--sample: %v", err)
		}
	}
	return o, nil
}

// openLive opens the server for reading and looks at the streams.
func (a *app) openLive(cmd *cobra.Command, from *dryEntries, flags dryRunFlags, of entriesOf) error {
	if of.pipeline.Broker.Kind == spec.BrokerMemory {
		return fail(exitUsage, "memory_broker", cmd.CommandPath()+" --live needs a server, and broker \"memory\" is gone when the process ends; "+
			"declare broker \"redis\", or give the entries with --input")
	}
	streams, err := pickStreams(cmd, flags.stream, of)
	if err != nil {
		return err
	}
	o, err := flags.options(a, cmd)
	if err != nil {
		return err
	}
	server, err := build.OpenRedis(of.pipeline.Broker, a.clock, a.warned)
	if err != nil {
		return invalidBroker(err)
	}
	a.leaveProcessor(of.pipeline.Broker)
	from.server = readonly.New(server)
	from.live = live.New(from.server, streams, o)
	from.progress = a.newProgressOf("tried", func(p *view.Progress) {
		p.About = max(1, from.live.Expected())
		for _, s := range from.live.Streams() {
			p.Entries += s.Given
			if s.Read > 0 {
				p.At = time.UnixMilli(int64(min(s.Last.Ms, math.MaxInt64)))
			}
		}
	})
	if err := from.live.Look(from.ctx); err != nil {
		if from.ctx.Err() != nil {
			err = fail(exitLeft, "interrupted", "stopped by a signal before anything was tried")
		} else {
			err = a.serverProblem(from.ctx, server, of.pipeline, err)
		}
		_ = server.Close() // nothing was read
		return err
	}
	return nil
}

// pickStreams are the streams to read: all that are of use, or the one that the
// flag names.
func pickStreams(cmd *cobra.Command, name string, of entriesOf) ([]*spec.Stream, error) {
	if name == "" {
		return of.streams, nil
	}
	s, err := findStream(cmd, of.pipeline, "stream", name)
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(of.streams, func(u *spec.Stream) bool { return u.Name == s.Name }) {
		return nil, usage(cmd, "--stream: no enabled subscription reads new entries of the stream %q, so there is nothing to try", s.Label)
	}
	return []*spec.Stream{s}, nil
}

// sayEmpty warns of streams without an entry in the range: nothing was tried,
// which must not look like success.
func (d *dryEntries) sayEmpty() {
	for _, s := range d.live.Streams() {
		if s.Given > 0 {
			continue
		}
		why := "holds no entry in this range"
		switch {
		case s.Length == 0:
			why = "is absent or empty on this server"
		case s.Read > 0:
			why = "has entries in this range, and the sample took none of them"
		}
		d.a.view.Diagnostic(diag.Diagnostic{
			Severity: diag.Warning, Code: codeNoEntries, Summary: fmt.Sprintf("the stream %s %s", s.Spec.Name, why),
		})
	}
}

// serverResult is the error to end with because of the server.
func (d *dryEntries) serverResult() error {
	if err := d.live.Err(); err != nil {
		return d.a.serverProblem(d.ctx, nil, d.owner, err)
	}
	return nil
}

// serverProblem prints an error of the server in the words of plan. What a key
// holds is asked for where that may be.
func (a *app) serverProblem(ctx context.Context, server *redis.Broker, p *spec.Pipeline, err error) error {
	var d diag.Diagnostic
	of, _ := errors.AsType[*live.StreamError](err)
	e, _ := errors.AsType[*broker.Error](err)
	switch {
	case errors.Is(err, broker.ErrWrongType) && of != nil:
		kind := ""
		if server != nil {
			kind, _ = server.KeyType(ctx, of.Stream.Name) // without the right to ask it is not told
		}
		d = plan.WrongType(of.Stream, kind)
	case e != nil && !p.Broker.Cluster && strings.HasPrefix(e.Detail, "MOVED"):
		d = plan.Undeclared()
	default:
		d = plan.Unreachable(err)
	}
	a.view.Diagnostic(d)
	return said(exitServer)
}
