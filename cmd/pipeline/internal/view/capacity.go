package view

import (
	"fmt"
	"math"
	"strconv"

	"pipeline/cmd/pipeline/internal/plan"
)

// Capacity prints what the server needs for a pipeline, with the numbers that it was
// computed from, and then what of the file does not go with that.
func (v *View) Capacity(c *plan.Capacity) {
	if v.o.JSON {
		v.capacityJSON(c)
	} else {
		v.write(v.capacityText(c))
	}
	for _, d := range c.Problems {
		v.Diagnostic(d)
	}
}

func (v *View) capacityText(c *plan.Capacity) []byte {
	l, p := c.Load, paint(v.o.Color)
	assumed := ""
	if l.Assumed {
		assumed = " (assumed: --entry-bytes says how many)"
	}
	rate := strconv.FormatFloat(l.Rate, 'f', -1, 64)
	b := fmt.Appendf(nil, "%s entries a second × %s of outage = %s entries a stream, each of %s B%s\n",
		rate, Duration(l.Outage), whole(l.Arrive()), number(l.Entry), assumed)
	b = fmt.Appendf(b, "and %d B in the stream; %d B more in each group where it is pending\n\n", plan.EntryBytes, plan.PendingBytes)
	tab := &table{
		head:  []string{"stream", "entries", "bodies", "besides", "groups", "pending", "of them", "in all"},
		right: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true},
	}
	for _, n := range c.Needs {
		tab.row(cell{n.Stream.Name, bold}, cell{whole(n.Entries), plain}, sizeCell(n.Bodies), sizeCell(n.Overhead),
			cell{number(int64(n.Groups)), plain}, cell{whole(n.Pending), plain}, sizeCell(n.Marks), sizeCell(n.Bytes()))
	}
	b = tab.append(b, p, v.o.Width)
	return append(b, "\nthe server needs "+bytesText(c.Bytes())+" for them, besides what else it holds\n"...)
}

// whole writes a count that may be larger than a whole number can be.
func whole(f float64) string {
	if f >= math.MaxInt64 {
		return strconv.FormatFloat(f, 'g', 3, 64)
	}
	return number(int64(f))
}

func bytesText(f float64) string {
	if f >= math.MaxInt64 {
		return strconv.FormatFloat(f, 'g', 3, 64) + " B"
	}
	return size(int64(f))
}

func sizeCell(f float64) cell { return cell{bytesText(f), plain} }

func (v *View) capacityJSON(c *plan.Capacity) {
	for _, n := range c.Needs {
		v.event(struct {
			Event    string  `json:"event"`
			Stream   string  `json:"stream"`
			Groups   int     `json:"groups"`
			Entries  float64 `json:"entries"`
			Pending  float64 `json:"pending"`
			Bodies   float64 `json:"body_bytes"`
			Overhead float64 `json:"stream_bytes"`
			Marks    float64 `json:"pending_bytes"`
			Bytes    float64 `json:"bytes"`
		}{"capacity_stream", n.Stream.Name, n.Groups, n.Entries, n.Pending, n.Bodies, n.Overhead, n.Marks, n.Bytes()})
	}
	v.event(struct {
		Event   string  `json:"event"`
		Rate    float64 `json:"rate_per_s"`
		Outage  int64   `json:"outage_ms"`
		Entry   int64   `json:"entry_bytes"`
		Assumed bool    `json:"entry_bytes_assumed"`
		Beside  int64   `json:"stream_bytes_per_entry"`
		Mark    int64   `json:"bytes_per_pending"`
		Arrive  float64 `json:"entries"`
		Bytes   float64 `json:"bytes"`
	}{
		"capacity", c.Load.Rate, c.Load.Outage.Milliseconds(), c.Load.Entry, c.Load.Assumed, plan.EntryBytes, plan.PendingBytes,
		c.Load.Arrive(), c.Bytes(),
	})
}
