// Package harness runs a whole pipeline on a server in memory and a clock that
// stands still until it is moved: the production engine as it is, with workers
// that crash, servers that go away and answers that are lost where a test says
// so. The same calls give the same state in every run, byte for byte, whatever
// else the machine does. Config.Open puts another server in the place of that in
// memory, if it keeps to the clock.
//
//	h, err := harness.New(harness.Config{Pipeline: p, Handlers: handlers})
//	defer h.Close()
//	h.Publish(…)              // what is in the streams before the service starts
//	w, err := h.Start(ctx)    // a worker process
//	h.Publish(…)
//	err = h.Settle(ctx)       // run until nothing happens without time passing
//	err = h.Advance(ctx, 30*time.Second)
//	h.Calls("post_payment")   // what came of it
//
// # Time
//
// Time passes only in Advance, Stop and Worker.Stop. Advance fires what is due
// on the way one after the other, each at its own time, and lets everything
// that it causes come to rest before the next. What is usually spread by chance
// (the jitter of retries, pauses between attempts to reach the server) is in
// its middle: a retry with a delay of 1s comes 1s later.
//
// # Order
//
// Goroutines run one at a time: see clock.Turns. Entries that can be run at the
// same moment run in the order of their ids, those of one id in the order of
// the subscriptions in the pipeline file; what has finished by then is settled
// together. Handlers that take time (Sleep, the fault Slow) overlap as those of
// several workers do.
//
// # Crashes
//
// A crashed worker is dead from the instant of the crash: nothing that it does
// afterwards has any effect. It leaves the server what a killed process leaves:
// entries pending under its consumer, a lease that runs out, a consumer. Its
// entries come back by min_idle. Start or Revive start another worker, under
// another name.
//
// # Limits
//
// Handlers that use real time, real randomness or shared state are as
// repeatable as that. The time limit of a script is real time; Slow is the way
// to reach it. A handler that never returns makes Settle fail after
// Config.Patience; only Settle and Close may be called then, which go on once it
// has returned.
package harness
