package metrics_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipeline/cmd/pipeline/internal/metrics"
)

var update = flag.Bool("update", false, "write the table of the manual anew")

// TestTheManual compares the table in the manual with the metrics that there are.
func TestTheManual(t *testing.T) {
	at := filepath.Join("..", "..", "..", "..", "docs", "operations.md")
	text, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| name | kind | labels | what it says |\n|---|---|---|---|\n")
	for _, f := range metrics.Families() {
		fmt.Fprintf(&table, "| `%s` | %s | %s | %s |\n", f.Name, f.Kind, strings.Join(f.Labels, ", "), f.Help)
	}
	const begin, end = "-update -->\n", "<!-- end -->"
	before, rest, found := strings.Cut(string(text), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatal("the manual has no place for the table")
	}
	want := before + begin + table.String() + end + after
	if *update {
		if err := os.WriteFile(at, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if string(text) != want {
		t.Error("the table in docs/operations.md is not that of the metrics; write it anew with -update")
	}
}
