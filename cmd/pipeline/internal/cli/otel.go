package cli

import (
	"context"

	"pipeline/cmd/pipeline/internal/telemetry"
)

// getenv is os.Getenv for this run of the program.
func (a *app) getenv(name string) string {
	text, _ := a.process.Env(name)
	return text
}

// export begins to export what the variables OTEL_* ask for; traces only of a process
// that runs entries. Call the returned function when nothing runs any more.
func (o *observed) export(ctx context.Context, traces bool) (stop func()) {
	o.exports = telemetry.Start(ctx, telemetry.Read(o.app.getenv), telemetry.Options{
		Pipeline: o.pipeline, Version: version, Metrics: o.registry, NoTraces: !traces, Console: o.app.process.Stderr,
		Log: o.log, Env: o.app.getenv,
	})
	if o.exports.Tracer() != nil {
		o.Spans(o.exports.Dropped)
	}
	return o.exports.Stop
}
