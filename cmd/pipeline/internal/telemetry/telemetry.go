// Package telemetry exports traces and metrics by OTLP, as the standard variables
// OTEL_* of the environment ask for. Without one that asks, nothing is made and
// nothing is connected to.
//
// A collector that is away or slow costs spans, which are counted, and never the
// pipeline's time: what is handed over is queued up to a bound and dropped beyond it.
package telemetry

import (
	"context"
	"crypto/rand"
	"io"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"pipeline/engine/observe"
	"pipeline/engine/spec"
)

// Scope names the program as the maker of spans and metrics.
const Scope = "pipeline"

// flushWithin bounds how long Stop waits for a collector, flushLost for one that did
// not take what it was sent last.
const (
	flushWithin = 5 * time.Second
	flushLost   = time.Second
)

// Options are what a process exports from.
type Options struct {
	Pipeline *spec.Pipeline
	// Version is the program's.
	Version string
	// Metrics are exported where metrics are asked for; nil exports none.
	Metrics prometheus.Gatherer
	// NoTraces: the process runs no entries.
	NoTraces bool
	// Console is where the exporter of that name writes.
	Console io.Writer
	Log     *slog.Logger
	// Env is os.Getenv: what it holds for headers is kept out of all that is logged.
	Env func(string) string
}

// Telemetry is what a process exports. The zero Telemetry exports nothing.
type Telemetry struct {
	log    *slog.Logger
	tracer *tracer
	spans  *queue
	traces *sdktrace.TracerProvider
	meters *metric.MeterProvider
	links  []*link
}

// Start begins to export what the settings ask for. What is wrong with them is
// logged, and that signal, or that setting, is left out: a pipeline does not stay
// down for the sake of its traces. Call Stop of what it returns.
func Start(ctx context.Context, s Settings, o Options) *Telemetry {
	t := &Telemetry{log: o.Log}
	scrub := secretsOf(o.Env)
	for _, p := range s.Problems {
		o.Log.Warn(scrub(p), slog.String("event", "otel.misconfigured"))
	}
	if o.NoTraces {
		s.Traces.Exporter = None
	}
	if s.Traces.Exporter == None && s.Metrics.Exporter == None {
		return t
	}
	otel.SetLogger(logr.Discard()) // it would print the values of variables
	otel.SetErrorHandler(quiet{})  // what it says of settings, with their values, was said above
	defer otel.SetErrorHandler(newComplaints(o.Log, scrub))
	about := resourceOf(ctx, o)
	if s.Traces.Exporter != None {
		t.startTraces(ctx, s, o, about, scrub)
	}
	if s.Metrics.Exporter != None && o.Metrics != nil {
		t.startMetrics(ctx, s, o, about, scrub)
	}
	return t
}

// resourceOf says who exports. What the environment says of it comes last.
func resourceOf(ctx context.Context, o Options) *resource.Resource {
	named := []resource.Option{resource.WithAttributes(
		semconv.ServiceName(o.Pipeline.Name), semconv.ServiceInstanceID(rand.Text()),
	)}
	if v := o.Pipeline.Version; v != "" {
		named = append(named, resource.WithAttributes(semconv.ServiceVersion(v)))
	}
	// An error leaves out what could not be found; the settings have said what is wrong.
	about, _ := resource.New(ctx, append(named, resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())...)
	return about
}

func (t *Telemetry) startTraces(ctx context.Context, s Settings, o Options, about *resource.Resource, scrub func(string) string) {
	exporter, err := spanExporter(ctx, s.Traces, o.Console)
	if err != nil {
		t.cannot("traces", err, scrub)
		return
	}
	l := t.link("traces", scrub)
	t.spans = newQueue(exporter, l, s.Queue)
	t.traces = sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(t.spans), sdktrace.WithResource(about), sdktrace.WithIDGenerator(ids{}),
	)
	t.tracer = newTracer(t.traces.Tracer(Scope), propagation.NewCompositeTextMapPropagator(s.Propagators...), o.Pipeline)
	o.Log.Info("exporting traces", slog.String("event", "otel.exporting"), slog.String("signal", "traces"), slog.String("exporter", string(s.Traces.Exporter)))
}

func (t *Telemetry) startMetrics(ctx context.Context, s Settings, o Options, about *resource.Resource, scrub func(string) string) {
	exporter, err := metricExporter(ctx, s.Metrics, o.Console)
	if err != nil {
		t.cannot("metrics", err, scrub)
		return
	}
	reader := metric.NewPeriodicReader(&linked{exporter, t.link("metrics", scrub)}, metric.WithProducer(NewProducer(o.Metrics, o.Version)))
	t.meters = metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(about))
	o.Log.Info("exporting metrics", slog.String("event", "otel.exporting"), slog.String("signal", "metrics"), slog.String("exporter", string(s.Metrics.Exporter)))
}

func (t *Telemetry) cannot(signal string, err error, scrub func(string) string) {
	t.log.Warn("no "+signal+" are exported: "+scrub(err.Error()), slog.String("event", "otel.misconfigured"), slog.String("signal", signal))
}

func (t *Telemetry) link(signal string, scrub func(string) string) *link {
	l := &link{signal: signal, log: t.log, scrub: scrub}
	t.links = append(t.links, l)
	return l
}

// Tracer makes the spans of an engine; nil where no traces are exported.
func (t *Telemetry) Tracer() observe.Tracer {
	if t.tracer == nil {
		return nil
	}
	return t.tracer
}

// ExportsMetrics reports whether metrics are exported, so that somebody has to
// gather them.
func (t *Telemetry) ExportsMetrics() bool { return t.meters != nil }

// Dropped is how many spans were not exported. It is safe for concurrent use.
func (t *Telemetry) Dropped() int64 {
	if t.spans == nil {
		return 0
	}
	return t.spans.dropped.Load()
}

// Stop exports what is there still, within a few seconds, and ends. The pipeline must
// have stopped.
func (t *Telemetry) Stop() {
	within := flushWithin
	for _, l := range t.links {
		if l.lost.Load() {
			within = flushLost
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	if t.traces != nil {
		_ = t.traces.Shutdown(ctx) // what could not be exported is counted
		t.spans.giveUp()
	}
	if t.meters != nil {
		_ = t.meters.Shutdown(ctx)
	}
	if n := t.Dropped(); n > 0 {
		t.log.Warn("some spans were not exported", slog.String("event", "otel.dropped"), slog.Int64("count", n))
	}
}
