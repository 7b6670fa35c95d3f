// Package redis is a broker on a Redis server, 6.2 to 8.6, or one that speaks
// like it. Features are asked of the server (see Broker.Probe); what a server
// lacks ends in broker.ErrUnsupported, never in a loop of syntax errors.
//
// # Connections
//
// Reads that block have connections of their own, so that they never delay
// what settles. Nothing is sent twice by itself: an XADD whose answer was lost
// would be added twice, and an XREADGROUP's first batch stranded. A read that
// has not answered two seconds after its block ends is taken for dead and its
// connection dropped; a READONLY answer drops every connection, so that the
// next one finds the new master.
//
// The protocol is RESP2. Replies differ from RESP3 only in shape and neither is
// faster to parse, but RESP2 has no push messages that could come between a
// command and its reply, and every server and proxy speaks it.
//
// A batch is read into one buffer, which becomes one immutable string; ids are
// parsed from it and all fields are parts of it. Whoever keeps a single field
// of a batch for long should clone it, or the whole reply stays in memory.
//
// # Keys
//
// Beside a stream and a group stand a few keys of ours, in the stream's hash
// slot, so that a script may touch both. For the stream payments and the group
// ledger:
//
//	{payments}:pipeline:ledger:records
//	    A hash, one field per entry that was retried or started more than
//	    twice: starts, asked retries, due time, last error, who, and what of
//	    it is on record last (see scripts/wait.lua). A field goes
//	    when its entry is settled; one that was left behind by a crash goes when
//	    the floor has passed its id. The size follows the pending list.
//	{payments}:pipeline:ledger:slot:SUBSCRIPTION-HOST-N
//	    A string, the lease of one consumer name: token and min_idle in
//	    milliseconds. One for each running consumer; it expires by itself when
//	    it is not renewed.
//	{payments}:pipeline:ledger:alive
//	    A sorted set, four members for each running consumer: when it was heard
//	    of, until when it counts as alive, the min_idle it claims with, the one it
//	    renews by (see scripts/renewslot.lua). What a consumer leaves behind that
//	    did not stop in order goes with renewals of others.
//	{payments}:pipeline:ledger:floor
//	    A string, the id from which a lost group is read again; "(" before it
//	    means just before it. One for each group, never expiring: it has to
//	    outlive the group.
//	{payments}:pipeline:ledger:marks:SET:0
//	{payments}:pipeline:ledger:marks:SET:1
//	    Two hashes, where the group deduplicates: a field for each key that an
//	    entry was settled with, holding when and by which entry, "MS ID". Keys of
//	    up to 64 bytes stand there as they are, longer ones as sha256: and the
//	    digest. One hash is written to; when the window has passed since it was
//	    begun (its field "" says when), the other one, of which nothing is
//	    younger than the window by then, is emptied and takes its place. Both
//	    together hold what was settled within two windows at most, and each
//	    expires two windows after it was last written to. HDEL of a key in both
//	    has it forgotten.
//
//	{payments}:pipeline:NEW:replay
//	    A string, beside the group of a replay (see Replay): its range and how it
//	    is run, and " done" once it has ended. It stays, so that it is not run
//	    again; DEL frees the name.
//
// Beside a stream that entries of another slot of a cluster were moved to stands
// one key more for each of them for a day, and for 30 days where the move was
// broken off:
//
//	{payments}:pipeline:moved-ID-STREAM
//	    A string, the id of the message that was added for the entry ID of the
//	    stream STREAM.
//
// A stream key with a hash tag keeps it: a{b} gives a{b}:pipeline:…. One with
// stray braces, which no tag can be put around ({}x, a}b), gets a computed
// number as its tag: {1234}a}b:pipeline:….
//
// Servers take a value that is evicted for one that was never written, so
// maxmemory-policy must not be allkeys-* or volatile-*.
package redis
