//go:build !linux

package bench

import (
	"context"
	"time"

	"pipeline/engine/clock"
)

// pause waits for a short time.
func pause(d time.Duration) {
	_ = clock.Sleep(context.Background(), clock.Real(), d) // nothing ends it early
}
