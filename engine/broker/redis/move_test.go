package redis_test

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// letters adds n entries to a stream, and returns a move of each.
func letters(t *testing.T, b *redis.Broker, from, to string, n int) broker.MoveRequest {
	t.Helper()
	var adds []broker.Add
	for i := range n {
		adds = append(adds, message(from, field("n", strconv.Itoa(i))))
	}
	ids, err := b.Add(t.Context(), adds)
	if err != nil {
		t.Fatal(err)
	}
	r := broker.MoveRequest{From: from}
	for i, id := range ids {
		r.Moves = append(r.Moves, broker.Move{ID: id, Publish: message(to, field("n", strconv.Itoa(i)))})
	}
	return r
}

// numbers are those of the entries of a stream.
func numbers(t *testing.T, b *redis.Broker, key string) []string {
	t.Helper()
	entries, err := b.Range(t.Context(), key, broker.ID{}, broker.MaxID, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, len(entries))
	for i, e := range entries {
		got[i] = e.Fields[0].Value
	}
	return got
}

// In a cluster no step writes to two slots: a move goes through marks, and one
// that was broken off between its parts adds nothing twice.
func TestMoveAcrossSlots(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, "8.6", 2)
	low, high := nodes[0], nodes[1]
	b := openWith(t, redis.Options{URL: low.URL(), Cluster: true})
	from, to := keyIn(0, 8191), keyIn(8192, 16383)
	r := letters(t, b, from, to, 600)
	// The first part was done by a process that died then: five messages are added and marked.
	for _, m := range r.Moves[:5] {
		n := m.Publish.Fields[0].Value
		id := high.Client().XAdd(t.Context(), &goredisXAddArgs{Stream: to, Values: []string{"n", n}}).Val()
		mark := "{" + to + "}:pipeline:moved-" + m.ID.String() + "-" + from
		if err := high.Client().Set(t.Context(), mark, id, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	gone := r.Moves[7].ID
	if n, err := b.Remove(t.Context(), from, []broker.ID{gone}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	got, err := b.Move(t.Context(), r)
	if err != nil || len(got) != 600 {
		t.Fatal(len(got), err)
	}
	for i, m := range got {
		if m.Found != (i != 7) || m.ID.IsZero() != (i == 7) {
			t.Fatalf("move %d: %+v", i, m)
		}
	}
	got, err = b.Move(t.Context(), r)
	if err != nil || slices.ContainsFunc(got, func(m broker.Moved) bool { return m.Found }) {
		t.Fatal("moved again", err)
	}
	var want []string
	for i := range 600 {
		if i != 7 {
			want = append(want, strconv.Itoa(i))
		}
	}
	if there := numbers(t, b, to); !slices.Equal(there, want) {
		t.Fatalf("%d entries: %v", len(there), there)
	}
	if left := numbers(t, b, from); len(left) != 0 {
		t.Fatalf("left behind: %v", left)
	}
	for _, key := range high.Client().Keys(t.Context(), "*:moved-*").Val() {
		if ttl := high.Client().PTTL(t.Context(), key).Val(); ttl <= 0 || ttl.Hours() > 24 {
			t.Fatalf("the mark %s lasts %v", key, ttl)
		}
	}
	// A destination that refuses leaves the entries, and no mark.
	near, text := keyIn(100, 8191), keyIn(9000, 16383)
	high.Client().Set(t.Context(), text, "x", 0)
	r = letters(t, b, near, text, 3)
	got, err = b.Move(t.Context(), r)
	if len(got) != 0 || !errors.Is(err, broker.ErrWrongType) {
		t.Fatal(got, err)
	}
	if left := numbers(t, b, near); len(left) != 3 {
		t.Fatal(left)
	}
	high.Client().Del(t.Context(), text)
	if got, err = b.Move(t.Context(), r); err != nil || len(got) != 3 || !got[0].Found {
		t.Fatal(got, err)
	}
}

// A full server refuses before anything is written, and a login that may not
// delete does, too.
func TestMoveIsRefusedWhole(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			b := openWith(t, redis.Options{URL: s.URL()})
			r := letters(t, b, "dead", "payments", 3)
			run := func(command ...any) {
				t.Helper()
				if err := s.Client().Do(t.Context(), command...).Err(); err != nil {
					t.Fatal(err)
				}
			}
			unchanged := func(what string) {
				t.Helper()
				if d, p := numbers(t, b, "dead"), numbers(t, b, "payments"); len(d) != 3 || len(p) != 0 {
					t.Fatalf("%s: %v left, %v moved", what, d, p)
				}
			}
			run("ACL", "SETUSER", "adds", "on", "nopass", "~*", "-@all", "+xadd", "+xrange", "+eval", "+evalsha")
			limited := openWith(t, redis.Options{URL: strings.Replace(s.URL(), "redis://", "redis://adds:x@", 1)})
			_, err := limited.Move(t.Context(), r)
			wantKind(t, err, broker.ErrNoPermission, "+xdel")
			unchanged("without the right")
			run("CONFIG", "SET", "maxmemory", "1")
			_, err = b.Move(t.Context(), r)
			wantKind(t, err, broker.ErrOutOfMemory, "payments")
			unchanged("full")
			run("CONFIG", "SET", "maxmemory", "0")
			wide := r.Moves[1].Publish
			for i := range 3000 {
				wide.Fields = append(wide.Fields, field(strconv.Itoa(i), ""))
			}
			got, err := b.Move(t.Context(), broker.MoveRequest{From: "dead", Moves: []broker.Move{r.Moves[0], {ID: r.Moves[1].ID, Publish: wide}}})
			wantKind(t, err, broker.ErrTooWide, "3001 fields", "payments")
			if len(got) != 1 || !got[0].Found {
				t.Fatal(got)
			}
		})
	}
}

// A move whose answer is lost is sent again, and nothing is added twice.
func TestMoveAfterALostAnswer(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "8.6")
	b, p := openThrough(t, s)
	r := letters(t, b, "dead", "payments", 20)
	if _, err := b.Move(t.Context(), broker.MoveRequest{From: "dead", Moves: r.Moves[:1]}); err != nil {
		t.Fatal(err)
	}
	p.mode.Store(cut)
	_, err := b.Move(t.Context(), r)
	wantKind(t, err, broker.ErrUnavailable)
	p.mode.Store(pass)
	if _, err := b.Move(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, b, "payments"); len(got) != 20 {
		t.Fatalf("%d added of 20", len(got))
	}
}
