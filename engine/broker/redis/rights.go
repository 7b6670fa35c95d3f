package redis

import (
	"slices"
	"strings"
)

// Use is one thing that is done with a key, for which a login needs commands on
// it.
type Use uint8

// The uses of a stream, and of the keys beside it.
const (
	// Consume: a group reads the stream, claims, acknowledges, and looks at it.
	Consume Use = iota
	// Publish: replies, copies for a retry, or dead letters are added.
	Publish
	// Trim and TrimProtected: the stream is kept within its retention.
	Trim
	TrimProtected
	// Measure: how far the groups of the stream are behind is looked at, by who
	// publishes to it, because it has a max_backlog.
	Measure
	// Records, Floors and Slots are the keys beside a stream that belong to one
	// group: see the package's text.
	Records
	Floors
	Slots
	// Marks are the keys in which a group that deduplicates remembers those of
	// its entries.
	Marks
	// Create: a group that is absent is created, and its floor written down.
	Create
	// PublishApart: what is published comes from another slot of a cluster.
	// PublishOnce: and the server is told to recognise what it added before, which
	// is a command of servers with broker.Features.IdempotentAdd only.
	PublishApart
	PublishOnce
	// Seek: a group is moved to another position. No worker needs it that is not told
	// to by run --seek.
	Seek
	uses
)

// createGroup and removeConsumer are the rights to change groups. The first is
// needed only where a group is absent, the second is optional.
const (
	createGroup    = "xgroup|create"
	removeConsumer = "xgroup|delconsumer"
)

// commands are what each use needs, in the words of a rule. A script needs eval
// and evalsha on each key that it is given, and its own commands besides. What is
// idle is claimed by a script with XCLAIM, so that XAUTOCLAIM is only tried (see
// Probe), and that on a key of which no worker has rights.
var commands = [uses][]string{
	Consume: {
		"xreadgroup", "xclaim", "xpending", "xack", "xrange", "xinfo|stream", "xinfo|groups", "xinfo|consumers",
		"type", "eval", "evalsha",
	},
	Publish: {"xadd", "type", "eval", "evalsha"},
	Trim:    {"xtrim"},
	TrimProtected: {
		"xtrim", "xdel", "xlen", "xrange", "xpending", "xinfo|groups", "type", "eval", "evalsha",
	},
	Measure: {"xinfo|groups", "xinfo|stream", "xrange"},
	Records: {"hget", "hmget", "hset", "hdel", "hscan", "del", "eval", "evalsha"},
	Floors:  {"get", "set", "eval", "evalsha"},
	Slots:   {"get", "set", "pexpire", "del", "zadd", "zrem", "zrangebyscore", "eval", "evalsha"},
	Marks:   {"hget", "hmget", "hset", "unlink", "pexpire", "type", "eval", "evalsha"},
	Create:  {createGroup, "xinfo|stream", "xinfo|groups", "type", "eval", "evalsha"},

	PublishApart: {"xadd", "xinfo|stream", "type", "eval", "evalsha"},
	PublishOnce:  {"xcfgset"},
	Seek:         {seekGroup, "xinfo|stream", "xinfo|groups", "xpending", "xack", "eval", "evalsha"},
}

// keyless are commands without a key. A step with more fields than a script
// passes on goes through a transaction.
var keyless = []string{"multi", "exec", "time"}

// Commands are what the use needs, in the words of a rule.
func (u Use) Commands() []string { return slices.Clone(commands[u]) }

// Rights are the commands that the login of a worker has to be allowed to run,
// as they stand in a rule of the server's access list, sorted; a user needs them
// on its streams and on {stream}:pipeline:* beside each. Without one of them an
// operation ends in broker.ErrNoPermission, whose detail names it.
//
// Groups have to exist: creating them, and restoring a lost one, takes
// xgroup|create in addition.
//
// A group that deduplicates takes what Marks needs besides; where replies or dead
// letters go to another slot of a cluster, see PublishApart and PublishOnce.
func Rights() []string {
	all := slices.Clone(keyless)
	for u := range Marks {
		all = append(all, commands[u]...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// OptionalRights are commands that are used where the login may. Without them
// canceled reads end only with their block, connections have no name, what the
// server can do is told by its version, and the consumers of workers that are
// gone stay in their groups, empty.
func OptionalRights() []string {
	return []string{"client|id", "client|unblock", "client|setname", "info", "command|docs", removeConsumer}
}

// ViewerRights are the commands of a login that looks at streams and groups and
// at what is in them, and changes nothing: as they stand in a rule, sorted.
func ViewerRights() []string {
	return []string{"time", "xinfo|consumers", "xinfo|groups", "xinfo|stream", "xpending", "xrange", "xread", "xrevrange"}
}

// Need is one command on one key; a command without a key has an empty Key.
type Need struct{ Command, Key string }

// Needs are what a use of a stream needs, on the stream itself or on the keys
// beside it that belong to the group.
func (u Use) Needs(stream, group string) []Need {
	keys := newGroupKeys(stream, group)
	key := stream
	switch u {
	case Records:
		key = keys.records
	case Floors:
		key = keys.floor
	case Slots:
		key = keys.slot + checked
	case Marks:
		key = keys.markKeys(checked)[0]
	}
	var needs []Need
	for _, command := range commands[u] {
		if u == Records && command == "del" {
			continue // that the key may be touched shows in the others, the command in Slots
		}
		needs = append(needs, Need{command, key})
	}
	if u == Create {
		needs = append(needs, Need{"get", keys.floor}, Need{"set", keys.floor}, Need{"eval", keys.floor}, Need{"evalsha", keys.floor})
	}
	return needs
}

// Keyless are what every login needs that touches no key.
func Keyless() []Need {
	needs := make([]Need, len(keyless))
	for i, command := range keyless {
		needs[i].Command = command
	}
	return needs
}

// Patterns are the patterns of a rule for a stream, and for the keys of ours
// beside it.
func Patterns(stream string) (own, beside string) {
	return pattern(stream), pattern(tagged(stream)) + ":pipeline:*"
}

// pattern is a key as a pattern of the access list, which is a glob. A pattern
// may hold no white space, so that each byte of it becomes one that fits any.
func pattern(key string) string {
	var b strings.Builder
	for i := range len(key) {
		switch c := key[i]; {
		case c <= ' ' || c == 0x7f:
			b.WriteByte('?')
		case strings.IndexByte(`*?[]\^`, c) >= 0:
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
