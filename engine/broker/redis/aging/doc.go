// Package aging runs pipelines on a real Redis in the time of a clock that is
// moved by hand: the scripts, replies and refusals are the server's own, and a
// wait of an hour takes a moment. It is for tests. Nothing else may use the keys
// of a Keyspace meanwhile.
//
// # Time
//
// A server has no clock that can be moved, but all that its time means to a
// group can be. Before an operation finds that the clock has moved by d,
//
//   - pending entries become idle for d longer (XCLAIM … IDLE n JUSTID under
//     their own consumers, which counts no delivery);
//   - the times in records move back by d;
//   - leases expire d earlier;
//   - streams go on with ids of the clock's time (XSETID), so that the age of an
//     entry, which stands in its id, is right.
//
// The server's own time runs on while a test does. What happens between two
// movements of the clock is taken to have happened at the first of them, so that
// idle times and records are exact to the millisecond. What remains of real time
// is that of one round trip, by which entries are claimable too early, and in a moment
// in which something was given back all that it takes; and that by which an idle time
// is late that another client set.
//
// # Blocking
//
// A read that would block does not keep a connection: it waits, on the clock,
// until entries are added through the Keyspace or a pending entry becomes idle
// long enough, and asks the server again.
//
// # Keys
//
// All keys begin with a prefix, which operations neither take nor show. They go
// with Close; those of a process that died go by their own expiry: after Keep,
// and marks after twice their window.
package aging
