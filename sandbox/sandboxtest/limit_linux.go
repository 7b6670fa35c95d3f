package sandboxtest

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// headroom is how much more address space a child may take than it has at the
// start. The runtime of Go reserves much that it never uses.
const headroom = 1 << 30

// limitAddressSpace makes an allocation beyond the headroom kill the process,
// as a container's limit would.
func limitAddressSpace() {
	if slowness > 1 {
		// The race detector's own memory is mapped as it goes.
		return
	}
	limit := syscall.Rlimit{Cur: uint64(status("VmSize")) + headroom, Max: uint64(status("VmSize")) + headroom}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &limit); err != nil {
		fmt.Fprintln(os.Stderr, "address space:", err)
		os.Exit(3)
	}
}

// resetPeak makes residentPeak count anew.
func resetPeak() { _ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// residentPeak is the most memory that this process has used, in bytes.
func residentPeak() int64 { return status("VmHWM") }

func status(field string) int64 {
	f, err := os.Open("/proc/self/status")
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if rest, ok := strings.CutPrefix(lines.Text(), field+":"); ok {
			var kib int64
			if _, err := fmt.Sscan(rest, &kib); err == nil {
				return kib << 10
			}
		}
	}
	return 0
}
