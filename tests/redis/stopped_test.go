package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis/aging"
	"pipeline/engine/clock"
	"pipeline/engine/harness"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// stopped is a pipeline on a real server in a time that stands still until the
// test moves it: an hour takes a moment, and what comes when is exact.
type stopped struct {
	*harness.Harness

	t      *testing.T
	server *redistest.Server
	keys   *aging.Keyspace
}

// oneFile is a pipeline of one subscription. Its parts in capitals are replaced.
const oneFile = `
pipeline "one" {
  version  = "1.2.3"
  language = 1
}
broker "redis" {
  url = "redis://localhost:6379"
}
stream "in" {
  STREAM
}
stream "out" {}
LETTERS
handler "h" {
  source = "h.lua"
  limits {
    memory       = "8MiB"
    instructions = 200000
  }
}
RETRY
group "g" {
  stream = stream.in
  start  = "beginning"
  DEAD_LETTER
  subscription "s" {
    handler = handler.h
    SUBSCRIPTION
  }
}
`

// parts are what a test puts into oneFile; empty ones are left out.
type parts struct {
	stream, retry, subscription, script string
	// defaultLetters leaves the dead_letter block out.
	defaultLetters bool
}

// quick is a policy whose delays are easy to follow.
const quick = `retry "r" {
  max_attempts = 3
  delay        = "2s"
  multiplier   = 3
  max_delay    = "10s"
  jitter       = 0
}`

func (p parts) file() string {
	deadStream, deadLetter, retry := "stream \"dead\" {\n  codec = \"bytes\"\n}", "dead_letter {\n    to = stream.dead\n  }", p.retry
	if p.defaultLetters {
		deadStream, deadLetter = "", ""
	}
	subscription := p.subscription
	if retry != "" {
		subscription = "retry = retry.r\n" + subscription
	}
	return strings.NewReplacer("STREAM", p.stream, "LETTERS", deadStream, "RETRY", retry, "DEAD_LETTER", deadLetter,
		"SUBSCRIPTION", subscription).Replace(oneFile)
}

// stop makes a pipeline on the server in stopped time. A handler of the test's
// own takes the place of the script.
func stop(t *testing.T, s *redistest.Server, p parts, own sandbox.Handler, change ...func(*harness.Config)) *stopped {
	t.Helper()
	path := write(t, [2]string{"one.hcl", p.file()}, [2]string{"h.lua", p.script})
	if p.script == "" {
		path = write(t, [2]string{"one.hcl", p.file()}, [2]string{"h.lua", "function handle() return ack() end"})
	}
	pipeline := load(t, path, nil)
	handlers := map[string]sandbox.Handler{"h": own}
	if own == nil {
		handlers = compile(t, pipeline)
	}
	redis, err := aging.Open(t.Context(), s.URL(), clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = redis.Close() })
	now, err := redis.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w := &stopped{t: t, server: s}
	cfg := harness.Config{Pipeline: pipeline, Handlers: handlers, Start: now, Open: func(c clock.Clock) (harness.Server, error) {
		keys, err := redis.Keyspace(t.Context(), c)
		w.keys = keys
		return keys, err
	}}
	for _, f := range change {
		f(&cfg)
	}
	if w.Harness, err = harness.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(w.Harness)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// work starts a worker on a machine.
func (w *stopped) work(machine string) *harness.Worker {
	w.t.Helper()
	worker, err := w.StartOn(w.t.Context(), machine)
	if err != nil {
		w.t.Fatal(err)
	}
	return worker
}

// add adds an entry of names and values in turn, and has it read.
func (w *stopped) add(pairs ...string) broker.ID {
	w.t.Helper()
	var fields []broker.Field
	for i := 0; i < len(pairs); i += 2 {
		fields = append(fields, broker.Field{Name: pairs[i], Value: pairs[i+1]})
	}
	ids, err := w.Publish(broker.Add{Stream: "in", Fields: fields})
	if err != nil {
		w.t.Fatal(err)
	}
	w.settle()
	return ids[0]
}

// settle runs what happens without time passing.
func (w *stopped) settle() {
	w.t.Helper()
	if err := w.Settle(w.t.Context()); err != nil {
		w.t.Fatal(err)
	}
}

func (w *stopped) advance(d time.Duration) {
	w.t.Helper()
	if err := w.Advance(w.t.Context(), d); err != nil {
		w.t.Fatal(err)
	}
}

func (w *stopped) arm(f harness.Fault) {
	w.t.Helper()
	if err := w.Arm(f); err != nil {
		w.t.Fatal(err)
	}
}

// do sends a command to the server itself, behind the back of the pipeline.
func (w *stopped) do(command ...any) any {
	w.t.Helper()
	reply, err := w.server.Client().Do(w.t.Context(), command...).Result()
	if err != nil {
		w.t.Fatalf("%v: %v", command, err)
	}
	return reply
}

// told counts the entries, or the events where those count none, of a name.
func (w *stopped) told(name string) (n int) {
	for _, e := range w.Events() {
		if string(e.Name) == name {
			n += max(1, e.Count)
		}
	}
	return n
}

// calls are what was delivered to the subscription and what came of it, a line
// each: the outcome, its attempt and how often it was delivered before.
func (w *stopped) calls() []string {
	var all []string
	for _, c := range w.Calls("s") {
		all = append(all, fmt.Sprintf("%s#%d/%d", c.Outcome, c.Attempt, c.Deliveries))
	}
	return all
}

// after asserts that call i came no earlier than d after the call before it, and
// no more than late later.
func (w *stopped) after(i int, d, late time.Duration) {
	w.t.Helper()
	calls := w.Calls("s")
	if len(calls) <= i {
		w.t.Fatalf("only %d calls", len(calls))
	}
	if took := calls[i].Time.Sub(calls[i-1].Time); took < d || took > d+late {
		w.t.Errorf("call %d came %v after the one before, want %v and at most %v more", i, took, d, late)
	}
}

// way is how a subscription claims.
type way struct {
	name, claim string
	// versions are the servers that can.
	versions []string
}

// minIdle is that of the ways that claim.
const minIdle = 30 * time.Second

var (
	byReads     = way{"claiming reads", "claim {\n      min_idle = \"30s\"\n      using = \"read\"\n    }", []string{"8.6"}}
	byAutoclaim = way{"XAUTOCLAIM", "claim {\n      min_idle = \"30s\"\n      using = \"autoclaim\"\n    }", redistest.Versions}
	noClaim     = way{"no claim", "", redistest.Versions}
	claimWays   = []way{byReads, byAutoclaim}
	allWays     = []way{byReads, byAutoclaim, noClaim}
)

// onWays runs a test for ways of claiming on the servers that have them.
func onWays(t *testing.T, ways []way, test func(t *testing.T, s *redistest.Server, w way)) {
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			for _, version := range w.versions {
				t.Run(version, func(t *testing.T) {
					t.Parallel()
					test(t, redistest.Shared(t, version), w)
				})
			}
		})
	}
}
