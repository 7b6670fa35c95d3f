package build

import (
	"context"
	"log/slog"

	"pipeline/sandbox"
)

// LogHost writes what handlers log into the program's own log.
func LogHost(log *slog.Logger) sandbox.Host { return logHost{log} }

type logHost struct{ log *slog.Logger }

// Log writes one line, with the entry that was being run.
func (h logHost) Log(d *sandbox.Delivery, line sandbox.LogLine) {
	ctx := context.Background()
	level := slog.Level(line.Level)
	if !h.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{slog.String("event", "handler.log")}
	if d != nil {
		attrs = append(attrs, slog.String("subscription", d.Subscription), slog.String("id", d.ID))
	}
	own := make([]any, 0, len(line.Attrs))
	for _, a := range line.Attrs {
		own = append(own, slog.String(a.Name, a.Value))
	}
	if len(own) > 0 {
		attrs = append(attrs, slog.Group("attrs", own...))
	}
	h.log.LogAttrs(ctx, level, line.Message, attrs...)
}
