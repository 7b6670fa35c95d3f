package testrun

import (
	"context"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/engine/broker/redis/aging"
	"pipeline/engine/clock"
	"pipeline/lang/testspec"
)

// RealLimit is the least time limit of handlers, in real time: far more than a
// script needs that its instruction limit does not end.
const RealLimit = 2 * time.Minute

// Options are how tests are run.
type Options struct {
	// Parallel is how many run at once; default GOMAXPROCS.
	Parallel int
	// Clock measures how long tests take. Required.
	Clock clock.Clock
	// Redis is the server to run on; nil is one in memory for each test.
	Redis *aging.Redis
}

// Run runs tests and yields their results in the order of the tests, each as
// soon as those before it are done. Once ctx is done no test is begun, and those
// that run are given up: their status is Skip. Whoever stops before the end has
// to cancel ctx too, or waits for what runs.
func Run(ctx context.Context, tests []*testspec.Test, o Options) iter.Seq[*Result] {
	return func(yield func(*Result) bool) {
		ctx, cancel := context.WithCancel(ctx)
		b := newBench(o.Redis)
		results := make([]chan *Result, len(tests))
		for i := range results {
			results[i] = make(chan *Result, 1)
		}
		var next atomic.Int64
		var running sync.WaitGroup
		for range min(o.parallel(), len(tests)) {
			running.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(tests); i = int(next.Add(1)) - 1 {
					results[i] <- b.timed(ctx, tests[i], o.Clock)
				}
			})
		}
		defer func() {
			cancel()
			running.Wait()
			_ = b.code.Close() // compiled scripts hold nothing outside the process
		}()
		for _, r := range results {
			if !yield(<-r) {
				return
			}
		}
	}
}

func (o *Options) parallel() int {
	if o.Parallel > 0 {
		return o.Parallel
	}
	return runtime.GOMAXPROCS(0)
}

// bench is what the tests of one Run share: compiled code, and nothing that a
// test can change.
type bench struct {
	code  *build.Cache
	logs  *logs
	redis *aging.Redis
}

func newBench(redis *aging.Redis) *bench {
	l := &logs{}
	return &bench{code: build.NewCache(l, RealLimit), logs: l, redis: redis}
}

// timed runs a test, whatever it does.
func (b *bench) timed(ctx context.Context, t *testspec.Test, c clock.Clock) *Result {
	began := c.Now()
	r := &Result{Test: t, Status: Pass}
	b.guarded(ctx, t, r)
	if ctx.Err() != nil && r.Status != Pass {
		*r = Result{Test: t, Status: Skip, Problems: []string{"interrupted"}}
	}
	r.Took = clock.Since(c, began)
	return r
}

// guarded makes a panic an error of the test.
func (b *bench) guarded(ctx context.Context, t *testspec.Test, r *Result) {
	defer func() {
		if p := recover(); p != nil {
			r.fail(fmt.Sprint("a panic, which is a mistake in this program: ", p))
			r.Problems = append(r.Problems, ours(debug.Stack())...)
		}
	}()
	if ctx.Err() != nil {
		r.Status = Skip
		return
	}
	if t.Pipeline == nil {
		if r.Problems = t.CheckProblems(); len(r.Problems) > 0 {
			r.Status = Fail
		}
		return
	}
	if why := b.unfit(t); why != "" {
		r.Status, r.Problems = Skip, []string{why}
		return
	}
	b.run(ctx, t, r)
}

// fail makes a result an error.
func (r *Result) fail(problems ...string) {
	r.Status = Error
	r.Problems = append(r.Problems, problems...)
}

// ours are the functions of a stack that are this program's, without addresses
// that differ from run to run.
func ours(stack []byte) []string {
	const most = 8
	var lines []string
	for line := range strings.Lines(string(stack)) {
		name, _, call := strings.Cut(strings.TrimSpace(line), "(0x")
		if call && strings.HasPrefix(name, "pipeline/") && len(lines) < most {
			lines = append(lines, "in "+name)
		}
	}
	return lines
}
