package redistest

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// startTimeout is how long a server may take from its start to its first answer; the stop of one that has
// to write its data first may take as long.
const startTimeout = time.Minute

// errPortTaken says that another process got the port between its choice and the server's start.
var errPortTaken = errors.New("the port was taken meanwhile")

// process is a server that this test binary started, with a folder and a port that outlive its restarts.
// All methods may be called from several goroutines.
type process struct {
	launcher string
	settings *settings
	folder   string
	port     int

	mu    sync.Mutex
	pid   int // 0 while the server does not run
	guard *guard
}

// startProcess starts a server on a free port.
func startProcess(launcher string, s *settings) (*process, error) {
	folder, err := os.MkdirTemp("", "redistest-")
	if err != nil {
		return nil, err
	}
	for name, content := range s.files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			return nil, errors.Join(err, os.RemoveAll(folder))
		}
	}
	p := &process{launcher: launcher, settings: s, folder: folder}
	for range 5 {
		if p.port, err = freePort(); err != nil {
			break
		}
		if err = p.start(); !errors.Is(err, errPortTaken) {
			break
		}
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return p, nil
}

func (p *process) address() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(p.port))
}

func (p *process) logFile() string { return filepath.Join(p.folder, "redis.log") }

// arguments is the server's command line: the defaults of a test server, then the test's own directives.
func (p *process) arguments() []string {
	if p.settings.sentinel {
		return p.sentinelArguments()
	}
	directives := append(p.settings.ports(p.port), append([][]string{
		{"bind", "127.0.0.1"},
		{"save", ""},
		{"appendonly", "no"},
		{"dir", p.folder},
		{"logfile", p.logFile()},
		{"databases", strconv.Itoa(databases)},
		{"enable-debug-command", "local"},
	}, p.settings.directives...)...)
	var arguments []string
	for _, directive := range directives {
		arguments = append(arguments, "--"+directive[0])
		arguments = append(arguments, directive[1:]...)
	}
	return arguments
}

// start runs the server and waits until its log says that it takes connections. The log is asked, and not the
// port, because the port might be somebody else's and a server with an access list may refuse to answer.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		return nil
	}
	before := len(p.log())
	output, err := os.OpenFile(filepath.Join(p.folder, "output"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = output.Close() }() // the server has its own copy
	cmd := exec.Command(p.launcher, p.arguments()...)
	cmd.Dir, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = p.folder, output, output, ownGroup()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.launcher, err)
	}
	p.pid = cmd.Process.Pid
	if err := errors.Join(cmd.Process.Release(), p.watch()); err != nil {
		return errors.Join(err, p.end(syscall.SIGKILL))
	}
	if err := p.ready(before); err != nil {
		return errors.Join(err, p.end(syscall.SIGKILL))
	}
	return nil
}

// ready waits for the server's own word in the part of its log that this start has written.
func (p *process) ready(before int) error {
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		log := p.log()[before:]
		if bytes.Contains(log, []byte("Ready to accept connections")) || bytes.Contains(log, []byte("+monitor master")) {
			return nil
		}
		if p.reap(false) {
			p.pid = 0
			if bytes.Contains(log, []byte("Address already in use")) {
				return errPortTaken
			}
			output, _ := os.ReadFile(filepath.Join(p.folder, "output")) // nothing to add if it cannot be read
			return fmt.Errorf("the server ended at once: %s%s", tail(log), tail(output))
		}
	}
	return fmt.Errorf("the server is not ready after %v: %s", startTimeout, tail(p.log()))
}

func (p *process) log() []byte {
	content, err := os.ReadFile(p.logFile())
	if err != nil {
		return nil // not written yet
	}
	return content
}

// tail is the last lines of a log, enough to see why a server ended.
func tail(log []byte) string {
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// signal sends a signal to the running server. The id is ours until reap has collected the process.
func (p *process) signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid == 0 {
		return errors.New("the server does not run")
	}
	return syscall.Kill(p.pid, s)
}

// stop ends the server with the signal and waits until it is gone. A server that does not run is success.
func (p *process) stop(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end(s)
}

// end is stop with p.mu held. A paused server is woken, or it would not see the signal; one that does not
// end in time is killed, and that is an error.
func (p *process) end(s syscall.Signal) error {
	defer func() { p.guard.release() }()
	if p.pid == 0 {
		return nil
	}
	defer func() { p.pid = 0 }()
	if err := errors.Join(syscall.Kill(p.pid, s), syscall.Kill(p.pid, syscall.SIGCONT)); err != nil {
		return fmt.Errorf("signal the server: %w", err)
	}
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if p.reap(false) {
			return nil
		}
	}
	err := fmt.Errorf("the server did not end within %v of %v", startTimeout, s)
	return errors.Join(err, syscall.Kill(p.pid, syscall.SIGKILL), p.collect())
}

// collect waits for a killed server.
func (p *process) collect() error {
	if !p.reap(true) {
		return errors.New("the killed server could not be collected")
	}
	return nil
}

// remove kills the server and removes its folder. What the server has forked (to save, to rewrite its log)
// outlives it for a moment and would write into the folder: it is in the server's group.
func (p *process) remove() error {
	if p.mu.Lock(); p.pid != 0 {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL)
	}
	p.mu.Unlock()
	return errors.Join(p.stop(syscall.SIGKILL), os.RemoveAll(p.folder))
}

// ownGroup puts a process into a group of its own: an interrupt typed at the terminal then reaches the test
// binary alone, and the guard ends the server.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// reap collects the server if it has ended, or waits for its end, and says whether it is gone. It is the only
// place that does so; until then the process id cannot be anybody else's.
func (p *process) reap(wait bool) bool {
	options := syscall.WNOHANG
	if wait {
		options = 0
	}
	for {
		pid, err := syscall.Wait4(p.pid, nil, options, nil)
		if !errors.Is(err, syscall.EINTR) {
			return pid == p.pid || errors.Is(err, syscall.ECHILD)
		}
	}
}
