//go:build linux

package guide

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// These bound every wait for a terminal: for a command to end, which may be a build on a busy machine, and for
// lines of one that goes on. Nothing sleeps: a wait ends when what it waits for is there.
const (
	patience     = 10 * time.Minute
	linePatience = time.Minute
)

// terminal is a shell on a pseudo terminal, as a user has it: what it runs sees a terminal, not a pipe.
type terminal struct {
	name   string
	shell  *exec.Cmd
	master *os.File

	mu   sync.Mutex
	text strings.Builder
	// changed is closed and replaced whenever text grows or the shell has gone.
	changed chan struct{}
	gone    bool
	// read is how much of text the document has gone through.
	read int
}

// The size of the terminal. Wide enough that nothing in the documents is cut.
var size = struct{ rows, columns, x, y uint16 }{rows: 50, columns: 160}

// ended is what the shell prints when a command has ended: the exit code between two characters that no command prints.
var ended = regexp.MustCompile("\x1e(\\d+)\x1e\r?\n")

// openTerminal starts a shell in a folder and waits until it takes commands.
func openTerminal(t *testing.T, name, folder string, environment []string) *terminal {
	t.Helper()
	master, slave, err := openPair()
	if err != nil {
		t.Fatalf("open a pseudo terminal: %v", err)
	}
	defer slave.Close()
	term := &terminal{name: name, master: master, changed: make(chan struct{})}
	term.shell = exec.Command("bash", "--norc", "--noprofile", "--noediting", "-i")
	term.shell.Dir = folder
	term.shell.Env = append(environment, "TERM=dumb", "NO_COLOR=1", "PS1=", "PS2=", "HISTFILE=",
		`PROMPT_COMMAND=printf '\036%d\036\n' "$?"`)
	term.shell.Stdin, term.shell.Stdout, term.shell.Stderr = slave, slave, slave
	term.shell.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := term.shell.Start(); err != nil {
		t.Fatalf("start a shell: %v", err)
	}
	var reading sync.WaitGroup
	reading.Go(term.gather)
	t.Cleanup(func() {
		killSession(term.shell.Process.Pid)
		_ = term.shell.Wait()
		reading.Wait()
		_ = master.Close()
	})
	term.await(t, "the shell to begin", patience, term.ending)
	term.typed(t, "stty -echo")
	term.await(t, "the shell to be silent", patience, term.ending)
	return term
}

// openPair opens a pseudo terminal.
func openPair() (master, slave *os.File, err error) {
	master, err = os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, err
	}
	var unlock, number int32
	if err = control(master, syscall.TIOCSPTLCK, unsafe.Pointer(&unlock)); err == nil {
		err = control(master, syscall.TIOCGPTN, unsafe.Pointer(&number))
	}
	if err == nil {
		slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err == nil {
		if err = control(slave, syscall.TIOCSWINSZ, unsafe.Pointer(&size)); err != nil {
			slave.Close()
		}
	}
	if err != nil {
		master.Close()
		return nil, nil, err
	}
	return master, slave, nil
}

func control(file *os.File, request uintptr, argument unsafe.Pointer) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed syscall.Errno
	err = raw.Control(func(fd uintptr) {
		_, _, failed = syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(argument))
	})
	if err == nil && failed != 0 {
		err = failed
	}
	return err
}

// gather reads what the terminal shows until everything on it has ended.
func (term *terminal) gather() {
	buf := make([]byte, 4096)
	for {
		n, err := term.master.Read(buf)
		term.mu.Lock()
		term.text.Write(buf[:n])
		term.gone = err != nil
		close(term.changed)
		term.changed = make(chan struct{})
		term.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// killSession kills the processes of a session, in whatever groups the shell has put them.
func killSession(session int) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		stat, err := os.ReadFile(filepath.Join(folder, "stat"))
		if err != nil {
			continue
		}
		// After the name in parentheses: state, parent, group, session.
		fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(fields) < 4 || fields[3] != strconv.Itoa(session) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(folder)); err == nil {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

// typed types a line.
func (term *terminal) typed(t *testing.T, text string) {
	t.Helper()
	if _, err := term.master.WriteString(text + "\n"); err != nil {
		t.Fatalf("type into %s: %v", term, err)
	}
}

// interrupted types an interrupt.
func (term *terminal) interrupted(t *testing.T) {
	t.Helper()
	if _, err := term.master.WriteString("\x03"); err != nil {
		t.Fatalf("type into %s: %v", term, err)
	}
}

func (term *terminal) String() string {
	if term.name == "" {
		return "the terminal"
	}
	return term.name
}

// await waits until look, which is given what was not read yet, has found what it looks for; it returns how
// much of it is read then.
func (term *terminal) await(t *testing.T, what string, bound time.Duration, look func(text string) (read int, ok bool)) {
	t.Helper()
	limit := time.After(bound)
	for {
		term.mu.Lock()
		text, changed, gone := term.text.String()[term.read:], term.changed, term.gone
		read, ok := look(text)
		if ok {
			term.read += read
		}
		term.mu.Unlock()
		if ok {
			return
		}
		if gone {
			t.Fatalf("%s has gone before %s; it shows:\n%s", term, what, text)
		}
		select {
		case <-changed:
		case <-limit:
			t.Fatalf("%s: not within %v: %s; it shows:\n%s", term, bound, what, text)
		}
	}
}

// ending finds the end of a command.
func (term *terminal) ending(text string) (int, bool) {
	at := ended.FindStringIndex(text)
	if at == nil {
		return 0, false
	}
	return at[1], true
}

// finish waits for the end of a command and returns the lines that it has shown, and its exit code.
func (term *terminal) finish(t *testing.T, what string) (lines []string, code int) {
	t.Helper()
	term.await(t, "the end of "+what, patience, func(text string) (int, bool) {
		at := ended.FindStringSubmatchIndex(text)
		if at == nil {
			return 0, false
		}
		lines = shown(text[:at[0]])
		code, _ = strconv.Atoi(text[at[2]:at[3]])
		return at[1], true
	})
	return lines, code
}

// show waits until a command that goes on has shown some lines.
func (term *terminal) show(t *testing.T, want shows) {
	t.Helper()
	term.await(t, "the lines\n\t"+strings.Join(want.lines, "\n\t"), linePatience, func(text string) (int, bool) {
		if at := ended.FindStringIndex(text); at != nil {
			text = text[:at[0]]
		}
		complete := text[:strings.LastIndexByte(text, '\n')+1]
		n, ok := want.consume(shown(complete), false)
		if !ok {
			return 0, false
		}
		return len(strings.Join(strings.SplitAfter(complete, "\n")[:n], "")), true
	})
}

// cleared ends what a progress line has shown before it was taken away.
const cleared = "\r\x1b[K"

// shown turns what came from a terminal into the lines that stay on it.
func shown(text string) []string {
	text = strings.TrimSuffix(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line[strings.LastIndex(cleared+line, cleared):], " ")
	}
	return lines
}

func TestTerminal(t *testing.T) {
	t.Parallel()
	term := openTerminal(t, "", t.TempDir(), os.Environ())
	term.typed(t, "test -t 1 && stty size; false")
	if lines, code := term.finish(t, "it"); len(lines) != 1 || lines[0] != "50 160" || code != 1 {
		t.Errorf("the shell shows %q and ends with %d", lines, code)
	}
	term.typed(t, "echo $?")
	if lines, code := term.finish(t, "it"); len(lines) != 1 || lines[0] != "1" || code != 0 {
		t.Errorf("the exit code before is not kept: %q and %d", lines, code)
	}
	term.typed(t, `printf '10 %%\r\033[K20 %%\r\033[Kdone  \nlast\n'; while true; do read -r; done`)
	term.show(t, shows{lines: []string{"done"}})
	term.show(t, shows{lines: []string{"last"}})
	term.interrupted(t)
	if lines, code := term.finish(t, "it"); strings.Join(lines, "") != "" || code != 130 {
		t.Errorf("after an interrupt the shell shows %q and ends with %d", lines, code)
	}
}
