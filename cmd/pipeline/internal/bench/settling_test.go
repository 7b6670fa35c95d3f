package bench

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"pipeline/tests/redistest"
)

// scenario finds one by its name.
func scenario(t *testing.T, name string) Scenario {
	t.Helper()
	for _, s := range Scenarios() {
		if s.Name == name {
			return s
		}
	}
	t.Fatalf("no scenario %s", name)
	return Scenario{}
}

// measuredBySides are the names of the figures that both sides have, and the
// product alone.
func figuresOf(t *testing.T, results []Result, name string) []string {
	t.Helper()
	var names []string
	for _, r := range results {
		if r.Case != name {
			continue
		}
		// A few entries may need no new span, and it is by spans that Go counts what
		// is allocated.
		least := math.SmallestNonzeroFloat64
		if r.Name == "allocated_bytes_per_entry" {
			least = 0
		}
		if r.Product == nil || r.Product.Median < least || r.Product.Min > r.Product.Median || r.Product.Max < r.Product.Median {
			t.Errorf("%s %s: the product's is %v", r.Case, r.Name, r.Product)
		}
		names = append(names, r.Name)
	}
	return names
}

// Both sides settle all entries, alternately, and everything is measured.
func TestSettling(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, r *Runner) {
		report := &silent{}
		r.Report = report
		results, err := r.Run(t.Context(), []Scenario{scenario(t, "ack"), scenario(t, "reply")})
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ack", "reply"} {
			mine := slices.DeleteFunc(slices.Clone(results), func(r Result) bool { return r.Scenario != name })
			want := []string{"entries_per_second", "cpu_us_per_entry", "server_cpu_us_per_entry", "allocated_bytes_per_entry"}
			if got := figuresOf(t, mine, ""); !slices.Equal(got, want) {
				t.Errorf("%s: figures %v, want %v", name, got, want)
			}
			for _, m := range mine {
				if m.Ratio == nil || m.Reference == nil || m.Rounds != 2 {
					t.Errorf("%s %s: %+v", name, m.Name, m)
				}
			}
		}
		abba := []Side{Product, Reference, Reference, Product}
		if want := append(slices.Clone(abba), abba...); !slices.Equal(report.sides, want) {
			t.Errorf("the order is %v, want %v", report.sides, want)
		}
	})
}

// A round in which a side did not do all of it is no measurement.
func TestARoundThatLeftSomethingFails(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, r *Runner) {
		ctx, c := t.Context(), r.Server.client
		job := r.job(Reference)
		job.Streams, job.Reply = []string{r.key("in")}, r.key("out")
		if _, err := r.Server.fill(ctx, job.Streams[0], 3, 0); err != nil {
			t.Fatal(err)
		}
		if err := c.XGroupCreate(ctx, job.Streams[0], job.Group, "0").Err(); err != nil {
			t.Fatal(err)
		}
		if err := r.settled(ctx, &job, 3); err == nil || !strings.Contains(err.Error(), "published 0 replies to 3 entries") {
			t.Errorf("without replies: %v", err)
		}
		if err := r.Server.pend(ctx, job.Streams[0], job.Group, agedBy); err != nil {
			t.Fatal(err)
		}
		if err := r.settled(ctx, &job, 0); err == nil || !strings.Contains(err.Error(), "left 3 entries pending") {
			t.Errorf("with pending entries: %v", err)
		}
	})
}

// An entry that comes to something else than it should ends the round, and says
// which and why.
func TestAnEntryThatFailsEndsTheRound(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, r *Runner) {
		p, job := waiting(t, r, Product)
		p.tell(orderGo)
		if err := r.Server.client.Do(t.Context(), "XADD", job.Streams[0], "5-1", "_payload", "no json").Err(); err != nil {
			t.Fatal(err)
		}
		_, err := p.await(t.Context(), saidDone)
		if err == nil || !strings.Contains(err.Error(), "entry 5-1 came to invalid") {
			t.Errorf("%v", err)
		}
	})
}

// All that a run writes begins with its prefix; what others have stays.
func TestOnlyOwnKeysAreRemoved(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t, "8.6")
	ctx := t.Context()
	for _, key := range []string{"pipeline-bench-{other}:entries", "payments"} {
		if err := s.Client().Set(ctx, key, 1, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	r := &Runner{}
	t.Run("run", func(t *testing.T) {
		server, err := Open(ctx, s.URL(), Prefix("mine"), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Server = server
		if _, err := server.fill(ctx, r.key("entries"), 1500, 0); err != nil {
			t.Fatal(err)
		}
		if n := s.Client().DBSize(ctx).Val(); n != 3 {
			t.Errorf("%d keys", n)
		}
		canceled, cancel := context.WithCancel(ctx)
		cancel()
		if err := server.Close(canceled); err != nil {
			t.Error(err)
		}
	})
	if n := s.Client().DBSize(ctx).Val(); n != 2 {
		t.Errorf("%d keys are left, not the 2 of others", n)
	}
}

// Every engine of handlers settles all of it.
func TestEngines(t *testing.T) {
	t.Parallel()
	r := testRunner(t, redistest.Shared(t, "8.6"))
	r.Rounds = 1
	results, err := r.Run(t.Context(), []Scenario{scenario(t, "engines")})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{Native, "lua", "c", "go"} {
		if got := figuresOf(t, results, name); len(got) != len(throughput) {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// What the native handler replies is what the one in Lua does: both are compared
// with the same reference. (TestSettling counts replies; here their bodies are
// compared.)
func TestHandlersReplyTheSame(t *testing.T) {
	t.Parallel()
	r := testRunner(t, redistest.Shared(t, "8.6"))
	ctx := t.Context()
	bodies := map[string]string{}
	for _, handler := range []string{Native, "lua", "c", "go", "reference"} {
		job := r.job(Product)
		if job.Handler = handler; handler == "reference" {
			job.Side = Reference
		}
		job.Streams, job.Reply, job.Cold, job.Total, job.Workers = []string{r.key("in")}, r.key("out"), true, 3, 1
		if handler == Native {
			for _, body := range []string{
				`{"id":1,"account":"a","amount_cents":1000000}`, `{"id":2,"account":"b","amount_cents":1000001}`, `{"id":3,"account":"c","amount_cents":1}`,
			} {
				if err := r.Server.client.Do(ctx, "XADD", job.Streams[0], "*", "_payload", body, "h:redis-partition-key", "k").Err(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := r.createGroups(ctx, &job, []string{"0"}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.run(ctx, &job, func(*process) error { return nil }); err != nil {
			t.Fatal(err)
		}
		for _, m := range r.Server.client.XRange(ctx, job.Reply, "-", "+").Val() {
			body, _ := m.Values["_payload"].(string)
			bodies[handler] += body
		}
		if err := r.forget(ctx, &job); err != nil {
			t.Fatal(err)
		}
	}
	want := `{"payment_id":1,"suspicious":false}{"payment_id":2,"suspicious":true}{"payment_id":3,"suspicious":false}`
	for handler, got := range bodies {
		if got != want {
			t.Errorf("%s replies %s, want %s", handler, got, want)
		}
	}
}

// A round during which the server went away is told.
func TestADisturbedRoundIsTold(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "8.6")
	r := testRunner(t, s)
	report := &silent{}
	r.Report = report
	job := r.job(Product)
	job.Streams, job.Total = []string{r.key("in")}, 1
	if err := r.createGroups(t.Context(), &job, []string{"0"}); err != nil {
		t.Fatal(err)
	}
	_, err := r.run(t.Context(), &job, func(*process) error {
		// The connection that waits in a read: one that lies idle is found dead
		// and replaced without anybody being disturbed.
		poll(t, "a waiting read is cut", func() bool {
			list, err := s.Client().ClientList(t.Context()).Result()
			if err != nil {
				return false
			}
			for client := range strings.Lines(list) {
				id, rest, _ := strings.Cut(strings.TrimPrefix(client, "id="), " ")
				if strings.Contains(rest, " flags=b ") {
					return s.Client().ClientKillByFilter(t.Context(), "ID", id).Val() == 1
				}
			}
			return false
		})
		var err error
		poll(t, "the server takes an entry", func() bool {
			_, err = r.Server.fill(t.Context(), job.Streams[0], 1, 0)
			return err == nil
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.notes) == 0 || !strings.Contains(report.notes[0], "a round of the pipeline was disturbed: redis.lost ×1") {
		t.Errorf("notes %q", report.notes)
	}
}
