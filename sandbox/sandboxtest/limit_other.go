//go:build !linux

package sandboxtest

import "time"

// Without /proc the attacks run unlimited and unmeasured.
type memory struct{}

func openMemory() *memory       { return nil }
func limitAddressSpace(*memory) {}
func (*memory) reset()          {}
func (*memory) peak() (n int64) { return 0 }

type queue struct{}

func openQueue() *queue                  { return nil }
func (*queue) waited() (d time.Duration) { return 0 }
