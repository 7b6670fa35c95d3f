//go:build linux

package sandboxtest

import "syscall"

const (
	sysSeccomp  = 317
	sysExecveat = 322
)

// oldCalls are those that newer architectures no longer have.
var oldCalls = []uint32{
	syscall.SYS_OPEN, syscall.SYS_CREAT, syscall.SYS_FORK, syscall.SYS_VFORK, syscall.SYS_UNLINK, syscall.SYS_RENAME,
	syscall.SYS_MKDIR, syscall.SYS_LINK, syscall.SYS_SYMLINK, syscall.SYS_READLINK, syscall.SYS_GETDENTS,
}
