package engine

import (
	"context"
	"log/slog"

	"pipeline/engine/observe"
)

// logEvent writes an event as one line with a constant event attribute.
func logEvent(log *slog.Logger, e observe.Event) {
	attrs := []slog.Attr{slog.String("event", string(e.Name))}
	add := func(name, value string) {
		if value != "" {
			attrs = append(attrs, slog.String(name, value))
		}
	}
	add("subscription", e.Subscription)
	add("stream", e.Stream)
	add("group", e.Group)
	if e.Count > 0 {
		attrs = append(attrs, slog.Int("count", e.Count))
	}
	if e.Err != nil {
		add("error", e.Err.Error())
	}
	log.LogAttrs(context.Background(), slog.Level(e.Level), e.Message, attrs...)
}
