package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"pipeline/engine/clock"
)

// Command is the hidden command of this program that runs Serve.
const Command = "bench-job"

// stuck is how long a process may settle nothing before its round is given up.
// It is a variable for the tests, which share a machine with others.
var stuck = time.Minute

// process is the parent's hold on the process of one side.
type process struct {
	clock  clock.Clock
	side   Side
	cmd    *exec.Cmd
	orders io.WriteCloser
	said   chan Message
	// pid is its number, for messages and tests.
	pid    int
	stuck  time.Duration
	errors *tail
	ended  chan struct{}
}

// startProcess starts this very program again with a job.
func startProcess(c clock.Clock, job *Job) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("bench: find this program: %w", err)
	}
	cmd := exec.Command(self, Command)
	cmd.Args[0] = os.Args[0]
	p := &process{clock: c, side: job.Side, cmd: cmd, said: make(chan Message, 16), stuck: stuck, errors: &tail{}, ended: make(chan struct{})}
	cmd.Stderr = p.errors
	if p.orders, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("bench: start a process: %w", err)
	}
	p.pid = cmd.Process.Pid
	go p.listen(said)
	if _, err := p.orders.Write(line(job)); err != nil {
		return nil, errors.Join(fmt.Errorf("bench: %w", err), p.close())
	}
	return p, nil
}

// listen hands on what the process says until it ends.
func (p *process) listen(said io.Reader) {
	defer close(p.said)
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		var m Message
		if json.Unmarshal(lines.Bytes(), &m) == nil {
			p.said <- m
		}
	}
}

// tell gives an order. A process that is gone is found by the next await.
func (p *process) tell(order string) { _, _ = p.orders.Write([]byte(order + "\n")) }

// await waits until the process says what, and passes on its signs of life. A
// process that ends before, fails, or settles nothing for a minute, is an error.
func (p *process) await(ctx context.Context, what Said) (Message, error) {
	idle := p.clock.NewTimer(p.stuck)
	defer idle.Stop()
	last := int64(-1)
	for {
		select {
		case <-ctx.Done():
			return Message{}, ctx.Err()
		case <-idle.C():
			return Message{}, fmt.Errorf("the %s has settled nothing for %v", p.side, p.stuck)
		case m, ok := <-p.said:
			switch {
			case !ok:
				return Message{}, p.died(ctx)
			case m.Said == saidFailed:
				return Message{}, fmt.Errorf("the %s failed: %s", p.side, m.Error)
			case m.Said == what:
				return m, nil
			case m.Settled != last:
				last = m.Settled
				idle.Reset(p.stuck)
			}
		}
	}
}

// died says how a process ended that should not have.
func (p *process) died(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	_ = p.close() // why it ended is in its state
	text := fmt.Sprintf("the process of the %s ended before it was done (%v)", p.side, p.cmd.ProcessState)
	if last := p.errors.String(); last != "" {
		text += ": " + last
	}
	return errors.New(text)
}

// finish waits for the process to end by itself, which includes that it tidies
// up on the server.
func (p *process) finish(ctx context.Context) error {
	for {
		select {
		case m, ok := <-p.said:
			if ok && m.Said == saidFailed {
				return fmt.Errorf("the %s failed: %s", p.side, m.Error)
			}
			if ok {
				continue
			}
			_ = p.orders.Close()
			if err := p.wait(); err != nil {
				return p.died(ctx)
			}
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// close ends the process: by the end of its input, which no state of it can
// withstand for long, and by force where that does not help.
func (p *process) close() error {
	_ = p.orders.Close() // twice is no harm
	force := p.clock.AfterFunc(5*time.Second, func() { _ = p.cmd.Process.Kill() })
	defer force.Stop()
	for range p.said { // what it still says is of no use
	}
	return p.wait()
}

// wait takes the exit status, once.
func (p *process) wait() error {
	select {
	case <-p.ended:
		return nil
	default:
	}
	close(p.ended)
	return p.cmd.Wait()
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// tailSize is enough for the first frames of a panic.
const tailSize = 2 << 10

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if room := tailSize - len(t.text); room > 0 {
		t.text = append(t.text, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.TrimSpace(string(t.text))
}
