package aging

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

// The scripts are sent whole each time: a server that others use may forget
// them meanwhile.
var (
	//go:embed age.lua
	ageScript string
	//go:embed look.lua
	lookScript string
)

// frame is a moment on both clocks.
type frame struct {
	// at is the clock's time, server the server's, machine that of this process.
	at, server, machine time.Time
}

// margin is how much earlier than now a new frame begins on the server: this
// process and the server do not count milliseconds alike, and nothing can be
// touched later than now.
const margin = 2 * time.Millisecond

// next is the frame that begins now, step later on the clock.
func (f frame) next(step time.Duration, c clock.Clock) frame {
	passed := f.passed(c)
	return frame{f.at.Add(step), f.server.Add(passed), f.machine.Add(passed)}
}

// passed is how much real time has passed since the frame began, at least.
func (f frame) passed(c clock.Clock) time.Duration {
	return max(0, clock.Since(c, f.machine).Truncate(time.Millisecond)-margin)
}

// catchUp brings the server to the clock's time, in whole milliseconds. It is
// not called off half way: what was moved would be moved again.
func (k *Keyspace) catchUp(ctx context.Context) error {
	step := k.clock.Now().Sub(k.frame.at).Truncate(time.Millisecond)
	if step <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	with, set := map[string]bool{}, map[pendingID]time.Time{}
	pipe := k.redis.client.Pipeline()
	next := k.frame.next(step, k.redis.real)
	for _, g := range slices.SortedFunc(maps.Keys(k.groups), groupName.compare) {
		touched, err := k.look(ctx, g)
		if err != nil {
			return err
		}
		slices.SortStableFunc(touched, byTouch)
		entries := make([]any, 0, 3*len(touched))
		for _, p := range touched {
			at := next.server.Add(-p.idle - step)
			set[pendingID{g, p.id}] = at
			entries = append(entries, p.id.String(), p.consumer, at.UnixMilli())
		}
		k.age(ctx, pipe, g, next, entries)
		with[g.stream] = true
	}
	for _, stream := range slices.Sorted(maps.Keys(k.streams)) {
		if !with[stream] {
			k.age(ctx, pipe, groupName{stream: stream}, next, nil)
		}
	}
	if _, err := pipe.Exec(ctx); err != nil && !errors.Is(err, goredis.Nil) {
		return fail("move the time of the server", groupName{}, err)
	}
	k.frame, k.set, k.gaveBack = next, set, false
	return nil
}

func (g groupName) compare(o groupName) int {
	return cmp.Or(cmp.Compare(g.stream, o.stream), cmp.Compare(g.group, o.group))
}

// age moves one group to the next frame, or a stream that has none.
func (k *Keyspace) age(ctx context.Context, pipe goredis.Pipeliner, g groupName, next frame, entries []any) {
	keys, kinds := []string{k.Key(g.stream)}, isStream
	for key := range k.groups[g] {
		keys, kinds = append(keys, key.name), kinds+key.kind
	}
	pipe.Eval(ctx, ageScript, keys, append([]any{
		g.group, k.frame.server.UnixMilli(), next.server.UnixMilli(), next.at.Sub(k.frame.at).Milliseconds(),
		next.at.UnixMilli(), Keep.Milliseconds(), kinds,
	}, entries...)...)
}

// fail is the error of what this package itself asks of the server.
func fail(op string, g groupName, err error) error {
	kind := broker.ErrUnavailable
	if _, refused := errors.AsType[goredis.Error](err); refused {
		kind = nil
	}
	return &broker.Error{Op: op, Stream: g.stream, Group: g.group, Kind: kind, Detail: err.Error()}
}

// touched is a pending entry with the time for which it has been idle, in the
// clock's time.
type touched struct {
	id       broker.ID
	consumer string
	idle     time.Duration
	// at is when it was touched by the server's time, order when it was delivered
	// here.
	at    time.Time
	order int
}

// byTouch is the order in which entries were touched.
func byTouch(a, b touched) int {
	return cmp.Or(cmp.Compare(b.idle, a.idle), a.at.Compare(b.at), cmp.Compare(a.order, b.order))
}

// page is how many pending entries are looked at in one step.
const page = 1000

// fields is how many values look.lua replies for an entry.
const fields = 4

// look returns the pending entries of a group by id. A group that is absent has
// none.
func (k *Keyspace) look(ctx context.Context, g groupName) ([]touched, error) {
	if k.empty[g] {
		return nil, nil
	}
	var all []touched
	for first := "-"; ; first = "(" + all[len(all)-1].id.String() {
		reply, err := k.redis.client.Eval(ctx, lookScript, []string{k.Key(g.stream), k.beside(g).Records}, g.group, first, page).Slice()
		if err != nil && absent(err) {
			return all, nil
		}
		if err != nil {
			return nil, fail("list pending of", g, err)
		}
		for entry := range slices.Chunk(reply, fields) {
			all = append(all, k.touched(g, entry))
		}
		if len(reply) < page*fields {
			k.empty[g] = len(all) == 0
			return all, nil
		}
	}
}

// absent reports that the key holds no stream, or the stream no such group.
func absent(err error) bool {
	text := err.Error()
	return strings.Contains(text, "NOGROUP") || strings.Contains(text, "WRONGTYPE")
}

// touched reads an entry of look.lua's reply. What was touched after the frame
// began was touched then. A wait ages its entry as it writes the record: by how
// much later than the frame's beginning, the record tells.
func (k *Keyspace) touched(g groupName, reply []any) touched {
	var t touched
	t.id, _ = broker.ParseID(reply[0].(string))
	t.consumer, t.at = reply[1].(string), milliseconds(reply[2].(string))
	if set, ok := k.set[pendingID{g, t.id}]; ok && t.at.Sub(set).Abs() <= margin {
		t.at = set // before Redis 7.2 a server's clock runs on within a script
	}
	t.order = k.order[pendingID{g, t.id}]
	t.idle = max(0, k.frame.server.Sub(t.at))
	if written := milliseconds(reply[3].(string)); t.idle > 0 && written.After(k.frame.server) {
		t.idle = whole(t.idle + written.Sub(k.frame.server))
	}
	return t
}

// whole rounds an idle time up: before Redis 7.2 a server's clock runs on between
// the steps of a script.
func whole(idle time.Duration) time.Duration {
	const unit = 10 * time.Millisecond
	return (idle + unit - 1).Truncate(unit)
}

// record is the record of an entry with the clock's times.
func (k *Keyspace) record(id pendingID, r broker.Record) broker.Record {
	shift := k.shift(r.At)
	for _, t := range []*time.Time{&r.At, &r.Due, &r.First} {
		if !t.IsZero() {
			*t = t.Add(shift)
		}
	}
	if r.First.IsZero() {
		return r
	}
	// It stays what it was when it was seen first: by how much later than the
	// clock's time it was written, only the writing of that record tells.
	if known := k.first[id]; known.Sub(r.First).Abs() < rewritten {
		r.First = known
	}
	k.first[id] = r.First
	return r
}

// rewritten is more real time than passes between two movements of the clock.
const rewritten = 10 * time.Second

// mark is a mark with the clock's time. It is not older than its entry's id,
// which real time has in it.
func (k *Keyspace) mark(m broker.Mark) broker.Mark {
	if m.Found() {
		m.At = m.At.Add(k.frame.at.Sub(k.frame.server))
	}
	return m
}

// shift is what makes the server's times the clock's, of something that was
// written at one of them.
func (k *Keyspace) shift(written time.Time) time.Duration {
	return k.frame.at.Sub(k.frame.server) - max(0, written.Sub(k.frame.server))
}

// milliseconds reads a time of the server's.
func milliseconds(text string) time.Time {
	ms, _ := strconv.ParseInt(text, 10, 64) // a script wrote it
	return time.UnixMilli(ms).UTC()
}
