package redistest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// recorded holds server and test of every case that is already in the ledger.
var recorded sync.Map

// Record notes that this test ran against a server, named as a reader would ("Redis 8.6.3", "memory"): when
// the test ends without having been skipped, a line "server<TAB>package.Test" goes into the file that
// PIPELINE_TEST_LEDGER names. `make test` counts the lines. Without the variable Record does nothing.
// [Shared] and [Start] record the test they are called with; a suite that shares one server among subtests
// calls Record in each of them.
func Record(t testing.TB, server string) {
	t.Helper()
	ledger := os.Getenv("PIPELINE_TEST_LEDGER")
	if ledger == "" {
		return
	}
	t.Cleanup(func() {
		line := server + "\t" + caseName(t) + "\n"
		if _, again := recorded.LoadOrStore(line, true); t.Skipped() || again {
			return
		}
		if err := appendLine(ledger, line); err != nil {
			t.Errorf("record a case in the ledger: %v", err)
		}
	})
}

// caseName is the test's name after its package's folder, so that equal names in two packages are two cases.
func caseName(t testing.TB) string {
	folder, err := filepath.Rel(moduleRoot, startFolder)
	if err != nil {
		folder = startFolder
	}
	return fmt.Sprintf("%s.%s", filepath.ToSlash(folder), t.Name())
}

// appendLine adds the line in one write: packages are tested at once and share the file.
func appendLine(path, line string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(line)
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// CountCases counts the cases of a ledger by server. A test that only holds subtests which ran on the same
// server is not a case of its own, and one that ran several times is one case.
func CountCases(ledger string) map[string]int {
	lines := map[string]bool{}
	for line := range strings.Lines(ledger) {
		lines[strings.TrimSuffix(line, "\n")] = true
	}
	parents := map[string]bool{}
	for line := range lines {
		for i := strings.Index(line, "\t"); i < len(line); i++ {
			if i > 0 && line[i] == '/' {
				parents[line[:i]] = true
			}
		}
	}
	counts := map[string]int{}
	for line := range lines {
		if server, _, valid := strings.Cut(line, "\t"); valid && !parents[line] {
			counts[server]++
		}
	}
	return counts
}
