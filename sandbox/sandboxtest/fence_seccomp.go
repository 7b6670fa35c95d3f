//go:build linux && (amd64 || arm64)

package sandboxtest

import (
	"runtime"
	"syscall"
	"unsafe"
)

// Numbers of linux/seccomp.h, linux/filter.h, linux/audit.h and prctl.h.
const (
	setNoNewPrivileges = 38
	modeFilter         = 1
	allThreads         = 1
	returnKill         = 0x80000000
	returnAllow        = 0x7fff0000
	loadWord           = 0x20 // BPF_LD | BPF_W | BPF_ABS
	jumpIfEqual        = 0x15 // BPF_JMP | BPF_JEQ | BPF_K
	giveBack           = 0x06 // BPF_RET | BPF_K
)

// outside are the system calls by which a process reaches files, other
// processes and the network. Descriptors that are open already stay usable.
var outside = append([]uint32{
	syscall.SYS_OPENAT, syscall.SYS_EXECVE, syscall.SYS_SOCKET, syscall.SYS_CONNECT, syscall.SYS_BIND, syscall.SYS_LISTEN,
	syscall.SYS_UNLINKAT, syscall.SYS_RENAMEAT, syscall.SYS_MKDIRAT, syscall.SYS_LINKAT, syscall.SYS_SYMLINKAT,
	syscall.SYS_READLINKAT, syscall.SYS_TRUNCATE, syscall.SYS_CHDIR, syscall.SYS_GETDENTS64, syscall.SYS_PTRACE, syscall.SYS_MOUNT,
	sysOpenat2, sysExecveat, sysIOUring,
}, oldCalls...)

// Calls that are newer than the numbers in package syscall; these are the same
// everywhere but for execveat.
const (
	sysOpenat2 = 437
	sysIOUring = 425
)

// instruction is struct sock_filter.
type instruction struct {
	code                uint16
	jumpTrue, jumpFalse uint8
	k                   uint32
}

// program is struct sock_fprog.
type program struct {
	length uint16
	filter *instruction
}

// fence makes every later call of outside kill the process at once, whichever
// thread makes it. It reports false where the kernel does not offer that, and
// under the race detector, whose own runtime opens files.
func fence() bool {
	if slowness > 1 {
		return false
	}
	filter := []instruction{{loadWord, 0, 0, 0}} // the number of the call
	for i, number := range outside {
		filter = append(filter, instruction{jumpIfEqual, uint8(len(outside) - i), 0, number})
	}
	filter = append(filter, instruction{giveBack, 0, 0, returnAllow}, instruction{giveBack, 0, 0, returnKill})
	p := program{uint16(len(filter)), &filter[0]}

	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, setNoNewPrivileges, 1, 0, 0, 0, 0); e != 0 {
		return false
	}
	_, _, e := syscall.RawSyscall(sysSeccomp, modeFilter, allThreads, uintptr(unsafe.Pointer(&p)))
	runtime.KeepAlive(filter)
	return e == 0
}
