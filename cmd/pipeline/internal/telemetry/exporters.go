package telemetry

import (
	"context"
	"io"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetricgrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/exporters/stdout/stdoutmetric"
	"go.opentelemetry.io/otel/exporters/stdout/stdouttrace"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// The exporters read their own variables: endpoint, headers, timeout, compression,
// certificates. Settings has looked at them before.

func spanExporter(ctx context.Context, s Signal, console io.Writer) (sdktrace.SpanExporter, error) {
	switch {
	case s.Exporter == Console:
		return stdouttrace.New(stdouttrace.WithWriter(console))
	case s.GRPC:
		return otlptracegrpc.New(ctx)
	}
	return otlptracehttp.New(ctx)
}

func metricExporter(ctx context.Context, s Signal, console io.Writer) (metric.Exporter, error) {
	switch {
	case s.Exporter == Console:
		return stdoutmetric.New(stdoutmetric.WithWriter(console))
	case s.GRPC:
		return otlpmetricgrpc.New(ctx)
	}
	return otlpmetrichttp.New(ctx)
}
