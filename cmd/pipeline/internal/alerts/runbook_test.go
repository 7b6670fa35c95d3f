package alerts

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestEveryAlertHasItsPartOfTheRunbook compares the headings of the runbook with the
// alerts: their order is the same, each leads to one, and none is about no alert. The
// part of a page that a heading makes is its text in small letters, which holds for
// words without a space.
func TestEveryAlertHasItsPartOfTheRunbook(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, runbook, found := strings.Cut(string(page), "\n## Runbook\n")
	if !found {
		t.Fatal("docs/operations.md has no runbook")
	}
	runbook, _, _ = strings.Cut(runbook, "\n## ")
	var headings []string
	for part := range strings.SplitSeq(runbook, "\n### ") {
		name, text, _ := strings.Cut(part, "\n")
		if len(headings) == 0 && name == "" {
			continue // what stands before the first
		}
		headings = append(headings, name)
		if len(strings.Fields(text)) < 20 {
			t.Errorf("the part %s says next to nothing", name)
		}
	}
	if want := Kinds(); !slices.Equal(headings, want) {
		t.Errorf("the runbook has parts for\n%v\nand the alerts are\n%v", headings, want)
	}
}
