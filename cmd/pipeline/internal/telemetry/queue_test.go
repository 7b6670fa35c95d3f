package telemetry

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// exporter takes spans, or fails, once it is let.
type exporter struct {
	let chan struct{}
	err error

	mu    sync.Mutex
	taken int
}

func (e *exporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	select {
	case <-e.let:
	case <-ctx.Done():
		return ctx.Err()
	}
	if e.err != nil {
		return e.err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.taken += len(spans)
	return nil
}

func (*exporter) Shutdown(context.Context) error { return nil }

// TestEverySpanIsExportedOrCounted: those beyond the queue are dropped at once, and
// who makes them does not wait.
func TestEverySpanIsExportedOrCounted(t *testing.T) {
	const most, made = 64, 1000
	for name, test := range map[string]struct {
		err  error
		want int64 // of what is dropped
	}{
		"a slow collector":            {nil, made - most},
		"a collector that takes none": {errors.New("no"), made},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			e := &exporter{let: make(chan struct{}), err: test.err}
			q := newQueue(e, &link{signal: "traces", log: slog.New(slog.NewTextHandler(&log, nil)), scrub: secretsOf(func(string) string { return "" })}, most)
			provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(q))
			for range made {
				_, s := provider.Tracer("t").Start(t.Context(), "s")
				s.End()
			}
			if got := q.dropped.Load(); got != made-most {
				t.Errorf("%d dropped while the collector is slow, want %d", got, made-most)
			}
			close(e.let)
			if err := provider.Shutdown(t.Context()); err != nil {
				t.Fatal(err)
			}
			q.giveUp()
			if got := q.dropped.Load(); got != test.want || int64(e.taken)+got != made {
				t.Errorf("%d taken, %d dropped of %d", e.taken, got, made)
			}
			if n := strings.Count(log.String(), "event=otel.dropping"); n != 1 {
				t.Errorf("told %d times:\n%s", n, log.String())
			}
		})
	}
}

// TestWhatStandsInHeadersIsHidden: as it is written, and as it is meant.
func TestWhatStandsInHeadersIsHidden(t *testing.T) {
	env := map[string]string{
		"OTEL_EXPORTER_OTLP_HEADERS":        "authorization=Bearer%20abc, x= key7 ,nonsense",
		"OTEL_EXPORTER_OTLP_TRACES_HEADERS": "y=zzz",
	}
	scrub := secretsOf(func(name string) string { return env[name] })
	for text, want := range map[string]string{
		"a Bearer abc b":                    "a (hidden) b",
		"a Bearer%20abc b":                  "a (hidden) b",
		"key7zzz":                           "(hidden)(hidden)",
		env["OTEL_EXPORTER_OTLP_HEADERS"]:   "(hidden)",
		"dial tcp 127.0.0.1:4318: no route": "dial tcp 127.0.0.1:4318: no route",
	} {
		if got := scrub(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestWhatTheEnvironmentAsksFor(t *testing.T) {
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	for name, test := range map[string]struct {
		env             map[string]string
		traces, metrics Signal
		problems        int
	}{
		"nothing":             {nil, Signal{Exporter: None}, Signal{Exporter: None}, 0},
		"an endpoint":         {map[string]string{endpoint: "http://a"}, Signal{Exporter: OTLP}, Signal{Exporter: OTLP}, 0},
		"of one signal":       {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://a"}, Signal{Exporter: OTLP}, Signal{Exporter: None}, 0},
		"the default one":     {map[string]string{"OTEL_METRICS_EXPORTER": "otlp"}, Signal{Exporter: None}, Signal{Exporter: OTLP}, 0},
		"console":             {map[string]string{"OTEL_TRACES_EXPORTER": "console"}, Signal{Exporter: Console}, Signal{Exporter: None}, 0},
		"none comes first":    {map[string]string{endpoint: "http://a", "OTEL_TRACES_EXPORTER": "none"}, Signal{Exporter: None}, Signal{Exporter: OTLP}, 0},
		"disabled":            {map[string]string{endpoint: "http://a", "OTEL_SDK_DISABLED": "TRUE"}, Signal{Exporter: None}, Signal{Exporter: None}, 0},
		"protocols apart":     {map[string]string{endpoint: "http://a", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf"}, Signal{Exporter: OTLP}, Signal{OTLP, true}, 0},
		"one wrong endpoint":  {map[string]string{endpoint: "http://a", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "a:4318"}, Signal{Exporter: OTLP}, Signal{Exporter: None}, 1},
		"one told once":       {map[string]string{endpoint: "http://a", "OTEL_EXPORTER_OTLP_TIMEOUT": "x"}, Signal{Exporter: OTLP}, Signal{Exporter: OTLP}, 1},
		"spaces are no value": {map[string]string{endpoint: "  "}, Signal{Exporter: None}, Signal{Exporter: None}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := Read(func(name string) string { return test.env[name] })
			if s.Traces != test.traces || s.Metrics != test.metrics || len(s.Problems) != test.problems {
				t.Errorf("traces %v, metrics %v, %q", s.Traces, s.Metrics, s.Problems)
			}
		})
	}
}
