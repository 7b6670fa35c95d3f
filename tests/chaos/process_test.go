// Package chaos kills, stops and starts real processes of the command on real
// servers while payments arrive, and then asks the server: has every payment
// exactly one reply, and is nothing left pending?
package chaos

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pipeline/tests/redistest"
)

// patience bounds every wait; nothing here measures time.
const patience = 60 * time.Second

// binary is the command, built once for all tests.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "pipeline-chaos-")
	if err != nil {
		panic(err)
	}
	binary = filepath.Join(dir, "pipeline")
	build := exec.Command("go", "build", "-o", binary, "pipeline/cmd/pipeline")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the command: %v\n%s", err, out)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// process is one `pipeline run`.
type process struct {
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}
	err  error
	mu   sync.Mutex
	log  bytes.Buffer
}

// Write gathers what the process prints.
func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.Write(b)
}

func (p *process) output() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.log.String()
}

// run starts `pipeline run` on the payments example.
func run(t *testing.T, s *redistest.Server, vars ...string) *process {
	t.Helper()
	args := []string{"run", "../../examples/payments.hcl", "--var", "redis_url=" + s.URL()}
	for _, v := range vars {
		args = append(args, "--var", v)
	}
	if s.Version == "7.0" {
		args = append(args, "--var", "before_8_4=true")
	}
	p := &process{t: t, cmd: exec.Command(binary, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.signal(syscall.SIGCONT)
		p.signal(syscall.SIGKILL)
		<-p.done
	})
	return p
}

func (p *process) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) }

// ready waits until both subscriptions read.
func (p *process) ready() {
	p.t.Helper()
	eventually(p.t, "the process reads\n", func() bool {
		return strings.Count(p.output(), "subscription.reading") >= 2
	})
}

// exit waits for the end and returns the exit code.
func (p *process) exit() int {
	p.t.Helper()
	select {
	case <-p.done:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		p.t.Fatalf("the process does not end:\n%s", p.output())
		return -1
	}
}

// drain ends the process as a deployment does and expects that it leaves
// nothing behind. A process that has only just been started does not listen to
// signals yet.
func (p *process) drain() {
	p.t.Helper()
	p.ready()
	p.signal(syscall.SIGTERM)
	if code := p.exit(); code != 0 {
		p.t.Errorf("exit code %d, want 0:\n%s", code, p.output())
	}
}

// kill ends the process as a crash does.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("never: %s", what)
		}
	}
}

// pay adds payments with ids from first on.
func pay(t *testing.T, s *redistest.Server, first, n int) {
	t.Helper()
	pipe := s.Client().Pipeline()
	for i := first; i < first+n; i++ {
		pipe.Do(t.Context(), "XADD", "payments", "*", "id", i, "account", fmt.Sprintf("acct-%d", i%7), "amount_cents", i)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// settled reports whether both groups have read and acknowledged everything.
func settled(t *testing.T, s *redistest.Server) bool {
	t.Helper()
	groups, err := s.Client().XInfoGroups(t.Context(), "payments").Result()
	if err != nil {
		return false
	}
	for _, g := range groups {
		if g.Pending != 0 || g.Lag != 0 {
			return false
		}
	}
	return len(groups) == 2
}

// pending is how many entries both groups together have handed out and not had
// acknowledged.
func pending(t *testing.T, s *redistest.Server) int64 {
	t.Helper()
	groups, err := s.Client().XInfoGroups(t.Context(), "payments").Result()
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	for _, g := range groups {
		n += g.Pending
	}
	return n
}

// expectOneReplyEach is the oracle: no gap, no duplicate.
func expectOneReplyEach(t *testing.T, s *redistest.Server, n int) {
	t.Helper()
	entries, err := s.Client().XRange(t.Context(), "payments.screened", "-", "+").Result()
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int{}
	for _, e := range entries {
		body, _ := e.Values["_payload"].(string)
		id, _, _ := strings.Cut(strings.TrimPrefix(body, `{"payment_id":`), ",")
		seen[id]++
	}
	wrong := 0
	for i := range n {
		if c := seen[fmt.Sprint(i)]; c != 1 {
			if wrong++; wrong <= 10 {
				t.Errorf("payment %d has %d replies", i, c)
			}
		}
	}
	if len(seen) != n {
		t.Errorf("replies to %d payments, want %d", len(seen), n)
	}
	if dead := s.Client().XLen(t.Context(), "payments.dead").Val(); dead != 0 {
		t.Errorf("%d dead letters, want none", dead)
	}
}
