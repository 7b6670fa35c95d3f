//go:build !linux

package sandboxtest

// Without /proc the attacks run unlimited and unmeasured.
func limitAddressSpace()  {}
func resetPeak()          {}
func residentPeak() int64 { return 0 }
