//go:build !linux || !(amd64 || arm64)

package sandboxtest

// fence is known for Linux only.
func fence() bool { return false }
