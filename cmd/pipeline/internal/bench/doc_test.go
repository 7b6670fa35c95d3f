package bench

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every scenario and every figure is explained.
func TestPerformanceDoc(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "docs", "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range Scenarios() {
		if !strings.Contains(string(text), "\n### "+s.Name+"\n") {
			t.Errorf("docs/performance.md has no section %s", s.Name)
		}
	}
	figures := append([]Figure{
		seconds, slowest, p50, p99, p999, sentLate, firstIdle, nextIdle, rssReady, rssHeld, heldEntries, rssAfter, rssSlope, idleCPU, idleServer,
	}, throughput...)
	for _, f := range figures {
		if !strings.Contains(string(text), "`"+f.Name+"`") {
			t.Errorf("docs/performance.md does not explain %s", f.Name)
		}
	}
}
