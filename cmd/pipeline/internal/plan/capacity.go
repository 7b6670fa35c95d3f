package plan

import (
	"fmt"
	"math"
	"time"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// What the server needs besides the bodies, in bytes: for an entry of a stream, its
// id, the names of its fields and its share of the tree; for a pending one, its
// record in the group and in its consumer. Measured on Redis 8.6, where an entry of one
// field needs 14 to 63; 7.0 needs no more, and 87 for a pending one. A test measures it.
const (
	EntryBytes   = 150
	PendingBytes = 222
)

// AssumedEntry is how many bytes the fields of an entry have, unless it is told.
const AssumedEntry = 1024

// MostEntries bounds what is computed: no server holds more.
const MostEntries = 1e15

// The codes of what a capacity may come to.
const (
	// CodeTrimsBefore: a stream's retention is shorter than the outage.
	CodeTrimsBefore diag.Code = "capacity_retention"
	// CodeStopsBefore: max_backlog is reached before the outage ends.
	CodeStopsBefore diag.Code = "capacity_backlog"
	// CodeKeepsAll: a stream without retention only grows.
	CodeKeepsAll diag.Code = "capacity_unbounded"
)

// Load is what a capacity is computed for.
type Load struct {
	// Rate is how many entries a second are added to each stream that a group reads,
	// at the peak.
	Rate float64
	// Outage is the longest time in which nothing is acknowledged.
	Outage time.Duration
	// Entry is the size of an entry's fields, in bytes; Assumed: nobody has told it.
	Entry   int64
	Assumed bool
}

// Arrive is how many entries are added to a stream in the time of the outage.
func (l Load) Arrive() float64 { return math.Ceil(l.Rate * l.Outage.Seconds()) }

// Need is what one stream needs of the server, in entries and bytes.
type Need struct {
	Stream *spec.Stream
	// Groups are those of the pipeline that read it.
	Groups int
	// Entries are in the stream at the most: what arrives in the outage, or what the
	// retention keeps in any case, whichever is more. Pending are those of all groups
	// when all that arrives was delivered and nothing acknowledged.
	Entries, Pending float64
	// Bodies, Overhead and Marks are bytes: of the fields, of the stream besides, and
	// of what is pending.
	Bodies, Overhead, Marks float64
}

// Bytes are all that the stream needs.
func (n Need) Bytes() float64 { return n.Bodies + n.Overhead + n.Marks }

// Capacity is what the server needs for a pipeline.
type Capacity struct {
	Load     Load
	Needs    []Need
	Problems []diag.Diagnostic
}

// Bytes are all that the streams need.
func (c *Capacity) Bytes() (total float64) {
	for _, n := range c.Needs {
		total += n.Bytes()
	}
	return total
}

// CapacityOf is computed from the file alone. Streams that no enabled subscription
// reads are not among it: nobody says at what rate they grow.
func CapacityOf(p *spec.Pipeline, l Load) *Capacity {
	c := &Capacity{Load: l}
	at := map[*spec.Stream]int{}
	for _, g := range p.Groups {
		if len(g.Subscriptions) == 0 {
			continue
		}
		i, known := at[g.Stream]
		if !known {
			i = len(c.Needs)
			at[g.Stream], c.Needs = i, append(c.Needs, Need{Stream: g.Stream})
		}
		c.Needs[i].Groups++
	}
	for i := range c.Needs {
		c.fill(&c.Needs[i])
	}
	return c
}

func (c *Capacity) fill(n *Need) {
	arrive := c.Load.Arrive()
	kept, bounded := c.kept(n.Stream)
	n.Entries, n.Pending = arrive, arrive*float64(n.Groups)
	if bounded {
		n.Entries = max(arrive, kept)
	}
	n.Bodies, n.Overhead, n.Marks = n.Entries*float64(c.Load.Entry), n.Entries*EntryBytes, n.Pending*PendingBytes
	name := n.Stream.Name
	r := n.Stream.Retention
	switch {
	case !bounded:
		c.add(n.Stream, diag.Notice, CodeKeepsAll, "Give it a retention block; acknowledged entries stay in a stream until they are trimmed.",
			"%s has no retention: it grows by what arrives, outage or not", name)
	case kept < arrive && !r.ProtectUnacknowledged:
		c.add(n.Stream, diag.Warning, CodeTrimsBefore, "Entries would be trimmed before anybody has handled them. Keep more, or set protect = \"unacknowledged\".",
			"%s keeps %.0f entries, and %.0f arrive in %v", name, kept, arrive, c.Load.Outage)
	}
	if most := float64(n.Stream.MaxBacklog); most > 0 && most < arrive {
		after := time.Duration(most / c.Load.Rate * float64(time.Second)).Round(time.Second)
		c.add(n.Stream, diag.Warning, CodeStopsBefore, "From then on publishers wait, for whom that may be an outage, too. Raise max_backlog where the server has the memory.",
			"%s reaches its max_backlog of %.0f entries after %v of the outage", name, most, after)
	}
}

// kept is how many entries the retention keeps of a stream at the peak's rate.
func (c *Capacity) kept(s *spec.Stream) (entries float64, bounded bool) {
	entries = math.Inf(1)
	if s.Retention == nil {
		return entries, false
	}
	if s.Retention.MaxLength > 0 {
		entries = float64(s.Retention.MaxLength)
	}
	if s.Retention.MaxAge > 0 {
		entries = min(entries, math.Ceil(c.Load.Rate*s.Retention.MaxAge.Seconds()))
	}
	return entries, !math.IsInf(entries, 1)
}

func (c *Capacity) add(s *spec.Stream, severity diag.Severity, code diag.Code, detail, format string, args ...any) {
	c.Problems = append(c.Problems, atPos(s.Pos, severity, code, fmt.Sprintf(format, args...), detail))
}
