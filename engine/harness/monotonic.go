package harness

import (
	"time"
	"unsafe"

	"pipeline/engine/clock"
)

// started is a time with a monotonic reading, from which others are made.
var started = clock.Real().Now()

// reading is a time of a process: what its wall clock shows, and the monotonic
// reading of one that started long ago. Only times that the machine's clock gave have both,
// and nothing in package time sets one without the other. A Time holds the wall
// clock's in its first word and the monotonic reading in its second; a test fails
// where that is no longer so.
func reading(wall time.Time, monotonic time.Duration) time.Time {
	t, m := started.Add(wall.Sub(started.Round(0))), started.Add(monotonic)
	second := func(t *time.Time) *int64 { return (*int64)(unsafe.Add(unsafe.Pointer(t), unsafe.Sizeof(uint64(0)))) }
	*second(&t) = *second(&m)
	return t
}
