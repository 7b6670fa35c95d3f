package cli

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/metrics"
	"pipeline/cmd/pipeline/internal/ops"
	"pipeline/cmd/pipeline/internal/telemetry"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/observe"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

// opsFlags say where those who operate a process can look at it.
type opsFlags struct {
	listen   string
	profiles bool
	// config is a file of TLS and users.
	config string
	// asked: the address was given, so that it must be had.
	asked bool
}

// opsOff is the address that means none.
const opsOff = "off"

func (f *opsFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.listen, "ops-listen", ops.Default, "serve /livez, /readyz, /startupz, /metrics and /version on this `ADDRESS`; \"off\" serves nothing")
	cmd.Flags().StringVar(&f.config, "ops-web-config", "", "serve them with the TLS and the users of this `FILE`, which has the format of Prometheus' exporters")
	cmd.Flags().BoolVar(&f.profiles, "ops-pprof", false, "serve profiles at /debug/pprof/ there, too")
}

// observed is a process that can be looked at.
type observed struct {
	*metrics.Metrics

	flags    opsFlags
	app      *app
	log      *slog.Logger
	poller   *poll.Poller
	pipeline *spec.Pipeline
	// trimmed is told of each group of which a look found that bodies of pending entries
	// are gone; nil where nothing works.
	trimmed func(*spec.Group)
	// registry is what is served and exported.
	registry *prometheus.Registry
	exports  *telemetry.Telemetry
}

// observe makes the metrics and the poller of a process; the poller asks b.
func (a *app) observe(cmd *cobra.Command, flags opsFlags, p *spec.Pipeline, b poll.Server, log *slog.Logger, next observe.Observer) *observed {
	flags.asked = cmd.Flags().Changed("ops-listen")
	o := a.observeQuietly(p, b, log, next)
	o.flags = flags
	return o
}

// observeQuietly is observe for a process that serves no health and no metrics.
func (a *app) observeQuietly(p *spec.Pipeline, b poll.Server, log *slog.Logger, next observe.Observer) *observed {
	poller := poll.New(p, b, a.clock, rand.Float64)
	m := metrics.New(p, a.clock, metrics.Build{Version: version, Revision: revision()}, turns{next, poller})
	o := &observed{Metrics: m, flags: opsFlags{listen: opsOff}, app: a, log: log, poller: poller, pipeline: p}
	m.Poll(poller)
	o.registry, o.exports = prometheus.NewRegistry(), &telemetry.Telemetry{}
	o.registry.MustRegister(m, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return o
}

// turns has the poller look when the engine knows that what was found is so no more.
type turns struct {
	observe.Observer

	poller *poll.Poller
}

// Event implements observe.Observer.
func (t turns) Event(e observe.Event) {
	switch e.Name {
	case observe.EventGroupCreated, observe.EventGroupRestored, observe.EventReading, observe.EventFailed,
		observe.EventServerLost, observe.EventServerBack:
		t.poller.Soon()
	default:
	}
	t.Observer.Event(e)
}

// checks are what the probes of a process ask.
type checks struct{ alive, started, ready []ops.Check }

// serve listens, for programs and for people, polls and samples until the returned
// function is called. It does nothing where nobody is to look.
func (o *observed) serve(ctx context.Context, of uiOf, c checks) (stop func(), err error) {
	if o.flags.listen == opsOff && of.flags.listen == uiOff && !o.exports.ExportsMetrics() {
		return func() {}, nil
	}
	closeOps, err := o.serveOps(ctx, c)
	if err != nil {
		return nil, err
	}
	closePage, err := o.page(ctx, of, c.ready)
	if err != nil {
		closeOps()
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var all sync.WaitGroup
	all.Go(func() { o.poller.Run(ctx) })
	all.Go(func() { o.Run(ctx) })
	if o.trimmed != nil {
		all.Go(func() { o.tellTrimmed(ctx) })
	}
	return func() {
		cancel()
		closePage()
		closeOps()
		all.Wait()
	}, nil
}

// tellTrimmed tells after each look of the poller of groups whose pending entries have
// lost their bodies.
func (o *observed) tellTrimmed(ctx context.Context) {
	for ctx.Err() == nil {
		changed, found := o.poller.Changed(), o.poller.Latest()
		for i := range found.Streams {
			for j := range found.Streams[i].Groups {
				if g := &found.Streams[i].Groups[j]; g.Known && g.TrimGap > 0 {
					o.trimmed(g.Spec)
				}
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// versionOf is what this program says of itself.
func (a *app) versionOf() view.Version {
	return view.Version{
		Version: version, Language: edition, Revision: revision(), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// serveOps serves health and metrics. A default address that is taken, by another
// process on this machine most likely, is only told: the pipeline matters more.
func (o *observed) serveOps(ctx context.Context, c checks) (stop func(), err error) {
	if o.flags.listen == opsOff {
		return func() {}, nil
	}
	secured, err := secure("--ops-web-config", o.flags.config, o.flags.listen)
	if err != nil {
		return nil, err
	}
	l, err := ops.Listen(ctx, o.flags.listen, ops.Handler(ops.Options{
		Alive: c.alive, Started: c.started, Ready: c.ready, Metrics: o.registry, Profiles: o.flags.profiles, Clock: o.app.clock,
		Version: o.app.versionOf(),
	}), secured, o.log)
	switch {
	case err == nil:
	case errors.Is(err, ops.ErrInUse) && !o.flags.asked:
		o.log.Warn("no health checks and no metrics here: "+ops.Default+" is in use, by another process of this program perhaps; "+
			"set --ops-listen to another address, or to off", slog.String("event", "ops.not_listening"))
		return func() {}, nil
	case errors.Is(err, ops.ErrInUse):
		return nil, fail(exitFailed, "ops_listen", err.Error()+"; set --ops-listen to another address, or to 127.0.0.1:0 for any free port")
	default:
		return nil, fail(exitUsage, "ops_listen", err.Error()+"; --ops-listen wants HOST:PORT, or off")
	}
	o.log.Info("health checks and metrics at "+l.URL(), slog.String("event", "ops.listening"), slog.String("address", l.Addr()))
	return func() {
		if err := l.Close(); err != nil {
			o.log.Warn("the ops listener did not end well", slog.String("event", "ops.closed"), slog.String("error", err.Error()))
		}
	}, nil
}
