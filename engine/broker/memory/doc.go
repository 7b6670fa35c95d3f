// Package memory is a broker in the process's own memory that behaves as a
// Redis server does: streams and groups, pending lists with idle times and
// delivery counts, claiming reads, XAUTOCLAIM, trims that leave pending ids,
// NOGROUP and WRONGTYPE. It runs dry-runs, the dev command and tests; nothing
// of it survives the process.
//
// Time is the given clock's: on a clock.Virtual entries age, leases end and
// blocked reads wake only when it is moved, and they wake on the goroutine that
// moves it. The broker has no goroutines. The same operations at the same times
// give the same answers: nothing depends on the order of a map.
//
// Options.Version makes it play an older server, with that server's features
// and habits. What differs from Redis stands in docs/memory-broker.md: an Add
// with MaxLen and a Trim work on entries, not on the nodes that a server happens
// to pack them into, memory runs out only where SetFull says so, and nothing is
// evicted or refused for want of a right. Everything else is compared with
// servers by brokertest.Compare.
//
// Beside broker.Broker there are controls for tests and tools: Delete,
// DestroyGroup, DeleteEntries, AddAs, SetString, SetIdle, Flush, Disconnect,
// Snapshot, Restore, SetFull and SetFault do what another client, an operator, a
// failover or a bad network would; Blocked and Activity tell exactly whether
// anything is left that could happen without the clock.
package memory
