// Package testrun runs the tests of a pipeline: each with a server in memory,
// workers, handlers and a stopped clock of its own, as engine/harness makes
// them. The same suite gives the same results in every run, however many tests
// run at once; the only real time in them is Result.Took.
//
//	for r := range testrun.Run(ctx, suite.Tests, testrun.Options{Clock: clock.Real()}) {
//		…	// in the order of the tests
//	}
//
// # Time
//
// Nothing in a test waits for real time. A handler's own limits.timeout is time
// of the machine, though, and a slow machine must not fail a test: scripts get
// at least RealLimit, and one that takes that long makes the test an error that
// says so. What ends a script that loops for ever is its instruction limit,
// which is the same everywhere. The fault "slow" is how a test reaches
// limits.timeout.
//
// # What is an error
//
// A test fails when an assert does not hold, or when the service does not refuse
// to start as it is expected to. It is an error when it could not be carried
// out: the service does not start, does not come to rest, cannot be stopped; or
// a fault never struck, so that what the test is about never happened.
package testrun
