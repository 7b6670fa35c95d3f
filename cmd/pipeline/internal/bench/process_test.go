package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/clock"
	"pipeline/tests/redistest"
)

// parentCommand makes the test binary a parent that starts a process, prints
// that it is ready, and waits to be killed.
const parentCommand = "parent"

// usual is what stuck is, but in these tests, whose processes run beside many others.
var usual = stuck

func TestMain(m *testing.M) {
	stuck = 10 * time.Minute
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case Command:
			os.Exit(Serve(os.Stdin, os.Stdout, clock.Real(), os.Exit))
		case parentCommand:
			parent()
		}
	}
	goleak.VerifyTestMain(m)
}

func parent() {
	job := Job{Side: Reference, URL: os.Args[2], Streams: []string{os.Args[3]}, Group: "g", Workers: 1, Batch: 1}
	p, err := startProcess(clock.Real(), &job)
	if err == nil {
		_, err = p.await(context.Background(), saidReady)
	}
	fmt.Println("ready", err)
	select {} // until it is killed
}

// testRunner is a runner on an empty database.
func testRunner(t *testing.T, s *redistest.Server) *Runner {
	t.Helper()
	server, err := Open(t.Context(), s.URL(), Prefix("test"), clock.Real())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if left := s.Client().DBSize(context.Background()).Val(); left != 0 {
			t.Errorf("%d keys are left", left)
		}
	})
	r := &Runner{
		Clock: clock.Real(), URL: s.URL(), Server: server, Dir: t.TempDir(), Report: &silent{},
		Settings: Settings{Entries: 200, Rounds: 2, Workers: 2, Batch: 50, Handler: "lua", Pending: 400, Idle: 50 * time.Millisecond},
	}
	if err := WriteHandlers(r.Dir); err != nil {
		t.Fatal(err)
	}
	return r
}

// silent remembers the sides of the rounds, and what is noted.
type silent struct {
	sides []Side
	notes []string
}

func (*silent) Begin(string, string) {}

func (s *silent) Round(_, _ string, _ int, side Side, _ Sample) { s.sides = append(s.sides, side) }

func (*silent) Case(string, string, []Result) {}

func (*silent) Memory(Side, time.Duration, int64) {}

func (s *silent) Note(_, text string) { s.notes = append(s.notes, text) }

// onEach runs a test on every server version.
func onEach(t *testing.T, f func(t *testing.T, r *Runner)) {
	t.Helper()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			f(t, testRunner(t, redistest.Shared(t, version)))
		})
	}
}

// waiting starts a process that waits for its go.
func waiting(t *testing.T, r *Runner, side Side) (*process, *Job) {
	t.Helper()
	job := r.job(side)
	job.Streams = []string{r.key("in")}
	if err := r.Server.client.XGroupCreateMkStream(t.Context(), job.Streams[0], job.Group, "0").Err(); err != nil {
		t.Fatal(err)
	}
	p, err := startProcess(r.Clock, &job)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.close() })
	if _, err := p.await(t.Context(), saidReady); err != nil {
		t.Fatal(err)
	}
	return p, &job
}

// A process that is killed fails its round at once, and says how it ended; what
// it has left on the server is removed all the same (by testRunner).
func TestAKilledProcessEndsTheRound(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, r *Runner) {
		for _, side := range []Side{Product, Reference} {
			p, _ := waiting(t, r, side)
			p.tell(orderGo)
			if _, err := p.await(t.Context(), saidGoing); err != nil {
				t.Fatal(err)
			}
			if err := syscall.Kill(p.pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			_, err := p.await(t.Context(), saidDone)
			if err == nil || !strings.Contains(err.Error(), string(side)+" ended before it was done (signal: killed)") {
				t.Errorf("%s: %v", side, err)
			}
		}
	})
}

// What a process writes to stderr before it dies is in the error.
func TestAPanicIsTold(t *testing.T) {
	t.Parallel()
	r := testRunner(t, redistest.Shared(t, "8.6"))
	p, _ := waiting(t, r, Reference)
	if err := syscall.Kill(p.pid, syscall.SIGQUIT); err != nil { // Go prints its goroutines
		t.Fatal(err)
	}
	if _, err := p.await(t.Context(), saidDone); err == nil || !strings.Contains(err.Error(), "SIGQUIT") {
		t.Errorf("%v", err)
	}
}

// A process that settles nothing is given up.
func TestAStuckProcessIsGivenUp(t *testing.T) {
	t.Parallel()
	r := testRunner(t, redistest.Shared(t, "8.6"))
	p, _ := waiting(t, r, Reference)
	virtual := clock.NewVirtual(time.Unix(0, 0))
	p.clock, p.stuck = virtual, usual
	p.tell(orderGo)
	ended := make(chan error, 1)
	go func() {
		_, err := p.await(t.Context(), saidDone)
		ended <- err
	}()
	for step := time.NewTicker(time.Millisecond); ; <-step.C {
		virtual.Advance(usual)
		select {
		case err := <-ended:
			if err == nil || !strings.Contains(err.Error(), "has settled nothing for 1m0s") {
				t.Errorf("%v", err)
			}
			return
		default:
		}
	}
}

// A canceled wait says so, and not that the process died of the same signal.
func TestACanceledWaitIsNoDeath(t *testing.T) {
	t.Parallel()
	r := testRunner(t, redistest.Shared(t, "8.6"))
	p, _ := waiting(t, r, Reference)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_ = p.close()
	if _, err := p.await(ctx, saidDone); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A process ends with its parent, also with one that was killed.
func TestAProcessEndsWithItsParent(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "8.6")
	c := s.Client()
	if err := c.XGroupCreateMkStream(t.Context(), "in", "g", "0").Err(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], parentCommand, s.URL(), "in")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64)
	n, _ := out.Read(buf)
	if got := string(buf[:n]); got != "ready <nil>\n" {
		t.Fatalf("the parent says %q", got)
	}
	readers := func() int {
		list := c.ClientList(t.Context()).Val()
		return strings.Count(list, "cmd=xreadgroup")
	}
	poll(t, "the process reads", func() bool { return readers() == 1 })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	poll(t, "the process has ended", func() bool { return readers() == 0 })
}

func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	limit := time.After(time.Minute)
	for look := time.NewTicker(10 * time.Millisecond); !done(); {
		select {
		case <-look.C:
		case <-limit:
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// What is no job is refused.
func TestNoJob(t *testing.T) {
	t.Parallel()
	for _, in := range []string{"", "\n", "go\n", `{"workers":"many"}` + "\n"} {
		var out strings.Builder
		code := Serve(strings.NewReader(in), &out, clock.Real(), func(int) {})
		if code != 2 || !strings.Contains(out.String(), "holds no job") {
			t.Errorf("%q: %d, %s", in, code, out.String())
		}
	}
}
