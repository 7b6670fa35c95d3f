package web

import (
	"context"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/cmd/pipeline/internal/waiting"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// maskOf takes out of a page of a pending list what its stream declares sensitive.
func maskOf(b broker.Broker, printed *view.Letters) func(context.Context, *spec.Group, []view.PendingEntry) error {
	return func(ctx context.Context, g *spec.Group, page []view.PendingEntry) error {
		return waiting.MaskErrors(ctx, b, printed, g, page)
	}
}
