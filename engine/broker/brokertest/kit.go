package brokertest

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
)

// kit is what a case works with: the environment, a stream with a group, and
// operations that fail the test where they should not fail.
type kit struct {
	*testing.T
	*Env
	features      broker.Features
	stream, group string
	// began is when the environment had not been made yet.
	began time.Time
	// attempt is set, and slower above one, in a case that may be tried again: see inTime.
	attempt *attempt
	slower  int
}

// slack is how much later than intended something may be seen on a server
// whose time goes on by itself.
const slack = 10 * time.Second

// patience bounds the wait for what has to come.
const patience = time.Minute

func (k *kit) owner(consumer string) broker.Owner {
	return broker.Owner{Stream: k.stream, Group: k.group, Consumer: consumer}
}

// key is another key of the case.
func (k *kit) key(name string) string { return k.Prefix + name }

func (k *kit) create(start string) bool {
	k.Helper()
	created, err := k.Broker.CreateGroup(k.Context(), k.stream, k.group, start)
	k.ok(err)
	return created
}

// fill creates the group at the beginning and adds n entries with a number
// each.
func (k *kit) fill(n int) []broker.ID {
	k.Helper()
	k.create("0")
	return k.add(k.stream, n)
}

func (k *kit) add(stream string, n int) []broker.ID {
	k.Helper()
	adds := make([]broker.Add, n)
	for i := range adds {
		adds[i] = message(stream, "n", strconv.Itoa(i))
	}
	ids, err := k.Broker.Add(k.Context(), adds)
	k.ok(err)
	if len(ids) != n {
		k.Fatalf("added %d entries of %d", len(ids), n)
	}
	return ids
}

// message is an entry to append, of names and values in turn.
func message(stream string, pairs ...string) broker.Add {
	return broker.Add{Stream: stream, Fields: fields(pairs...)}
}

func fields(pairs ...string) []broker.Field {
	out := make([]broker.Field, 0, len(pairs)/2)
	for pair := range slices.Chunk(pairs, 2) {
		out = append(out, broker.Field{Name: pair[0], Value: pair[1]})
	}
	return out
}

// read reads up to count new entries without waiting.
func (k *kit) read(consumer string, count int) []broker.Delivery {
	k.Helper()
	return k.request(broker.ReadRequest{Owner: k.owner(consumer), Count: count})
}

// claim is a claiming read without waiting.
func (k *kit) claim(consumer string, minIdle time.Duration, count int) []broker.Delivery {
	k.Helper()
	return k.request(broker.ReadRequest{Owner: k.owner(consumer), Count: count, MinIdle: minIdle})
}

func (k *kit) request(r broker.ReadRequest) []broker.Delivery {
	k.Helper()
	d, err := k.Broker.Read(k.Context(), r)
	k.ok(err)
	return d
}

// deliver reads and asserts that exactly these entries came as new.
func (k *kit) deliver(consumer string, ids []broker.ID) {
	k.Helper()
	k.came(k.read(consumer, len(ids)), 0, ids...)
}

// age makes entries look idle.
func (k *kit) age(idle time.Duration, ids ...broker.ID) { k.SetIdle(k.stream, k.group, idle, ids...) }

func (k *kit) settle(s *broker.Settlement) broker.SettleResult {
	k.Helper()
	if s.Stream == "" {
		s.Stream, s.Group = k.stream, k.group
	}
	r, err := k.Broker.Settle(k.Context(), s)
	k.ok(err)
	if len(r.Steps) != len(s.Steps) || len(r.Waits) != len(s.Waits) {
		k.Fatalf("%d steps and %d waits were answered by %+v", len(s.Steps), len(s.Waits), r)
	}
	return r
}

func (k *kit) ack(consumer string, ids ...broker.ID) {
	k.Helper()
	k.settle(&broker.Settlement{Owner: k.owner(consumer), Acks: ids})
}

// wait has consumer a put one entry back and asserts the status.
func (k *kit) wait(w broker.Wait, want broker.Status) {
	k.Helper()
	r := k.settle(&broker.Settlement{Owner: k.owner("a"), Waits: []broker.Wait{w}})
	if r.Waits[0] != want {
		k.Fatalf("the wait's status is %v, want %v", r.Waits[0], want)
	}
}

func (k *kit) takeOver(to, from string, ids ...broker.ID) broker.TakenOver {
	k.Helper()
	took, err := k.Broker.TakeOver(k.Context(), k.owner(to), from, ids)
	k.ok(err)
	return took
}

// renew has consumer a renew entries.
func (k *kit) renew(ids ...broker.ID) []broker.Holding {
	k.Helper()
	held, err := k.Broker.Renew(k.Context(), k.owner("a"), ids)
	k.ok(err)
	return held
}

// admit asks about one entry.
func (k *kit) admit(consumer string, attempts int, id broker.ID, deliveries int64) broker.Admission {
	k.Helper()
	a, err := k.Broker.Admit(k.Context(), broker.AdmitRequest{
		Owner: k.owner(consumer), MinIdle: minIdle, MaxAttempts: attempts,
		Entries: []broker.Redelivery{{ID: id, Deliveries: deliveries}},
	})
	k.ok(err)
	if len(a) != 1 {
		k.Fatalf("one entry was answered by %+v", a)
	}
	return a[0]
}

// autoClaim follows the cursor to its end.
func (k *kit) autoClaim(r broker.AutoClaimRequest) (all broker.AutoClaimed, pages int) {
	k.Helper()
	for pages = 1; ; pages++ {
		page, err := k.Broker.AutoClaim(k.Context(), r)
		k.ok(err)
		if len(page.Deliveries)+len(page.Deleted) > r.Count {
			k.Fatalf("a page of %d holds %d entries and %d deleted ones", r.Count, len(page.Deliveries), len(page.Deleted))
		}
		all.Deliveries = append(all.Deliveries, page.Deliveries...)
		all.Deleted = append(all.Deleted, page.Deleted...)
		if page.Next.IsZero() {
			return all, pages
		}
		if !r.Start.Less(page.Next) {
			k.Fatalf("the cursor does not move on from %v", page.Next)
		}
		r.Start = page.Next
	}
}

// pending is the group's pending list by id.
func (k *kit) pending() map[broker.ID]broker.Pending {
	k.Helper()
	list, err := k.Broker.Pending(k.Context(), k.stream, k.group, "", broker.ID{}, 100_000)
	k.ok(err)
	m := make(map[broker.ID]broker.Pending, len(list))
	for _, p := range list {
		m[p.ID] = p
	}
	return m
}

func (k *kit) record(id broker.ID) broker.Record {
	k.Helper()
	r, err := k.Broker.Records(k.Context(), k.stream, k.group, []broker.ID{id})
	k.ok(err)
	if len(r) != 1 {
		k.Fatalf("one id was answered by %d records", len(r))
	}
	return r[0]
}

func (k *kit) entries(stream string) []broker.Entry {
	k.Helper()
	e, err := k.Broker.Range(k.Context(), stream, broker.ID{}, broker.MaxID, 100_000)
	k.ok(err)
	return e
}

func (k *kit) info() broker.GroupInfo {
	k.Helper()
	infos, err := k.Broker.GroupInfos(k.Context(), k.stream)
	k.ok(err)
	for _, g := range infos {
		if g.Name == k.group {
			return g
		}
	}
	k.Fatalf("%s/%s is not among %+v", k.stream, k.group, infos)
	return broker.GroupInfo{}
}

// trim repeats a trim until nothing goes any more.
func (k *kit) trim(r broker.TrimRequest) (removed int64) {
	k.Helper()
	r.Stream = k.stream
	for range 10_000 {
		n, err := k.Broker.Trim(k.Context(), r)
		k.ok(err)
		if removed += n; n == 0 {
			return removed
		}
	}
	k.Fatal("the trim does not come to an end")
	return removed
}

// answer is the result of a read that blocks.
type answer struct {
	deliveries []broker.Delivery
	err        error
}

// block starts a read and returns when it is blocked, or over already.
func (k *kit) block(ctx context.Context, r broker.ReadRequest) <-chan answer {
	k.Helper()
	c := k.start(ctx, r)
	k.awaitBlocked(1, c)
	return c
}

// awaitBlocked returns when this many reads of the case are blocked, or the one that c is of
// is over.
func (k *kit) awaitBlocked(reads int, c <-chan answer) {
	k.Helper()
	limit := time.After(patience)
	for {
		n := k.Blocked()
		if n == reads || len(c) > 0 {
			return
		}
		select {
		case <-limit:
			k.Fatalf("%d reads are blocked, want %d", n, reads)
		case <-time.After(time.Millisecond):
		}
	}
}

func (k *kit) start(ctx context.Context, r broker.ReadRequest) <-chan answer {
	c := make(chan answer, 1)
	go func() {
		d, err := k.Broker.Read(ctx, r)
		c <- answer{d, err}
	}()
	return c
}

// finish waits for a read's result.
func (k *kit) finish(c <-chan answer) answer {
	k.Helper()
	select {
	case a := <-c:
		return a
	case <-time.After(patience):
		k.Fatal("the read is still blocked")
		return answer{}
	}
}

// ok fails the test on an error.
func (k *kit) ok(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// fails asserts the kind of an error, and that its text holds these words.
func (k *kit) fails(err, kind error, words ...string) {
	k.Helper()
	if err == nil {
		k.Fatalf("no error, want %v", kind)
	}
	if kind != nil && !errors.Is(err, kind) {
		k.Fatalf("the error is %q, want %q", err, kind)
	}
	if _, ok := errors.AsType[*broker.Error](err); !ok {
		k.Fatalf("the error %q is a %T", err, err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			k.Fatalf("the error %q does not say %q", err, word)
		}
	}
}

// came asserts which entries came, in their order, each delivered that often
// before.
func (k *kit) came(got []broker.Delivery, deliveries int64, want ...broker.ID) {
	k.Helper()
	k.same(idsOf(got), want)
	for _, d := range got {
		if d.Deliveries != deliveries {
			k.Fatalf("%v had been delivered %d times before, want %d", d.ID, d.Deliveries, deliveries)
		}
		if len(d.Fields) == 0 {
			k.Fatalf("%v came without its body", d.ID)
		}
	}
}

// same asserts equal lists; an empty one equals none.
func (k *kit) same(got, want []broker.ID) {
	k.Helper()
	if !slices.Equal(got, want) {
		k.Fatalf("got the ids %v, want %v", got, want)
	}
}

func idsOf(deliveries []broker.Delivery) []broker.ID {
	ids := make([]broker.ID, len(deliveries))
	for i := range deliveries {
		ids[i] = deliveries[i].ID
	}
	return ids
}

// near asserts a time that may have gone on by up to slack.
func (k *kit) near(what string, got, want time.Duration) {
	k.Helper()
	if got < want || got > want+slack {
		k.Fatalf("%s is %v, want %v", what, got, want)
	}
}

// equal asserts one value.
func equal[T comparable](k *kit, what string, got, want T) {
	k.Helper()
	if got != want {
		k.Fatalf("%s: %v, want %v", what, got, want)
	}
}
