package redis

import (
	"context"
	"strconv"
	"strings"
	"time"

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
	// AppendFailed and SnapshotFailed: the last write of the append-only file, or the
	// last snapshot, failed.
	AppendFailed, SnapshotFailed bool
	// UsedMemory is in bytes.
	UsedMemory int64
	// Clients are connected of at most MaxClients.
	Clients, MaxClients int64
	// Replicas follow it; Lagging of them are not online or have not acknowledged for
	// ten seconds. MinReplicas is how many it demands for a write, and GoodReplicas how
	// many of those there are; MinReplicasKnown is false where the login may not ask.
	Replicas, Lagging         int64
	MinReplicas, GoodReplicas int64
	MinReplicasKnown          bool
}

// lagging is from how many seconds on a replica counts as lagging.
const lagging = 10

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
	if s.Snapshots, s.SnapshotsKnown, err = b.setting(ctx, "save"); err != nil {
		return s, b.fail(op, err)
	}
	var least string
	if least, s.MinReplicasKnown, err = b.setting(ctx, "min-replicas-to-write"); err != nil {
		return s, b.fail(op, err)
	}
	s.MinReplicas, _ = strconv.ParseInt(least, 10, 64)
	return s, nil
}

// setting is one setting of the server; known is false where the login may not ask.
func (b *Broker) setting(ctx context.Context, name string) (value string, known bool, err error) {
	pair, err := b.settle.Do(ctx, "CONFIG", "GET", name).Slice()
	if refused(err) {
		return "", false, nil
	}
	if err != nil || len(pair) != 2 {
		return "", false, err
	}
	value, known = pair[1].(string)
	return value, known, nil
}

// Now is what time it is by the server's clock. The error is of the kind
// broker.ErrNoPermission where the login may not ask.
func (b *Broker) Now(ctx context.Context) (time.Time, error) {
	now, err := b.settle.Time(ctx).Result()
	return now, b.fail(operation{name: "read the time"}, err)
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
		case "aof_last_write_status":
			s.AppendFailed = value == "err"
		case "rdb_last_bgsave_status":
			s.SnapshotFailed = value == "err"
		default:
			s.number(name, value)
		}
	}
	return s
}

// number takes a line of INFO that tells a number, or about a replica.
func (s *Settings) number(name, value string) {
	n, err := strconv.ParseInt(value, 10, 64)
	switch name {
	case "used_memory":
		s.UsedMemory = n
	case "connected_clients":
		s.Clients = n
	case "maxclients":
		s.MaxClients = n
	case "connected_slaves":
		s.Replicas = n
	case "min_slaves_good_slaves":
		s.GoodReplicas = n
	}
	// slave0:ip=10.0.0.2,port=6379,state=online,offset=42,lag=1
	if after, ok := strings.CutPrefix(name, "slave"); ok && after != "" && err != nil && strings.HasPrefix(value, "ip=") && behind(value) {
		s.Lagging++
	}
}

// behind reports whether a replica, as INFO describes it, is not online or has not
// acknowledged for long.
func behind(replica string) bool {
	online, late := false, false
	for part := range strings.SplitSeq(replica, ",") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "state":
			online = value == "online"
		case "lag":
			n, err := strconv.ParseInt(value, 10, 64)
			late = err == nil && n >= lagging
		}
	}
	return !online || late
}

// User is the name that the login has on the server. The error is of the kind
// broker.ErrNoPermission where the login may not ask, as a worker's may not.
func (b *Broker) User(ctx context.Context) (string, error) {
	name, err := b.settle.Do(ctx, "ACL", "WHOAMI").Text()
	return name, b.fail(operation{name: "ask for the user"}, err)
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
