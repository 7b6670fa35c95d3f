package bench

import (
	"syscall"
	"time"
)

// pause waits for a short time more exactly than a timer of Go's: that wakes an
// idle process up to a millisecond late.
func pause(d time.Duration) {
	t := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&t, nil) // a signal may end it early, and whoever waits looks at the clock
}
