package redistest

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// guardScript ends a server and removes its folder when the test binary is gone, however it went: a panic, a
// timeout and a SIGKILL run no cleanup. It reads from a pipe whose other end the binary holds. A line means
// that all is in order; the end of the pipe means that the binary died. The server's start time is compared
// before the kill, in case its process id has been given to another meanwhile.
const guardScript = `
read -r line && exit 0
if [ -z "$2" ] || [ "$(cut -d' ' -f22 /proc/$1/stat 2>/dev/null)" = "$2" ]; then kill -9 "$1"; fi
rm -rf "$3"
`

// guard is a running guardScript.
type guard struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

// watch starts a guard for the running server. p.mu is held.
func (p *process) watch() error {
	cmd := exec.Command("sh", "-c", guardScript, "sh", strconv.Itoa(p.pid), startTime(p.pid), p.folder)
	cmd.SysProcAttr = ownGroup()
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the guard of the server: %w", err)
	}
	p.guard = &guard{cmd: cmd, pipe: pipe}
	return nil
}

// release ends the guard without its deed. A nil guard and one that is gone are fine: nothing is left to do.
func (g *guard) release() {
	if g == nil || g.cmd == nil {
		return
	}
	_, _ = io.WriteString(g.pipe, "done\n")
	_ = g.pipe.Close()
	_ = g.cmd.Wait()
	g.cmd = nil
}

// startTime is field 22 of the process's stat file (proc(5)), or "" where there is no such file. The field
// before it that may hold blanks, the name, is that of a launcher: it holds none.
func startTime(pid int) string {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return ""
	}
	fields := strings.Fields(string(stat))
	if len(fields) < 22 {
		return ""
	}
	return fields[21]
}
