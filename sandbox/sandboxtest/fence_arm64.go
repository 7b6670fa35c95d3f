//go:build linux

package sandboxtest

const (
	sysSeccomp  = 277
	sysExecveat = 281
)

// oldCalls are those that newer architectures no longer have.
var oldCalls []uint32
