// Package program has the command as tests run it: built once for all tests of a
// package, and what its processes print.
package program

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// Main is a TestMain that builds the command, writes where it is to path, does what
// else is to be done before, in a folder that is gone in the end, and runs the tests.
// Where something of that fails, no test is run and the process exits with 1.
func Main(m *testing.M, path *string, before ...func(folder string) error) {
	os.Exit(run(m, path, before))
}

func run(m *testing.M, path *string, before []func(string) error) int {
	folder, err := os.MkdirTemp("", "pipeline-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(folder) }()
	*path = filepath.Join(folder, "pipeline")
	if out, err := exec.Command("go", "build", "-o", *path, "pipeline/cmd/pipeline").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build the command: %v\n%s", err, out)
		return 1
	}
	for _, prepare := range before {
		if err := prepare(folder); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// Output is what a process prints. It can be read while it is written.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String is what was printed so far.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
