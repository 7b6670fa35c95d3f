package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"go.uber.org/goleak"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// examples are the files of the worked example.
var examples = filepath.Join("..", "..", "..", "..", "examples")

// fakeApp is an app that prints into a buffer.
func fakeApp(t *testing.T, o view.Options) (*app, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	o.Out, o.Err = &out, &out
	exited := func(code int) { t.Errorf("the process ends with %d", code) }
	return &app{view: view.New(o), clock: clock.Real(), exit: exited, json: o.JSON}, &out
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	down := &broker.Error{Op: "read", Kind: broker.ErrUnavailable}
	for name, c := range map[string]struct {
		err  error
		exit int
		word string
	}{
		"none":          {nil, 0, ""},
		"any":           {errors.New("x"), 1, ""},
		"a failure":     {fmt.Errorf("wrapped: %w", fail(2, "w", "m")), 2, "w"},
		"unsuitable":    {&engine.UnsuitableError{Code: "claiming_read_unsupported"}, 4, "claiming_read_unsupported"},
		"left":          {&engine.LeftError{Left: []engine.Left{{Subscription: "s", Count: 1}}}, 5, "entries_left"},
		"down":          {fmt.Errorf("publish: %w", down), 4, "server_unavailable"},
		"refused":       {&broker.Error{Kind: broker.ErrAuth}, 4, "server_refuses"},
		"no permission": {&broker.Error{Kind: broker.ErrNoPermission}, 4, "server_refuses"},
		"wrong type":    {&broker.Error{Kind: broker.ErrWrongType}, 4, "server_wrong_type"},
		"full":          {&broker.Error{Kind: broker.ErrOutOfMemory}, 4, "server_full"},
		"old":           {&broker.Error{Kind: broker.ErrUnsupported}, 4, "server_unsuitable"},
		"all failed by the server": {
			&engine.FailedError{Failed: []engine.Failed{{Subscription: "s", Err: &broker.Error{Kind: broker.ErrWrongType}}}}, 4, "server_wrong_type",
		},
		"all failed by policy": {&engine.FailedError{Failed: []engine.Failed{{Subscription: "s", Err: errors.New("on_invalid")}}}, 1, "all_failed"},
		"left beside a close":  {errors.Join(&engine.LeftError{}, errors.New("close")), 5, "entries_left"},
	} {
		if f := failureOf(c.err); f.Exit != c.exit || f.Code != c.word {
			t.Errorf("%s: exit %d %q, want %d %q", name, f.Exit, f.Code, c.exit, c.word)
		}
	}
	if got := signalExit(syscall.SIGTERM); got != 143 {
		t.Errorf("SIGTERM: %d", got)
	}
	if got := signalExit(os.Interrupt); got != 130 {
		t.Errorf("SIGINT: %d", got)
	}
}

// An echo of the first signal is no second one; another signal, or the same one
// later, is.
func TestSecondSignal(t *testing.T) {
	t.Parallel()
	start := time.Unix(0, 0)
	for name, c := range map[string]struct {
		signals []os.Signal
		later   os.Signal
		want    os.Signal
	}{
		"none":                {nil, nil, nil},
		"echo":                {[]os.Signal{syscall.SIGINT, syscall.SIGINT}, nil, nil},
		"another":             {[]os.Signal{syscall.SIGINT, syscall.SIGTERM}, nil, syscall.SIGTERM},
		"the same later":      {nil, syscall.SIGINT, syscall.SIGINT},
		"echo and then later": {[]os.Signal{syscall.SIGINT}, syscall.SIGINT, syscall.SIGINT},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, _ := fakeApp(t, view.Options{})
			virtual := clock.NewVirtual(start)
			a.clock = virtual
			caught, done := make(chan os.Signal), make(chan struct{})
			got := make(chan os.Signal, 1)
			go func() { got <- a.secondSignal(syscall.SIGINT, caught, done) }()
			ended := false
			send := func(s os.Signal) {
				select {
				case caught <- s:
				case g := <-got:
					got <- g
					ended = true
				}
			}
			for _, s := range c.signals {
				send(s)
			}
			if c.later != nil {
				// Nothing tells that the timer was set and its tick was taken but that a
				// signal after it counts.
				for !ended {
					virtual.Advance(signalEcho)
					select {
					case caught <- c.later:
					case g := <-got:
						got <- g
						ended = true
					}
				}
			}
			if c.want == nil {
				close(done)
			}
			if g := <-got; g != c.want {
				t.Errorf("got %v, want %v", g, c.want)
			}
		})
	}
}

func TestInterruptible(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("0123456789", 50_000)
	got, err := io.ReadAll(iotest.OneByteReader(newInterruptible(t.Context(), strings.NewReader(want))))
	if err != nil || string(got) != want {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	broken := newInterruptible(t.Context(), iotest.ErrReader(errors.New("broken")))
	for range 2 {
		if _, err := broken.Read(make([]byte, 1)); err == nil || err.Error() != "broken" {
			t.Errorf("the error of the stream is lost: %v", err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	blocked, feed := io.Pipe()
	defer feed.Close() // lets the goroutine end
	r := newInterruptible(ctx, blocked)
	cancel()
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("a read that never returns: %v", err)
	}
}

// refusing is a broker that fails from the n-th Add on.
type refusing struct {
	*memory.Broker
	after int
	known int
	err   error
}

func (r *refusing) Add(ctx context.Context, adds []broker.Add) ([]broker.ID, error) {
	if r.after--; r.after >= 0 {
		return r.Broker.Add(ctx, adds)
	}
	ids, err := r.Broker.Add(ctx, adds[:r.known])
	if err != nil {
		return nil, err
	}
	return ids, r.err
}

func payments(t *testing.T) *spec.Pipeline {
	t.Helper()
	p, report := build.Load(filepath.Join(examples, "payments.hcl"), build.Vars{Env: func(string) (string, bool) { return "", false }})
	if p == nil {
		t.Fatalf("the example: %v", report.All())
	}
	return p
}

func writeBodies(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "{\"id\":%d,\"account\":\"acct-%d\",\"amount_cents\":%d}\n", i, i%997, i*37)
	}
	path := filepath.Join(t.TempDir(), "bodies.jsonl")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What is known of a batch whose answer was lost, and of one that was refused,
// is told by line; what came before is counted.
func TestPublishFails(t *testing.T) {
	t.Parallel()
	p := payments(t)
	path := writeBodies(t, 1200)
	for name, c := range map[string]struct {
		err   error
		known int
		want  string
	}{
		"lost answer": {
			&broker.Error{Op: "add", Kind: broker.ErrUnavailable}, 0,
			"add: the server is unavailable; whether the entries of lines 501 to 1000 were added is not known, those after were not",
		},
		"lost in between": {
			&broker.Error{Op: "add", Kind: broker.ErrUnavailable}, 100,
			"add: the server is unavailable; whether the entries of lines 601 to 1000 were added is not known, those after were not",
		},
		"refused": {
			&broker.Error{Op: "add", Kind: broker.ErrOutOfMemory}, 0,
			"add: the server is out of memory; the entries from line 501 on were not added",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, out := fakeApp(t, view.Options{})
			in, err := a.openInput(t.Context(), a.publishCommand(), p, inputOptions{path: path, target: p.Stream("payments"), strict: true})
			if err != nil {
				t.Fatal(err)
			}
			defer in.close()
			server := &refusing{Broker: memory.New(a.clock, memory.Options{}), after: 1, known: c.known, err: c.err}
			err = a.addEntries(t.Context(), server, in, a.newGates(p, server, 0))
			if f := failureOf(err); f.Exit != exitServer || f.Message != c.want {
				t.Errorf("exit %d: %s\nwant %s", f.Exit, f.Message, c.want)
			}
			if err := a.view.Close(); err != nil {
				t.Fatal(err)
			}
			if want := fmt.Sprintf("published %d entries to payments: ", 500+c.known); !strings.HasPrefix(out.String(), want) {
				t.Errorf("printed %q, want %q", out, want)
			}
		})
	}
}

// A signal ends publish between two batches and says how far it came.
func TestPublishInterrupted(t *testing.T) {
	t.Parallel()
	p := payments(t)
	a, _ := fakeApp(t, view.Options{})
	in, err := a.openInput(t.Context(), a.publishCommand(), p, inputOptions{path: writeBodies(t, 5000), target: p.Stream("payments"), strict: true})
	if err != nil {
		t.Fatal(err)
	}
	defer in.close()
	ctx, cancel := context.WithCancel(t.Context())
	server := memory.New(a.clock, memory.Options{})
	err = a.addEntries(ctx, &canceling{Broker: server, cancel: cancel, after: 2}, in, a.newGates(p, server, 0))
	f := failureOf(err)
	if f.Exit != exitLeft || f.Message != "stopped by a signal: the entries up to line 1000 were added, those after were not" {
		t.Errorf("exit %d: %s", f.Exit, f.Message)
	}
	if info, err := server.StreamInfo(t.Context(), "payments"); err != nil || info.Length != 1000 {
		t.Errorf("the stream has %d entries, %v", info.Length, err)
	}
}

// canceling cancels after a number of Adds.
type canceling struct {
	*memory.Broker
	cancel context.CancelFunc
	after  int
}

func (c *canceling) Add(ctx context.Context, adds []broker.Add) ([]broker.ID, error) {
	if c.after--; c.after == 0 {
		defer c.cancel()
	}
	return c.Broker.Add(ctx, adds)
}

// A script that was written in pieces is taken once it is whole.
func TestWatchScripts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("h.lua", "function handle() return ack() end")
	write("p.hcl", `pipeline "p" {
  language = 1
}
broker "memory" {}
stream "in" {}
handler "h" {
  source = "h.lua"
}
group "g" {
  stream = stream.in
  subscription "s" {
    handler = handler.h
    claim {
      min_idle = "1m"
    }
  }
}
`)
	a, _ := fakeApp(t, view.Options{})
	p, report := build.Load(filepath.Join(folder, "p.hcl"), build.Vars{})
	if p == nil {
		t.Fatal(report.All())
	}
	handlers, err := build.Compile(p, build.LogHost(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan string, 8)
	w, err := a.watchScripts(p, handlers, reload{
		replace: func(label string, _ sandbox.Handler) error { told <- "new " + label; return nil },
		refused: func(h *spec.Handler, err error) { told <- "refused " + h.Label + ": " + err.Error() },
	})
	if err != nil {
		t.Fatal(err)
	}
	write("unrelated.txt", "x")
	write("h.lua", "function handle(")
	if got := <-told; !strings.HasPrefix(got, "refused h: h.lua:1: ") {
		t.Errorf("a broken script: %s", got)
	}
	write("h.lua.new", "function handle() return drop() end")
	if err := os.Rename(filepath.Join(folder, "h.lua.new"), filepath.Join(folder, "h.lua")); err != nil {
		t.Fatal(err)
	}
	if got := <-told; got != "new h" {
		t.Errorf("a script that was renamed into place: %s", got)
	}
	w.close()
	if len(told) > 0 {
		t.Errorf("told too much: %s", <-told)
	}
	if err := handlers.Close(); err != nil {
		t.Error(err)
	}
}

// BenchmarkDryRun is the whole of `dry-run --json`, without the process.
func BenchmarkDryRun(b *testing.B) {
	var bodies strings.Builder
	const entries = 20_000
	for i := range entries {
		fmt.Fprintf(&bodies, "{\"id\":%d,\"account\":\"acct-%d\",\"amount_cents\":%d}\n", i, i%997, i*37)
	}
	null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	b.ReportAllocs()
	for b.Loop() {
		exit := Main(Process{
			Args:  []string{"dry-run", filepath.Join(examples, "payments.hcl"), "--input", "-", "--stream", "payments", "--json"},
			Stdin: strings.NewReader(bodies.String()), Stdout: null, Stderr: null,
			Env: func(string) (string, bool) { return "", false },
		})
		if exit != 0 {
			b.Fatalf("exit code %d", exit)
		}
	}
	b.ReportMetric(float64(entries)*float64(b.N)/b.Elapsed().Seconds(), "payments/s")
}
