package view

import (
	"strconv"
	"time"

	"pipeline/engine/broker"
)

// PendingEntry is one entry of a group's pending list.
type PendingEntry struct {
	Group, Stream string
	broker.Pending
	// Due is when it may run again; zero when nothing is known to bring it back.
	// In is the time until then, 0 or less when that is now.
	Due time.Time
	In  time.Duration
	// Trimmed: its body is gone from the stream, so that it can never run.
	Trimmed bool
	// Attempts that it has used up, and why it waits.
	Attempts int64
	Error    string
}

// PendingGroup is a group and how much it holds.
type PendingGroup struct {
	Group, Stream string
	// Total is the length of the pending list, which may be more than is shown.
	Total int64
	// Missing says that the server has no such group yet.
	Missing bool
	Shown   int64
	// After is the last entry shown, where more follow; zero at the end.
	After broker.ID
}

// PendingList prints what waits in groups, entry by entry.
type PendingList struct {
	v      *View
	tab    *pages
	groups []PendingGroup
}

// PendingList begins a list.
func (v *View) PendingList() *PendingList {
	head := []string{"group", "id", "consumer", "deliveries", "idle", "due", "attempts", "last error"}
	return &PendingList{v: v, tab: v.pages(map[int]bool{3: true, 4: true, 6: true}, head...)}
}

// Row prints an entry.
func (l *PendingList) Row(e PendingEntry) {
	if l.v.o.JSON {
		l.v.write(append(appendPending(nil, &e), '}', '\n'))
		return
	}
	l.tab.row(
		cell{e.Group, plain}, cell{e.ID.String(), dim}, cell{e.Consumer, plain},
		cell{number(e.Deliveries), plain}, cell{Duration(e.Idle), plain}, dueCell(e),
		cell{number(e.Attempts), plain}, cell{e.Error, yellow},
	)
}

// Group prints a group after its entries: in text behind those of all groups.
func (l *PendingList) Group(g PendingGroup) {
	if !l.v.o.JSON {
		l.groups = append(l.groups, g)
		return
	}
	after := ""
	if !g.After.IsZero() {
		after = g.After.String()
	}
	l.v.event(struct {
		Event   string `json:"event"`
		Group   string `json:"group"`
		Stream  string `json:"stream"`
		Exists  bool   `json:"exists"`
		Pending int64  `json:"pending"`
		Shown   int64  `json:"shown"`
		After   string `json:"after"`
	}{"group", g.Group, g.Stream, !g.Missing, g.Total, g.Shown, after})
}

// End prints what is left to be printed.
func (l *PendingList) End() {
	var b []byte
	if l.tab.end() {
		b = append(b, '\n')
	}
	for _, g := range l.groups {
		b = append(append(b, pendingText(g)...), '\n')
	}
	l.v.write(b)
}

func dueCell(e PendingEntry) cell {
	switch {
	case e.Trimmed:
		return cell{"never: trimmed", red}
	case e.Due.IsZero():
		return cell{"-", dim}
	case e.In <= 0:
		return cell{"now", green}
	}
	return cell{e.Due.Format(time.TimeOnly) + " (in " + Duration(e.In.Round(100*time.Millisecond)) + ")", plain}
}

func pendingText(g PendingGroup) string {
	name := clean(g.Group) + " on " + clean(g.Stream) + ": "
	switch {
	case g.Missing:
		return name + "the server has no such group yet; run creates it"
	case g.Total == 0:
		return name + "nothing is pending"
	case !g.After.IsZero():
		return name + number(g.Shown) + " of " + count(g.Total, "pending entry", "pending entries") +
			" shown; --limit shows more, --after " + g.After.String() + " goes on"
	}
	return name + count(g.Total, "pending entry", "pending entries")
}

// appendPending appends the line of an entry, without its closing brace.
func appendPending(b []byte, e *PendingEntry) []byte {
	b = append(b, `{"event":"pending","group":`...)
	b = appendString(b, e.Group)
	b = append(b, `,"stream":`...)
	b = appendString(b, e.Stream)
	b = append(b, `,"id":"`...)
	b = e.ID.Append(b)
	b = append(b, `","consumer":`...)
	b = appendString(b, e.Consumer)
	b = append(b, `,"deliveries":`...)
	b = strconv.AppendInt(b, e.Deliveries, 10)
	b = append(b, `,"idle_ms":`...)
	b = strconv.AppendInt(b, e.Idle.Milliseconds(), 10)
	b = append(b, `,"due":`...)
	if e.Due.IsZero() {
		b = append(b, "null"...)
	} else {
		b = appendString(b, e.Due.UTC().Format(time.RFC3339Nano))
	}
	b = append(b, `,"due_in_ms":`...)
	b = strconv.AppendInt(b, max(0, e.In.Milliseconds()), 10)
	b = append(b, `,"attempts":`...)
	b = strconv.AppendInt(b, e.Attempts, 10)
	if e.Trimmed {
		b = append(b, `,"trimmed":true`...)
	}
	b = append(b, `,"error":`...)
	return appendString(b, e.Error)
}
