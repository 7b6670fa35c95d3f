package chaos

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipeline/tests/redistest"
)

// telling are the events that say what may have become of a payment that has no
// reply, or two.
var telling = []string{
	"group.created", "group.restored", "subscription.failed", "entry.body_missing", "settle.refused", "reply.torn",
	"entry.dead_lettered", "entry.invalid", "stream.trim_refused",
}

// tellingLines are the lines of a process that tell, no more than a few of a kind.
func tellingLines(output string) []string {
	var lines []string
	seen := map[string]int{}
	for text := range strings.Lines(output) {
		var l line
		if json.Unmarshal([]byte(text), &l) != nil || !slices.Contains(telling, l.Event) {
			continue
		}
		if seen[l.Event]++; seen[l.Event] <= 3 {
			lines = append(lines, strings.TrimSpace(text))
		}
	}
	return lines
}

// spans are numbers in order, as ranges.
func spans(numbers []int) string {
	var out []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		out = append(out, fmt.Sprintf("%d to %d", numbers[i], numbers[j]))
		i = j + 1
	}
	return strings.Join(out, ", ")
}

// autopsy says what the server knows of payments that have no reply: whether it
// has them at all, and what else there is around them.
func autopsy(t *testing.T, s *redistest.Server, missing []int) {
	t.Helper()
	t.Logf("without a reply: %s", spans(missing))
	lacking := map[int]bool{}
	for _, n := range missing {
		lacking[n] = true
	}
	entries, first, last := 0, "", ""
	each(t, s, "payments", func(values map[string]any) {
		entries++
		n, err := strconv.Atoi(fmt.Sprint(values["id"]))
		if err == nil && lacking[n] {
			delete(lacking, n)
			if first == "" {
				first = fmt.Sprint(values)
			}
			last = fmt.Sprint(values)
		}
	})
	t.Logf("of them the server has %d in the stream (of %d entries), from %s to %s", len(missing)-len(lacking), entries, first, last)
	for _, command := range [][]any{
		{"XINFO", "STREAM", "payments"}, {"XINFO", "GROUPS", "payments"}, {"XINFO", "STREAM", "payments.screened"}, {"INFO", "persistence"},
	} {
		t.Logf("%v: %v", command, s.Client().Do(t.Context(), command...).Val())
	}
	each(t, s, "payments.dead", func(values map[string]any) { t.Logf("letter: %v", values) })
	for text := range strings.Lines(s.Log()) {
		if strings.Contains(text, " # ") || strings.Contains(text, "DB loaded") || strings.Contains(text, "RDB") {
			t.Log(strings.TrimSpace(text))
		}
	}
}
