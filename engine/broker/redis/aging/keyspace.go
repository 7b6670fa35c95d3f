package aging

import (
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
)

// Keyspace is a broker on keys of its own, in the time of its clock. It is safe
// for concurrent use; operations that do not wait are done one at a time.
type Keyspace struct {
	redis  *Redis
	prefix string
	clock  clock.Clock
	mu     sync.Mutex
	// frame is what the server was brought to last, and set when that made pending
	// entries touched last, by the server's time.
	frame frame
	set   map[pendingID]time.Time
	// gaveBack: entries were given an idle time since then, by the server's time.
	gaveBack bool
	// first is when entries were delivered first, by their records.
	first map[pendingID]time.Time
	// streams and groups are what there may be keys of, and which beside a group.
	streams map[string]bool
	groups  map[groupName]map[key]bool
	// active is when consumers last did something.
	active map[broker.Owner]time.Time
	// empty are groups that have nothing pending.
	empty   map[groupName]bool
	blocked map[*wait]bool
	// order is that of deliveries, count how many there were, of waits as well.
	order  map[pendingID]int
	count  int
	closed bool
}

type (
	groupName struct{ stream, group string }
	pendingID struct {
		groupName

		id broker.ID
	}
)

// Keep is how long the keys of a Keyspace outlive its last movement in time.
const Keep = time.Hour

var _ broker.Broker = (*Keyspace)(nil)

// Key is the name of a stream on the server.
func (k *Keyspace) Key(stream string) string { return k.prefix + stream }

// meet notes names that there may be keys of.
func (k *Keyspace) meet(stream, group string) {
	k.streams[stream] = true
	if group != "" {
		k.keysOf(groupName{stream, group})
	}
}

// mine takes the prefix out of an error.
func (k *Keyspace) mine(err error) error {
	e, ok := errors.AsType[*broker.Error](err)
	if !ok {
		return err
	}
	own := *e
	own.Stream = strings.TrimPrefix(e.Stream, k.prefix)
	own.Detail = strings.ReplaceAll(e.Detail, k.prefix, "")
	return &own
}

// ask runs an operation on the server, which was brought to the clock's time.
func ask[T any](
	ctx context.Context, k *Keyspace, op operation, run func(b *redis.Broker, key string) (T, error),
) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var none T
	if k.closed {
		return none, op.closed()
	}
	if op.stream != "" {
		k.meet(op.stream, op.group)
	}
	if err := k.catchUp(ctx); err != nil {
		return none, k.mine(err)
	}
	got, err := run(k.redis.inner, k.Key(op.stream))
	return got, k.mine(err)
}

// operation is what an error says was being done, and to what.
type operation struct {
	name string
	groupName
}

func to(name, stream, group string) operation { return operation{name, groupName{stream, group}} }

func (op operation) closed() error {
	return &broker.Error{Op: op.name, Stream: op.stream, Group: op.group, Kind: broker.ErrClosed}
}

// Close removes all keys and ends blocked reads with broker.ErrClosed.
func (k *Keyspace) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	k.closed = true
	for _, w := range k.waiting(everybody) {
		k.end(w, to("read", w.r.Stream, w.r.Group).closed())
	}
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	var errs []error
	remove := func(g groupName, keys ...string) {
		if err := k.redis.client.Del(ctx, keys...).Err(); err != nil {
			errs = append(errs, fail("remove the keys of", g, err))
		}
	}
	for stream := range k.streams {
		remove(groupName{stream: stream}, k.Key(stream))
	}
	for g, keys := range k.groups {
		for key := range keys {
			remove(g, key.name)
		}
	}
	return errors.Join(errs...)
}

// closing bounds Close.
const closing = 10 * time.Second

// key is a key beside a group, with what it is to age.lua.
type key struct{ name, kind string }

// The kinds of keys: see age.lua.
const (
	isStream  = "s"
	isRecords = "r"
	isAlive   = "a"
	isMarks   = "m"
	isLease   = "l"
	isFloor   = "f"
)

// keysOf are the keys that there may be beside a group: they are in the slot of
// its stream.
func (k *Keyspace) keysOf(g groupName) map[key]bool {
	keys := k.groups[g]
	if keys == nil {
		b := k.beside(g)
		keys = map[key]bool{{b.Records, isRecords}: true, {b.Floor, isFloor}: true, {b.Alive, isAlive}: true}
		k.groups[g] = keys
	}
	return keys
}

func (k *Keyspace) beside(g groupName) redis.Beside {
	return redis.KeysBeside(k.Key(g.stream), g.group)
}
