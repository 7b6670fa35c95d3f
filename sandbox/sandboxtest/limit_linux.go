package sandboxtest

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"
)

// headroom is how much more address space a child may take than it has at the
// start. The runtime of Go reserves much that it never uses.
const headroom = 1 << 30

// limitAddressSpace makes an allocation beyond the headroom kill the process,
// as a container's limit would.
func limitAddressSpace(m *memory) {
	if slowness > 1 {
		// The race detector's own memory is mapped as it goes.
		return
	}
	most := uint64(m.status("VmSize")) + headroom
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		fmt.Fprintln(os.Stderr, "address space:", err)
		os.Exit(3)
	}
}

// memory reads what the process uses. Its files are opened before the fence
// stands.
type memory struct{ state, zero *os.File }

func openMemory() *memory {
	state, err := os.Open("/proc/self/status")
	if err != nil {
		fmt.Fprintln(os.Stderr, "memory:", err)
		os.Exit(3)
	}
	// Without it the peak is that of the process's whole life.
	zero, _ := os.OpenFile("/proc/self/clear_refs", os.O_WRONLY, 0)
	return &memory{state, zero}
}

// reset makes peak count anew.
func (m *memory) reset() {
	if m.zero != nil {
		_, _ = m.zero.WriteString("5")
	}
}

// peak is the most memory that this process has used, in bytes.
func (m *memory) peak() int64 { return m.status("VmHWM") }

func (m *memory) status(field string) int64 {
	buf := make([]byte, 8<<10)
	n, _ := m.state.ReadAt(buf, 0)
	for line := range strings.Lines(string(buf[:n])) {
		if rest, ok := strings.CutPrefix(line, field+":"); ok {
			var kib int64
			if _, err := fmt.Sscan(rest, &kib); err == nil {
				return kib << 10
			}
		}
	}
	return 0
}

// queue knows for how long a thread wanted a processor and others had it. Its
// file is opened before the fence stands.
type queue struct{ stat *os.File }

// openQueue is that of the calling thread, which the goroutine has to be locked
// to.
func openQueue() *queue {
	stat, err := os.Open("/proc/thread-self/schedstat")
	if err != nil {
		return &queue{} // a kernel that does not tell
	}
	return &queue{stat}
}

// waited is the time in the queue so far.
func (q *queue) waited() time.Duration {
	if q.stat == nil {
		return 0
	}
	buf := make([]byte, 100)
	n, _ := q.stat.ReadAt(buf, 0)
	var ran, waited time.Duration
	if _, err := fmt.Sscan(string(buf[:n]), &ran, &waited); err != nil {
		return 0
	}
	return waited
}
