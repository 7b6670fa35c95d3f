//go:build !unix

package testspec_test

import "time"

var testBegin = time.Now()

// processTime is the time since the tests began.
func processTime() time.Duration { return time.Since(testBegin) }
