package bench

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/tests/redistest"
)

// Both sides reply to paced entries, and the times of all of them are taken.
func TestLatency(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, r *Runner) {
		r.Rounds = 1
		results, err := r.Run(t.Context(), []Scenario{scenario(t, "latency")})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"1000 entries/s", "10000 entries/s"} {
			got := strings.Join(figuresOf(t, results, name), " ")
			if got != "p50_us p99_us p99_9_us sent_late_p99_us cpu_us_per_entry server_cpu_us_per_entry" {
				t.Errorf("%s: %s", name, got)
			}
		}
		if got := strings.Join(figuresOf(t, results, "after 50ms of idleness"), " "); got != "first_after_idle_us next_after_idle_us" {
			t.Errorf("after idleness: %s", got)
		}
	})
}

// The time of an entry begins when it was meant to be sent: one that was sent late
// because the server stood still is late by that.
func TestALateSenderCounts(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "8.6")
	r := testRunner(t, s)
	ctx := t.Context()
	answer := func(l *openLoop) {
		last := "0"
		for n := 0; n < len(l.plan); {
			streams, err := s.Client().XRead(ctx, &redis.XReadArgs{Streams: []string{l.in, last}, Block: time.Second}).Result()
			if err != nil {
				continue
			}
			for _, m := range streams[0].Messages {
				body, _ := m.Values["_payload"].(string)
				id, _, _ := strings.Cut(strings.TrimPrefix(body, `{"id":`), ",")
				s.Client().XAdd(ctx, &redis.XAddArgs{Stream: l.replies, Values: []string{"_payload", `{"payment_id":` + id + `}`}})
				last = m.ID
				n++
			}
		}
	}
	const pause = 300 * time.Millisecond
	l := &openLoop{clock: r.Clock, client: r.Server.client, in: r.key("in"), replies: r.key("out")}
	for i := range 300 { // three seconds, of which the pause takes some part, however late it begins
		l.plan = append(l.plan, time.Duration(i)*10*time.Millisecond)
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		answer(l)
	}()
	stopped := make(chan struct{})
	time.AfterFunc(100*time.Millisecond, func() {
		s.Pause()
		time.AfterFunc(pause, func() {
			s.Resume()
			close(stopped)
		})
	})
	err := l.run(ctx)
	<-stopped
	<-answered
	if err != nil {
		t.Fatal(err)
	}
	// Some thirty entries were to be sent while the server stood still. Waiting for
	// each reply before the next would make one of them late.
	late := 0
	for _, took := range l.took {
		if took > 20*time.Millisecond {
			late++
		}
	}
	if late < 20 || slices.Max(l.took) < pause-50*time.Millisecond {
		t.Errorf("%d of %d entries are late, by %v at most", late, len(l.took), slices.Max(l.took))
	}
}

// A reply that is none ends the loop.
func TestAForeignReplyIsAnError(t *testing.T) {
	t.Parallel()
	l := &openLoop{plan: make([]time.Duration, 2)}
	for _, body := range []string{"", "{}", `{"payment_id":2}`, `{"payment_id":-1}`, "no json"} {
		if err := l.arrived(redis.XMessage{Values: map[string]any{"_payload": body}}, time.Time{}); err == nil {
			t.Errorf("%q is taken", body)
		}
	}
}
