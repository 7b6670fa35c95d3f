package memory

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

// Options say which server is played.
type Options struct {
	// Version is the version of Redis to play, such as "7.0.15" or "6.2";
	// default DefaultVersion. New panics on one that CheckVersion refuses.
	Version string
}

// Broker holds streams in memory. It is safe for concurrent use.
type Broker struct {
	clock    clock.Clock
	name     string
	version  version
	features broker.Features
	fault    atomic.Pointer[func(Call) Effect]

	mu     sync.Mutex
	closed bool
	// full: see SetFull.
	full   bool
	keys   map[string]*stream
	beside map[groupName]*beside
	// stirred are the streams whose blocked reads are looked at when the
	// operation under way is done.
	stirred  []*stream
	blocked  int
	activity uint64
	fields   []broker.Field
}

// groupName names a group, whether it exists or not.
type groupName struct{ stream, group string }

var _ broker.Broker = (*Broker)(nil)

// New returns an empty broker whose time is the clock's.
func New(c clock.Clock, o Options) *Broker {
	if o.Version == "" {
		o.Version = DefaultVersion
	}
	v, err := parseVersion(o.Version)
	if err != nil {
		panic(fmt.Sprintf("memory.New: %v", err))
	}
	return &Broker{
		clock: c, name: o.Version, version: v, features: v.features(),
		keys: map[string]*stream{}, beside: map[groupName]*beside{},
	}
}

// Probe implements broker.Broker. The software is "memory", the version that
// of Options.
func (b *Broker) Probe(ctx context.Context) (broker.Server, error) {
	s := broker.Server{Software: "memory", Version: b.name, Features: b.features}
	if err := b.do(ctx, operation{name: "probe"}, func(int64) error { return nil }); err != nil {
		return broker.Server{}, err
	}
	return s, nil
}

// Close ends blocked reads, and every later operation, with ErrClosed.
func (b *Broker) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.endReads(&broker.Error{Kind: broker.ErrClosed})
	return nil
}

// do runs one operation: atomically, and then lets the blocked reads see what
// it brought. The time it is given is in milliseconds.
func (b *Broker) do(ctx context.Context, op operation, f func(now int64) error) error {
	effect, err := b.begin(ctx, op)
	if err != nil {
		return op.fail(err)
	}
	b.mu.Lock()
	err = b.run(f)
	b.mu.Unlock()
	if effect.Err != nil {
		err = effect.Err
	}
	return op.fail(err)
}

// run is the part of do that needs the lock.
func (b *Broker) run(f func(now int64) error) error {
	if b.closed {
		return broker.ErrClosed
	}
	now := b.now()
	err := f(now)
	b.wake(now)
	return err
}

func (b *Broker) now() int64 { return b.clock.Now().UnixMilli() }

// changed counts an operation that changed or delivered something.
func (b *Broker) changed() { b.activity++ }

// stream returns what the key holds, nil if that is nothing, and an error if
// it is no stream.
func (b *Broker) stream(name string) (*stream, error) {
	s := b.keys[name]
	if s != nil && s.text {
		return nil, wrongType(name)
	}
	return s, nil
}

// create returns the stream and makes it if there is none.
func (b *Broker) create(name string) (*stream, error) {
	s, err := b.stream(name)
	if s == nil && err == nil {
		s = &stream{name: name, groups: map[string]*group{}}
		b.keys[name] = s
	}
	return s, err
}

// group returns a group that has to exist.
func (b *Broker) group(streamName, groupName string) (*stream, *group, error) {
	s, err := b.stream(streamName)
	if err != nil {
		return nil, nil, err
	}
	if s == nil || s.groups[groupName] == nil {
		return nil, nil, noGroup(streamName, groupName)
	}
	return s, s.groups[groupName], nil
}

// milliseconds rounds up: what is asked for is at least what is given.
func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
