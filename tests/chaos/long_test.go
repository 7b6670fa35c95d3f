package chaos

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/tests/redistest"
)

var (
	span = flag.Duration("chaos.time", 0, "how long the long test goes on; 0 is 15s, and 2m in CI. From 10m on, its minima hold: see thorough")
	seed = flag.Uint64("chaos.seed", 0, "what the long test does is drawn from it; 0 is one of its own in each run")
)

// budget is how long the long test goes on.
func budget() time.Duration {
	switch {
	case *span > 0:
		return *span
	case os.Getenv("CI") != "":
		return 2 * time.Minute
	}
	return 15 * time.Second
}

// thorough is how long a run is that must have seen at least these; it goes on
// until it has, up to twice its time.
const (
	thorough     = 10 * time.Minute
	leastKills   = 200
	leastStalls  = 20
	leastCuts    = 20
	leastPayment = 100_000
)

// crewSize is how many processes work at a time.
const crewSize = 3

// figures are what a run did and found.
type figures struct {
	payments, kills, stalls, cuts, halves, disconnects, restarts, flushes int
	posted, redelivered, handedBack                                       int
}

// enough reports whether a thorough run has seen what it must.
func (f *figures) enough() bool {
	return f.kills >= leastKills && f.stalls >= leastStalls && f.cuts+f.halves >= leastCuts && f.payments >= leastPayment
}

// ordeal is one run.
type ordeal struct {
	figures

	t       *testing.T
	server  *redistest.Server
	random  *rand.Rand
	crew    []*process
	proxies []*redistest.Proxy
	// late are processes that are stopped for a while, by when they go on.
	late       map[*process]<-chan time.Time
	violations []string
	// told is what the processes said of what may explain a loss.
	told []string
}

// TestNothingIsLostAndNothingIsPublishedTwiceWhateverHappens has three processes
// at work and kills, stops and disconnects them in turn, each at a random moment,
// restarts the server and empties its script cache, while payments arrive. Then
// it lets everything recover and asks the server.
func TestNothingIsLostAndNothingIsPublishedTwiceWhateverHappens(t *testing.T) {
	for _, version := range []string{"7.0", "8.6"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			// Each write is on the disk before it is answered: what a restart loses
			// is not asked here.
			// A worker that another test left behind may still look for a server at the
			// same port, and would work here by another pipeline: it cannot log in.
			from := *seed
			if from == 0 {
				from = uint64(time.Now().UnixNano())
			}
			s := redistest.Start(t, version, redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always"),
				redistest.Password(fmt.Sprintf("chaos-%d-%d", os.Getpid(), from)))
			o := &ordeal{t: t, server: s, random: rand.New(rand.NewPCG(from, 0)), late: map[*process]<-chan time.Time{}}
			t.Logf("again: go test ./tests/chaos -run '%s' -chaos.seed %d -chaos.time %v", t.Name(), from, budget())
			o.run(budget())
		})
	}
}

func (o *ordeal) run(length time.Duration) {
	for i := range crewSize {
		o.proxies = append(o.proxies, redistest.Through(o.t, o.server))
		o.crew = append(o.crew, o.start(i))
	}
	for _, p := range o.crew {
		p.ready()
	}
	began := time.Now()
	for time.Since(began) < length || length >= thorough && !o.enough() && time.Since(began) < 2*length {
		o.round(length)
	}
	o.calm()
	wait(o.t, 5*time.Minute, "everything is settled", func() bool { return settled(o.t, o.server) })
	took := time.Since(began)
	for i, p := range o.crew {
		p.drain()
		o.gather(p, i)
	}
	o.judge(length, took)
}

func (o *ordeal) start(i int) *process {
	return runOn(o.t, o.server, o.proxies[i].URL(), "min_idle=1s")
}

// round has payments arrive and one thing happen.
func (o *ordeal) round(length time.Duration) {
	n := 100 + o.random.IntN(400)
	if length >= thorough {
		n = max(n, leastPayment/leastKills)
	}
	o.pay(n)
	pause(o.random.IntN(300))
	i := o.random.IntN(crewSize)
	switch k := o.random.IntN(100); {
	case k < 55:
		o.kill(i)
	case k < 70:
		o.stall(i)
	case k < 80:
		o.cuts++
		o.proxies[i].Cut()
	case k < 88:
		o.halves++
		o.proxies[i].Swallow()
	case k < 92:
		o.disconnects++
		o.ask(func(ctx context.Context, c *redis.Client) error {
			return c.Do(ctx, "CLIENT", "KILL", "TYPE", "normal").Err()
		})
	case k < 96:
		o.flushes++
		o.ask(func(ctx context.Context, c *redis.Client) error { return c.ScriptFlush(ctx).Err() })
	default:
		o.restarts++
		o.server.Kill()
		o.server.Restart()
	}
	o.goOn(false)
}

// kill kills a process, stopped or not, and starts another in its place.
func (o *ordeal) kill(i int) {
	o.kills++
	p := o.crew[i]
	delete(o.late, p)
	p.kill()
	o.gather(p, i)
	o.crew[i] = o.start(i)
}

// stall stops a process for longer than min_idle.
func (o *ordeal) stall(i int) {
	p := o.crew[i]
	if o.late[p] != nil {
		return
	}
	o.stalls++
	p.signal(syscall.SIGSTOP)
	o.late[p] = time.After(time.Duration(1200+o.random.IntN(1500)) * time.Millisecond)
}

// goOn lets those go on whose time has come, or all, and waits for them.
func (o *ordeal) goOn(all bool) {
	for p, due := range o.late {
		if all {
			<-due
			p.signal(syscall.SIGCONT)
			delete(o.late, p)
			continue
		}
		select {
		case <-due:
			p.signal(syscall.SIGCONT)
			delete(o.late, p)
		default:
		}
	}
}

// calm ends all that is wrong.
func (o *ordeal) calm() { o.goOn(true) }

// ask asks the server over a connection of its own.
func (o *ordeal) ask(what func(context.Context, *redis.Client) error) {
	o.t.Helper()
	c := redis.NewClient(o.server.Options())
	defer func() { _ = c.Close() }()
	if err := what(o.t.Context(), c); err != nil {
		o.t.Fatal(err)
	}
}

// pay adds n payments. The producer's connection is not one of those that break:
// what it is told was added was added.
func (o *ordeal) pay(n int) {
	o.t.Helper()
	o.ask(func(ctx context.Context, c *redis.Client) error {
		pipe := c.Pipeline()
		for i := o.payments; i < o.payments+n; i++ {
			pipe.Do(ctx, "XADD", "payments", "*", "id", i, "account", fmt.Sprintf("acct-%d", i%accounts), "amount_cents", i)
		}
		_, err := pipe.Exec(ctx)
		return err
	})
	o.payments += n
}

// gather adds up what a process that is gone has printed.
func (o *ordeal) gather(p *process, i int) {
	posted, redelivered, handedBack, violations := p.log.figures()
	o.handedBack += handedBack
	o.posted += posted
	o.redelivered += redelivered
	for _, v := range violations {
		o.violations = append(o.violations, fmt.Sprintf("process %d of place %d: %s", p.cmd.Process.Pid, i, v))
	}
	o.told = append(o.told, tellingLines(p.output())...)
	if text := p.output(); strings.Contains(text, "panic") || strings.Contains(text, "fatal error") {
		o.t.Errorf("a process broke:\n%s", text)
	}
}

// judge prints the figures and fails for what must not be.
func (o *ordeal) judge(length, took time.Duration) {
	v := count(o.t, o.server, o.payments)
	o.t.Logf("Redis %s, %v: %d payments (%.0f/s), %d kills, %d stalls, %d cuts, %d half-open, %d times all disconnected, "+
		"%d server restarts, %d script flushes; lost: %d, duplicate replies: %d, order violations: %d, dead letters: %d, handed back: %d, redelivered: %.2f%%",
		o.server.Version, took.Round(time.Second), o.payments, float64(o.payments)/took.Seconds(), o.kills, o.stalls, o.cuts, o.halves,
		o.disconnects, o.restarts, o.flushes, v.lost, v.duplicates, len(o.violations), v.dead, o.handedBack, 100*float64(o.redelivered)/float64(max(1, o.posted)))
	if v.lost > 0 || v.duplicates > 0 {
		o.t.Errorf("%d payments lost, %d replies too many: %s", v.lost, v.duplicates, v.examples)
		o.t.Logf("told by the processes:\n%s", strings.Join(o.told, "\n"))
		autopsy(o.t, o.server, v.missing)
	}
	if len(o.violations) > 0 {
		slices.Sort(o.violations)
		o.t.Errorf("%d payments in the wrong order: %s", len(o.violations), strings.Join(o.violations[:min(10, len(o.violations))], "; "))
	}
	redistest.Leftovers(o.t, o.server, "payments")
	if length >= thorough && !o.enough() {
		o.t.Errorf("too little happened in %v: at least %d kills, %d stalls, %d cuts and %d payments are wanted",
			took, leastKills, leastStalls, leastCuts, leastPayment)
	}
}

// pause lets the processes work for some milliseconds; it waits for nothing.
func pause(ms int) { <-time.After(time.Duration(ms) * time.Millisecond) }
