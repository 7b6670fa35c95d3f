package view

import (
	"slices"
	"strconv"
	"time"

	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// Tally counts outcomes by subscription and result, and remembers the most that
// a call used. It is not safe for concurrent use.
type Tally struct {
	subs []*spec.Subscription
	rows map[*spec.Subscription]*tallyRow
}

type tallyRow struct {
	counts       map[observe.Result]int64
	slowest      time.Duration
	instructions int64
	bytes        int64
}

// NewTally counts for the enabled subscriptions of p.
func NewTally(p *spec.Pipeline) *Tally {
	t := &Tally{subs: p.Subscriptions(), rows: map[*spec.Subscription]*tallyRow{}}
	for _, s := range t.subs {
		t.rows[s] = &tallyRow{counts: map[observe.Result]int64{}}
	}
	return t
}

// Add counts an outcome.
func (t *Tally) Add(sub *spec.Subscription, o *observe.Outcome) {
	row := t.rows[sub]
	if row == nil {
		return
	}
	row.counts[o.Result]++
	row.slowest = max(row.slowest, o.Elapsed)
	row.instructions = max(row.instructions, o.Usage.Instructions)
	row.bytes = max(row.bytes, o.Usage.Bytes)
}

// Of is how many outcomes of all subscriptions had the result.
func (t *Tally) Of(r observe.Result) int64 {
	var n int64
	for _, row := range t.rows {
		n += row.counts[r]
	}
	return n
}

// Any reports whether anything was counted.
func (t *Tally) Any() bool {
	for _, r := range results {
		if t.Of(r) > 0 {
			return true
		}
	}
	return false
}

// appendCounts appends the object of results that summaries have in JSON. The
// ordinary results are always there, the others where they occurred.
func (t *Tally) appendCounts(dst []byte) []byte {
	return appendResultCounts(dst, t.Of)
}

func appendResultCounts(dst []byte, of func(observe.Result) int64) []byte {
	dst = append(dst, '{')
	first := true
	for _, r := range results {
		n := of(r)
		if n == 0 && slices.Contains(rare, r) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = append(append(append(dst, '"'), r...), `":`...)
		dst = strconv.AppendInt(dst, n, 10)
	}
	return append(dst, '}')
}

// limitsOf are the limits of each call of a subscription's handler.
func limitsOf(s *spec.Subscription) sandbox.Limits {
	return sandbox.Limits(s.Handler.Limits).WithDefaults()
}

// appendUsage appends the list of what the subscriptions used that were run:
// the most of all calls, beside the limit of each call.
func (t *Tally) appendUsage(dst []byte) []byte {
	dst = append(dst, `,"usage":[`...)
	first := true
	for _, s := range t.subs {
		row, limits := t.rows[s], limitsOf(s)
		if len(row.counts) == 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendString(append(dst, `{"subscription":`...), s.Label)
		dst = strconv.AppendInt(append(dst, `,"elapsed_us":`...), row.slowest.Microseconds(), 10)
		dst = strconv.AppendInt(append(dst, `,"timeout_us":`...), limits.Timeout.Microseconds(), 10)
		dst = strconv.AppendInt(append(dst, `,"instructions":`...), row.instructions, 10)
		dst = strconv.AppendInt(append(dst, `,"instructions_limit":`...), limits.Instructions, 10)
		dst = strconv.AppendInt(append(dst, `,"memory_bytes":`...), row.bytes, 10)
		dst = strconv.AppendInt(append(dst, `,"memory_limit_bytes":`...), limits.Memory, 10)
		dst = append(dst, '}')
	}
	return append(dst, ']')
}

// table is the summary: a row for each subscription, a column for each result
// that occurred.
func (t *Tally) table() *table {
	tab := &table{head: []string{"subscription"}, right: map[int]bool{}}
	var shown []observe.Result
	for _, r := range results {
		if t.Of(r) > 0 {
			shown = append(shown, r)
			tab.right[len(tab.head)] = true
			tab.head = append(tab.head, string(r))
		}
	}
	for i := range 3 {
		tab.right[len(tab.head)+i] = true
	}
	tab.head = append(tab.head, "slowest", "instructions", "memory")
	for _, s := range t.subs {
		tab.row(t.rows[s].cells(s, shown)...)
	}
	return tab
}

func (r *tallyRow) cells(s *spec.Subscription, shown []observe.Result) []cell {
	cells := []cell{{s.Label, plain}}
	total := int64(0)
	for _, result := range shown {
		n := r.counts[result]
		total += n
		c := cell{number(n), resultStyle(result)}
		if n == 0 {
			c.style = dim
		}
		cells = append(cells, c)
	}
	used, limits := []string{"", "", ""}, limitsOf(s)
	if total > 0 && r.slowest > 0 {
		used[0] = Duration(r.slowest) + " of " + Duration(limits.Timeout)
	}
	if total > 0 && (r.slowest > 0 || r.instructions > 0) {
		used[1] = number(r.instructions) + " of " + number(limits.Instructions)
	}
	if total > 0 && r.bytes > 0 {
		used[2] = size(r.bytes) + " of " + size(limits.Memory)
	}
	for _, text := range used {
		cells = append(cells, cell{text, plain})
	}
	return cells
}
