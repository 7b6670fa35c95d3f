package redis

import (
	"context"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
)

// Settings are how a server is configured, as far as it matters to streams.
type Settings struct {
	// Known is false where the login may not run INFO; nothing else is set then.
	Known bool
	// Cluster: the server is one of a Redis Cluster.
	Cluster bool
	// Replica: it follows another server and refuses writes.
	Replica bool
	// MaxMemory is in bytes; 0 is unbounded. Eviction says what goes when it is
	// reached: "noeviction", "allkeys-lru", … .
	MaxMemory int64
	Eviction  string
	// AppendOnly: every write goes to the append-only file.
	AppendOnly bool
	// Snapshots are the save points as CONFIG tells them, empty for none;
	// SnapshotsKnown is false where the login may not ask.
	Snapshots      string
	SnapshotsKnown bool
}

// Settings asks the server how it is configured. What the login may not ask is
// left unknown, which is no error.
func (b *Broker) Settings(ctx context.Context) (Settings, error) {
	op := operation{name: "read settings"}
	info, err := b.settle.Do(ctx, "INFO").Text()
	if refused(err) {
		return Settings{}, nil
	}
	if err != nil {
		return Settings{}, b.fail(op, err)
	}
	s := settingsOf(info)
	save, err := b.settle.Do(ctx, "CONFIG", "GET", "save").Slice()
	if err != nil && !refused(err) {
		return s, b.fail(op, err)
	}
	if err == nil && len(save) == 2 {
		s.Snapshots, s.SnapshotsKnown = save[1].(string)
	}
	return s, nil
}

// refused reports whether the server does not answer the question, for this
// login or for anybody.
func refused(err error) bool {
	if !serverSaid(err) {
		return false
	}
	kind := kindOf(clean(err.Error()))
	return kind == broker.ErrNoPermission || kind == broker.ErrUnsupported //nolint:errorlint // kinds are not wrapped
}

func settingsOf(text string) Settings {
	s := Settings{Known: true}
	for line := range strings.Lines(text) {
		name, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		switch name {
		case "cluster_enabled":
			s.Cluster = value == "1"
		case "role":
			s.Replica = value == "slave"
		case "maxmemory":
			s.MaxMemory, _ = strconv.ParseInt(value, 10, 64)
		case "maxmemory_policy":
			s.Eviction = value
		case "aof_enabled":
			s.AppendOnly = value == "1"
		}
	}
	return s
}

// KeyType is what a key holds, in the server's word: "stream", "hash"; "none"
// for a key that is absent.
func (b *Broker) KeyType(ctx context.Context, key string) (string, error) {
	kind, err := b.settle.Type(ctx, key).Result()
	if err == redis.Nil { //nolint:errorlint // it comes unwrapped
		err = errProtocol
	}
	return kind, b.fail(operation{name: "look at", stream: key}, err)
}
