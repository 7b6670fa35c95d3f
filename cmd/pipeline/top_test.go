package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/term"

	"pipeline/tests/program"
	"pipeline/tests/redistest"
)

// terminal is a terminal in which `pipeline top` runs.
type terminal struct {
	t        *testing.T
	ptm, tty *os.File
	before   *term.State
	cmd      *exec.Cmd
	output   *program.Output
	ended    chan error
}

// onTerminal starts the program on a terminal of its own.
func onTerminal(t *testing.T, url string) *terminal {
	t.Helper()
	ptm, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	w := &terminal{t: t, ptm: ptm, tty: tty, output: &program.Output{}, ended: make(chan error, 1)}
	t.Cleanup(func() { _ = ptm.Close(); _ = tty.Close() })
	if err := pty.Setsize(ptm, &pty.Winsize{Rows: 30, Cols: 150}); err != nil {
		t.Fatal(err)
	}
	if w.before, err = term.GetState(int(tty.Fd())); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"p.hcl": opsFile, "h.lua": opsScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.cmd = exec.CommandContext(t.Context(), "pipeline", "top", "p.hcl")
	w.cmd.Dir, w.cmd.Env = dir, append(os.Environ(), "REDIS_URL="+url, "TERM=xterm", "NO_COLOR=1")
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = tty, tty, tty
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := w.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { // ends with the terminal
		var b [4096]byte
		for {
			n, err := ptm.Read(b[:])
			if err != nil {
				return
			}
			_, _ = w.output.Write(b[:n])
		}
	}()
	go func() { w.ended <- w.cmd.Wait() }()
	return w
}

// shows waits until the last screen drawn holds all of some texts, and none of others
// that begin with "!".
func (w *terminal) shows(texts ...string) {
	w.t.Helper()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	limit := time.After(patience)
	for {
		all := w.output.String()
		screens := strings.Split(all, "\x1b[H")
		last, holds := screens[len(screens)-1], true
		for _, text := range texts {
			absent, unwanted := strings.CutPrefix(text, "!")
			holds = holds && strings.Contains(last, absent) != unwanted
		}
		if holds && (strings.Contains(last, "\x1b[J") || strings.Contains(last, "\x1b[K")) {
			return
		}
		select {
		case <-look.C:
		case <-limit:
			w.t.Fatalf("waited in vain for %q; the screen is:\n%s", texts, last)
		}
	}
}

func (w *terminal) types(keys string) {
	w.t.Helper()
	if _, err := w.ptm.WriteString(keys); err != nil {
		w.t.Fatal(err)
	}
}

// givenBack waits for the end and expects that the terminal is as it was.
func (w *terminal) givenBack(code int) {
	w.t.Helper()
	select {
	case <-w.ended:
	case <-time.After(patience):
		_ = w.cmd.Process.Kill()
		w.t.Fatalf("it does not end:\n%q", w.output)
	}
	if got := w.cmd.ProcessState.ExitCode(); got != code {
		w.t.Errorf("exit code %d, want %d:\n%q", got, code, w.output)
	}
	after, err := term.GetState(int(w.tty.Fd()))
	if err != nil || *after != *w.before {
		w.t.Errorf("the terminal was %+v and is %+v, %v", w.before, after, err)
	}
	const leave = "\x1b[?25h\x1b[?7h\x1b[?1049l"
	limit := time.After(patience)
	for !strings.Contains(w.output.String(), leave) {
		select {
		case <-time.After(20 * time.Millisecond):
		case <-limit:
			w.t.Fatalf("the screen was not left:\n%q", w.output)
		}
	}
	if strings.Contains(w.output.String(), secret) {
		w.t.Error("it shows the password")
	}
}

func TestTopFillsATerminalAndGivesItBack(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version, redistest.Password("hunter2-right"))
			s.CLI("XADD", "in", "1-1", "n", "1")
			s.CLI("XADD", "in", "2-1", "n", "2")
			s.CLI("XGROUP", "CREATE", "in", "g", "0")
			s.CLI("XREADGROUP", "GROUP", "g", "c", "COUNT", "1", "STREAMS", "in", ">")
			s.CLI("XADD", "dead", "1-1", "n", "3")
			w := onTerminal(t, s.URL())
			w.shows("watched  answered at ", "q quit  s sort: file  / filter", "dead letters", "notice[dead_letters_waiting]")
			screens := strings.Split(w.output.String(), "\x1b[H")
			for _, want := range []string{"group  subscriptions  stream", "g      s              in"} {
				if !strings.Contains(screens[len(screens)-1], want) {
					t.Errorf("no %q on\n%s", want, screens[len(screens)-1])
				}
			}
			w.types("s")
			w.shows("sort: lag")
			w.types("/zzz")
			w.shows("filter: zzz_", "no group matches")
			w.types("\x7f\x7f\x7fIN\r")
			w.shows("filter: IN  (Esc shows all)", "g      s ", "!no group matches")
			w.types("\x1b")
			w.shows("!Esc shows all")
			w.types("\x1b[A") // an arrow means nothing
			// A smaller terminal: what does not fit is left out.
			if err := pty.Setsize(w.ptm, &pty.Winsize{Rows: 3, Cols: 60}); err != nil {
				t.Fatal(err)
			}
			w.shows("q quit", "!dead letters")
			if err := pty.Setsize(w.ptm, &pty.Winsize{Rows: 30, Cols: 150}); err != nil {
				t.Fatal(err)
			}
			w.shows("dead letters")
			// A server that goes away is told, with what it said last.
			s.Stop()
			w.shows("the server is away; shown is what it said", "g      s ")
			w.types("q")
			w.givenBack(0)
		})
	}
}

func TestTopGivesTheTerminalBackWhateverEndsIt(t *testing.T) {
	for name, end := range map[string]func(w *terminal){
		"Ctrl-C":    func(w *terminal) { w.types("\x03") },
		"a signal":  func(w *terminal) { _ = w.cmd.Process.Signal(syscall.SIGTERM) },
		"interrupt": func(w *terminal) { _ = w.cmd.Process.Signal(os.Interrupt) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := redistest.Shared(t, "8.6")
			w := onTerminal(t, s.URL())
			w.shows("no such group", "error[group_missing]")
			end(w)
			w.givenBack(0)
		})
	}
}

// Without a terminal it says what it needs.
func TestTopNeedsATerminal(t *testing.T) {
	t.Parallel()
	s := redistest.Shared(t, "8.6")
	dir := t.TempDir()
	for name, text := range map[string]string{"p.hcl": opsFile, "h.lua": opsScript} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "pipeline", "top", "p.hcl")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "REDIS_URL="+s.URL())
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); cmd.ProcessState.ExitCode() != 2 || !strings.Contains(out.String(), "needs a terminal") || strings.Contains(out.String(), "\x1b[?1049h") {
		t.Errorf("%v: %s", err, &out)
	}
}
