package telemetry

import (
	"context"
	"log/slog"
	"sync/atomic"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// link is what is known of a collector. It tells once that it is lost, and once that
// it is back.
type link struct {
	signal string
	log    *slog.Logger
	scrub  func(string) string
	lost   atomic.Bool
}

// did notes how an export went; dropped is how many spans were lost until now.
func (l *link) did(err error, dropped int64) {
	switch {
	case err != nil && !l.lost.Swap(true):
		l.log.Warn("the collector does not take "+l.signal+": "+l.scrub(err.Error())+"; the pipeline goes on without",
			slog.String("event", "otel.lost"), slog.String("signal", l.signal))
	case err == nil && l.lost.Swap(false):
		l.log.Info("the collector takes "+l.signal+" again",
			slog.String("event", "otel.back"), slog.String("signal", l.signal), slog.Int64("dropped", dropped))
	}
}

// queue hands spans to the SDK's batches as long as there is room, and counts those
// that it drops: the SDK drops them as well, and does not tell how many.
type queue struct {
	sdktrace.SpanProcessor

	most    int64
	held    atomic.Int64
	dropped atomic.Int64
	told    atomic.Bool
	link    *link
}

func newQueue(e sdktrace.SpanExporter, l *link, most int) *queue {
	q := &queue{most: int64(most), link: l}
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor(&counted{e, q}, sdktrace.WithMaxQueueSize(most))
	return q
}

// OnEnd implements sdktrace.SpanProcessor. It never waits.
func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.held.Add(1) <= q.most {
		q.SpanProcessor.OnEnd(s)
		return
	}
	q.held.Add(-1)
	q.dropped.Add(1)
	if !q.told.Swap(true) {
		q.link.log.Warn("spans are dropped: they are made faster than the collector takes them, or it does not answer; "+
			"OTEL_TRACES_SAMPLER makes fewer, OTEL_BSP_MAX_QUEUE_SIZE keeps more", slog.String("event", "otel.dropping"))
	}
}

// giveUp counts what was not exported when the process stopped.
func (q *queue) giveUp() { q.dropped.Add(q.held.Swap(0)) }

// counted is an exporter that tells the queue what it has done.
type counted struct {
	sdktrace.SpanExporter

	queue *queue
}

// ExportSpans implements sdktrace.SpanExporter. It has no error: the link tells it.
func (c *counted) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	c.queue.held.Add(-int64(len(spans)))
	if err != nil {
		c.queue.dropped.Add(int64(len(spans)))
	}
	c.queue.link.did(err, c.queue.dropped.Load())
	return nil
}

// linked is an exporter of metrics that tells its link how it went. Nothing is lost:
// the next export says all that the one before would have.
type linked struct {
	metric.Exporter

	link *link
}

// Export implements metric.Exporter.
func (l *linked) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	l.link.did(l.Exporter.Export(ctx, m), 0)
	return nil
}
