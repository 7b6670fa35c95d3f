//go:build unix

package testspec_test

import (
	"syscall"
	"time"
)

// processTime is the time that all processors have worked for this process: it
// does not grow while others are at work.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
