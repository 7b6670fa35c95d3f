package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
)

// profile has the last of the product's rounds of a series profiled, of which
// products counts those that have begun.
func (r *Runner) profile(j *Job, side Side, products *int) {
	if side != Product {
		return
	}
	if *products++; *products == r.Rounds {
		j.Profile = r.Profile
	}
}

// startProfile begins a CPU profile in a folder. done ends it and writes the
// profile of allocations beside it, which is that of the whole process. Without
// a folder it does nothing.
func startProfile(dir string) (done func() error, err error) {
	if dir == "" {
		return func() error { return nil }, nil
	}
	cpu, err := os.Create(filepath.Join(dir, "cpu.pprof"))
	if err != nil {
		return nil, fmt.Errorf("profile: %w", err)
	}
	if err := pprof.StartCPUProfile(cpu); err != nil {
		return nil, errors.Join(fmt.Errorf("profile: %w", err), cpu.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return errors.Join(cpu.Close(), writeAllocs(filepath.Join(dir, "allocs.pprof")))
	}, nil
}

func writeAllocs(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("profile: %w", err)
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}
