package bench

import (
	"strings"
	"testing"
	"time"
)

// Both sides take over what a dead consumer held: all of it, and as many of a
// longer list.
func TestRecovery(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, r *Runner) {
		r.Rounds = 1
		results, err := r.Run(t.Context(), []Scenario{scenario(t, "recovery")})
		if err != nil {
			t.Fatal(err)
		}
		want := "seconds slowest_command_ms entries_per_second cpu_us_per_entry server_cpu_us_per_entry allocated_bytes_per_entry"
		for _, name := range []string{"200 pending", "400 pending"} {
			if got := strings.Join(figuresOf(t, results, name), " "); got != want {
				t.Errorf("%s: figures %s, want %s", name, got, want)
			}
		}
	})
}

// The slowest command is one of this run, since the mark, and named; a faster one
// than the server logs is told as the bound.
func TestSlowlog(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, r *Runner) {
		ctx, c := t.Context(), r.Server.client
		before := r.Server.slowlog(ctx)
		if before.from != 10*time.Millisecond {
			t.Fatalf("the server logs from %v on", before.from)
		}
		if most, name, err := r.Server.slowest(ctx, before); most != before.from || name != "" || err != nil {
			t.Errorf("nothing slow: %v %q %v", most, name, err)
		}
		const slow = "local n = 0; for i = 1, 3e6 do n = n + i % 7 end; return n"
		for _, key := range []string{"someone-elses", r.key("a"), r.key("b")} {
			if err := c.Eval(ctx, slow, []string{key}).Err(); err != nil {
				t.Fatal(err)
			}
		}
		most, name, err := r.Server.slowest(ctx, before)
		if most <= before.from || name != "EVAL" || err != nil {
			t.Errorf("a slow one: %v %q %v", most, name, err)
		}
		if most, name, err := r.Server.slowest(ctx, r.Server.slowlog(ctx)); most != before.from || name != "" || err != nil {
			t.Errorf("since then: %v %q %v", most, name, err)
		}
		alien := *r.Server
		alien.prefix = "pipeline-bench-{another}:"
		if most, name, err := alien.slowest(ctx, before); most != before.from || name != "" || err != nil {
			t.Errorf("of another run: %v %q %v", most, name, err)
		}
	})
}
