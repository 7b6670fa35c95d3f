// Package bench measures the product beside a consumer written by hand, in one
// run on one server, so that what is compared is a ratio and not a machine.
//
// Both run in processes of their own, started from this very program: what the
// system counts for such a process is what the consumer costs, and the cost of
// measuring stays here. Both are warmed up, connected and waiting for entries
// when a round begins; it begins for both in the same way, and ends when the
// server has confirmed the last entry. Rounds alternate, every second
// one the other way round, so that a machine that grows slower or faster
// meanwhile changes both alike.
package bench
