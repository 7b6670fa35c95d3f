package aging

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
)

// Redis is a server on which any number of Keyspaces are. It is safe for
// concurrent use.
type Redis struct {
	// Server is what the server says of itself.
	Server broker.Server

	inner  *redis.Broker
	client *goredis.Client
	real   clock.Clock
}

// Open connects to the server of a URL: see redis.Options.URL. Its errors never
// show the URL.
func Open(ctx context.Context, url string, c clock.Clock) (*Redis, error) {
	inner, err := redis.Open(redis.Options{URL: url, Name: "pipeline-test", Clock: c})
	if err != nil {
		return nil, err
	}
	r := &Redis{inner: inner, real: c}
	if r.Server, err = inner.Probe(ctx); err != nil {
		return nil, errors.Join(err, inner.Close())
	}
	options, err := goredis.ParseURL(url)
	if err != nil {
		return nil, errors.Join(errors.New("open redis: the url cannot be read"), inner.Close()) // its own error shows the password
	}
	r.client = goredis.NewClient(options)
	return r, nil
}

// Close ends all connections.
func (r *Redis) Close() error {
	if err := errors.Join(r.client.Close(), r.inner.Close()); err != nil {
		return fmt.Errorf("close redis: %w", err)
	}
	return nil
}

// Now is the server's time, in whole milliseconds: where the clock of a Keyspace
// should stand at first, for the server gives ids by it.
func (r *Redis) Now(ctx context.Context) (time.Time, error) {
	now, err := r.client.Time(ctx).Result()
	if err != nil {
		return time.Time{}, &broker.Error{Op: "ask for the time", Kind: broker.ErrUnavailable, Detail: err.Error()}
	}
	return now.UTC().Truncate(time.Millisecond), nil
}

// Prefix is what the keys of all Keyspaces begin with, or continue with after
// the { of a tag.
const Prefix = "pipeline-test:"

// Keyspace returns a new keyspace, whose time is the clock's.
func (r *Redis) Keyspace(ctx context.Context, c clock.Clock) (*Keyspace, error) {
	server, err := r.Now(ctx)
	if err != nil {
		return nil, err
	}
	// Behind the server's answer, however long that was on its way: what has passed on the server
	// since is then at least what has passed here, and an entry is claimable as soon as it is due.
	machine := r.real.Now()
	return &Keyspace{
		redis: r, prefix: Prefix + rand.Text()[:nameLength] + ":", clock: c, frame: frame{c.Now(), server, machine},
		streams: map[string]bool{}, groups: map[groupName]map[key]bool{},
		active: map[broker.Owner]time.Time{}, empty: map[groupName]bool{}, blocked: map[*wait]bool{}, order: map[pendingID]int{},
		first: map[pendingID]time.Time{},
	}, nil
}

// nameLength is that of a Keyspace's own part of the prefix: 60 bits.
const nameLength = 12
