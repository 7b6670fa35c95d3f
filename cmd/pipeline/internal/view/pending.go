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
	Shown   []PendingEntry
}

// Pending prints what waits in each group.
func (v *View) Pending(groups []PendingGroup) {
	if v.o.JSON {
		for _, g := range groups {
			v.pendingJSON(g)
		}
		return
	}
	tab := &table{
		head:  []string{"group", "id", "consumer", "deliveries", "idle", "due", "attempts", "last error"},
		right: map[int]bool{3: true, 4: true, 6: true},
	}
	for _, g := range groups {
		for _, e := range g.Shown {
			tab.row(
				cell{g.Group, plain}, cell{e.ID.String(), dim}, cell{e.Consumer, plain},
				cell{number(e.Deliveries), plain}, cell{Duration(e.Idle), plain}, dueCell(e),
				cell{number(e.Attempts), plain}, cell{e.Error, yellow},
			)
		}
	}
	var b []byte
	if len(tab.rows) > 0 {
		b = append(tab.append(b, paint(v.o.Color), v.o.Width), '\n')
	}
	for _, g := range groups {
		b = append(append(b, pendingText(g)...), '\n')
	}
	v.write(b)
}

func dueCell(e PendingEntry) cell {
	switch {
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
	case g.Total > int64(len(g.Shown)):
		return name + number(int64(len(g.Shown))) + " of " + count(g.Total, "pending entry", "pending entries") +
			" shown; --limit shows more"
	}
	return name + count(g.Total, "pending entry", "pending entries")
}

func (v *View) pendingJSON(g PendingGroup) {
	for _, e := range g.Shown {
		b := append([]byte(nil), `{"event":"pending","group":`...)
		b = appendString(b, g.Group)
		b = append(b, `,"stream":`...)
		b = appendString(b, g.Stream)
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
		b = append(b, `,"error":`...)
		b = appendString(b, e.Error)
		v.write(append(b, '}', '\n'))
	}
	v.event(struct {
		Event   string `json:"event"`
		Group   string `json:"group"`
		Stream  string `json:"stream"`
		Exists  bool   `json:"exists"`
		Pending int64  `json:"pending"`
		Shown   int    `json:"shown"`
	}{"group", g.Group, g.Stream, !g.Missing, g.Total, len(g.Shown)})
}
