package redis_test

import (
	"fmt"
	"strings"
	"testing"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/tests/redistest"
)

// boundedFile is replyFile whose replies wait for room.
var boundedFile = strings.Replace(replyFile, "stream \"out\" {}\n", "stream \"out\" {\n  max_backlog = 20\n}\n", 1)

// bounded runs boundedFile.
func bounded(t *testing.T, s *redistest.Server, host string) *service {
	t.Helper()
	path := write(t, [2]string{"bounded.hcl", boundedFile}, [2]string{"h.lua", replyScript})
	return start(t, s, load(t, path, map[string]string{"min_idle": "5s"}), host)
}

// behind is how far the group of a stream is behind, by the stream's own entries.
func behind(t *testing.T, s *redistest.Server, stream, group string) int64 {
	t.Helper()
	groups, err := s.Client().XInfoGroups(t.Context(), stream).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range groups {
		if g.Name == group {
			unread, err := s.Client().XRange(t.Context(), stream, "("+g.LastDeliveredID, "+").Result()
			if err != nil {
				t.Fatal(err)
			}
			return g.Pending + int64(len(unread))
		}
	}
	t.Fatalf("stream %s has no group %s", stream, group)
	return 0
}

// take has the group of another service read and acknowledge some entries.
func take(t *testing.T, s *redistest.Server, stream, group string, count int64) int {
	t.Helper()
	read, err := s.Client().XReadGroup(t.Context(), &goredis.XReadGroupArgs{
		Group: group, Consumer: "c", Streams: []string{stream, ">"}, Count: count, Block: -1,
	}).Result()
	if err != nil && err != goredis.Nil { //nolint:errorlint // go-redis returns it bare
		t.Fatal(err)
	}
	if len(read) == 0 {
		return 0
	}
	ids := make([]string, len(read[0].Messages))
	for i, m := range read[0].Messages {
		ids[i] = m.ID
	}
	if err := s.Client().XAck(t.Context(), stream, group, ids...).Err(); err != nil {
		t.Fatal(err)
	}
	return len(ids)
}

// Two processes reply to a stream whose readers stand still, and then go on: what
// is unacknowledged stays bounded, and in the end each entry is answered once.
func TestRepliesWaitForReadersThatFallBehind(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		if err := s.Client().XGroupCreateMkStream(t.Context(), "out", "readers", "0").Err(); err != nil {
			t.Fatal(err)
		}
		a, b := bounded(t, s, "host-a"), bounded(t, s, "host-b")
		a.ready()
		b.ready()
		const entries = 150
		var ns []int
		for n := range entries {
			ns = append(ns, n)
		}
		add(t, s, ns...)
		withheld := func(v *service) int { return v.engine.Snapshot().Subscriptions[0].Withheld }
		eventually(t, "replies are withheld", func() bool { return behind(t, s, "out", "readers") >= 20 && withheld(a)+withheld(b) > 0 })
		taken := 0
		for taken < entries {
			if n := behind(t, s, "out", "readers"); n > 30 {
				t.Fatalf("%d replies are not acknowledged; two processes stay below max_backlog (20) and half of it", n)
			}
			eventually(t, fmt.Sprintf("more than %d replies come", taken), func() bool {
				n := take(t, s, "out", "readers", 10)
				taken += n
				return n > 0
			})
		}
		eventually(t, "nothing is pending", func() bool { return pendingNow(t, s) == 0 })
		messages, err := s.Client().XRange(t.Context(), "out", "-", "+").Result()
		if err != nil {
			t.Fatal(err)
		}
		seen := map[any]bool{}
		for _, m := range messages {
			seen[m.Values["_payload"]] = true
		}
		if len(messages) != entries || len(seen) != entries {
			t.Errorf("%d replies, %d different ones, want %d", len(messages), len(seen), entries)
		}
		for _, v := range []*service{a, b} {
			if err := v.drain(); err != nil {
				t.Error(err)
			}
		}
	})
}
