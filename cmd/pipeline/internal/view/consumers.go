package view

import (
	"time"

	"pipeline/cmd/pipeline/internal/consumers"
	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/engine/broker/redis"
	"pipeline/engine/spec"
)

// ConsumerList prints the consumers of groups, one by one.
type ConsumerList struct {
	v      *View
	tab    *pages
	after  time.Duration
	groups []string
}

// ConsumerList begins a list, in which who was idle for that long counts as stale.
func (v *View) ConsumerList(after time.Duration) *ConsumerList {
	head := []string{"group", "consumer", "state", "pending", "oldest", "idle", "inactive"}
	return &ConsumerList{v: v, after: after, tab: v.pages(map[int]bool{3: true, 4: true, 5: true, 6: true}, head...)}
}

// consumerLine is the line of a consumer. What is not known is null.
type consumerLine struct {
	Event    string `json:"event"`
	Group    string `json:"group"`
	Stream   string `json:"stream"`
	Consumer string `json:"consumer"`
	Pending  int64  `json:"pending"`
	// OldestPending is the id of the first entry that is pending, "" for none.
	OldestPending string  `json:"oldest_pending"`
	OldestAge     int64   `json:"oldest_pending_age_ms"`
	OldestIdle    int64   `json:"oldest_pending_idle_ms"`
	Idle          int64   `json:"idle_ms"`
	Inactive      *int64  `json:"inactive_ms"`
	Slot          string  `json:"slot"`
	Lease         string  `json:"lease"`
	AliveUntil    *string `json:"alive_until"`
	Stale         bool    `json:"stale"`
}

var leaseWords = map[redis.Lease]string{
	redis.LeaseNone: "none", redis.LeaseGone: "gone", redis.LeaseHeld: "held", redis.LeaseUnknown: "unknown",
}

// Row prints a consumer.
func (l *ConsumerList) Row(c *consumers.Consumer) {
	if !l.v.o.JSON {
		inactive := cell{"-", dim}
		if c.Inactive >= 0 {
			inactive = cell{Duration(c.Inactive), plain}
		}
		l.tab.row(cell{c.Group.Name, plain}, cell{c.Name, plain}, l.state(c), cell{number(c.Pending), plain}, ageCell(c.OldestAge),
			cell{Duration(c.Idle), plain}, inactive)
		return
	}
	out := consumerLine{
		Event: "consumer", Group: c.Group.Name, Stream: c.Group.Stream.Name, Consumer: c.Name, Pending: c.Pending,
		Idle: c.Idle.Milliseconds(), Inactive: known(c.Inactive.Milliseconds(), c.Inactive >= 0),
		Slot: c.Slot, Lease: leaseWords[c.Lease], Stale: c.Stale(l.after),
		AliveUntil: known(c.Until.UTC().Format(time.RFC3339Nano), !c.Until.IsZero()),
	}
	if !c.Oldest.IsZero() {
		out.OldestPending, out.OldestAge, out.OldestIdle = c.Oldest.String(), c.OldestAge.Milliseconds(), c.OldestIdle.Milliseconds()
	}
	l.v.event(out)
}

// state says in a word whether somebody is behind a consumer.
func (l *ConsumerList) state(c *consumers.Consumer) cell {
	switch {
	case c.Lease == redis.LeaseHeld:
		return cell{"alive", green}
	case c.Stale(l.after) && c.Pending > 0:
		return cell{"stale, holds", red}
	case c.Stale(l.after):
		return cell{"stale", yellow}
	case c.Lease == redis.LeaseGone:
		return cell{"stopped", plain}
	case c.Lease == redis.LeaseUnknown:
		return cell{"not known", yellow}
	}
	return cell{"reads", plain}
}

// Group prints a group after its consumers: in text behind those of all groups.
func (l *ConsumerList) Group(g *spec.Group, exists bool, list []consumers.Consumer) {
	alive, stale := 0, 0
	for i := range list {
		if list[i].Lease == redis.LeaseHeld {
			alive++
		}
		if list[i].Stale(l.after) {
			stale++
		}
	}
	if l.v.o.JSON {
		l.v.event(struct {
			Event     string `json:"event"`
			Group     string `json:"group"`
			Stream    string `json:"stream"`
			Exists    bool   `json:"exists"`
			Consumers int    `json:"consumers"`
			Alive     int    `json:"alive"`
			Stale     int    `json:"stale"`
		}{"group", g.Name, g.Stream.Name, exists, len(list), alive, stale})
		return
	}
	text := clean(g.Name) + " on " + clean(g.Stream.Name) + ": "
	switch {
	case !exists:
		text += "the server has no such group yet; `pipeline apply` creates it"
	case len(list) == 0:
		text += "no consumer"
	default:
		text += count(int64(len(list)), "consumer", "consumers") + ", " + number(int64(alive)) + " alive, " + number(int64(stale)) + " stale"
	}
	l.groups = append(l.groups, text+"\n")
}

// End prints what is left to be printed.
func (l *ConsumerList) End() {
	var b []byte
	if l.tab.end() {
		b = append(b, '\n')
	}
	for _, g := range l.groups {
		b = append(b, g...)
	}
	l.v.write(b)
}

// PruneSelection is a selection of consumers, before anything is done.
type PruneSelection struct {
	Event string `json:"event"`
	For   string `json:"action"`
	// File holds the selection; "" when nothing was chosen.
	File      string              `json:"selection"`
	Filter    string              `json:"filter"`
	Idle      int64               `json:"idle_ms"`
	Consumers int                 `json:"consumers"`
	Chosen    []consumers.Chosen  `json:"chosen"`
	LeftOut   []deadletters.Count `json:"left_out"`
	Next      string              `json:"next"`
}

// shownChosen bounds the consumers that a preview shows a person; the file has all.
const shownChosen = 50

// PruneSelected prints a preview.
func (v *View) PruneSelected(s PruneSelection) {
	s.Event, s.For, s.Consumers = "selection", "prune", len(s.Chosen)
	s.LeftOut = append([]deadletters.Count{}, s.LeftOut...)
	s.Chosen = append([]consumers.Chosen{}, s.Chosen...)
	if v.o.JSON {
		v.event(s)
		return
	}
	p := paint(v.o.Color)
	var b []byte
	for i, c := range s.Chosen {
		if i == shownChosen {
			b = append(b, "and "+number(int64(len(s.Chosen)-i))+" more\n"...)
			break
		}
		b = append(b, "would remove "+clean(c.Consumer)+" of the group "+clean(c.Group)+" of "+clean(c.Stream)+"\n"...)
	}
	if len(s.Chosen) == 0 {
		b = append(b, "no consumer is chosen\n"...)
	}
	for _, c := range s.LeftOut {
		b = append(p.append(b, yellow, "stays: "+count(c.Count, "consumer", "consumers")+", "+clean(c.Value)), '\n')
	}
	if s.File != "" {
		b = append(b, "the selection is in "+clean(s.File)+"\n"...)
	}
	if s.Next != "" {
		b = append(b, "nothing was changed; to remove "+theseConsumers(len(s.Chosen))+":\n  "...)
		b = append(p.append(b, cyan, clean(s.Next)), '\n')
	}
	v.write(b)
}

func theseConsumers(n int) string {
	if n == 1 {
		return "this consumer and no other"
	}
	return "these " + number(int64(n)) + " consumers and no others"
}

// ConsumerKept prints a consumer that was not removed, and why.
func (v *View) ConsumerKept(c consumers.Chosen, why string) {
	if v.o.JSON {
		v.event(struct {
			Event string `json:"event"`
			consumers.Chosen
			Why string `json:"why"`
		}{"consumer_kept", c, why})
		return
	}
	v.say([]byte("not removed: " + clean(c.Consumer) + " of the group " + clean(c.Group) + ": " + why + "\n"))
}

// Pruned is what became of a selection.
type Pruned struct {
	Event   string `json:"event"`
	File    string `json:"selection"`
	Total   int    `json:"consumers"`
	Removed int    `json:"removed"`
	Gone    int    `json:"gone"`
	Kept    int    `json:"kept"`
	Left    int    `json:"left"`
	// Next goes on where the command was broken off, "" at the end.
	Next string `json:"next"`
}

// Pruned prints what was done.
func (v *View) Pruned(s Pruned) {
	s.Event = "pruned"
	if v.o.JSON {
		v.event(s)
		return
	}
	p := paint(v.o.Color)
	b := append(p.append(nil, green, "removed"), " "+number(int64(s.Removed))+" of "+count(int64(s.Total), "consumer", "consumers")...)
	for _, part := range []struct {
		n    int
		text string
	}{{s.Gone, "gone before"}, {s.Kept, "kept"}, {s.Left, "not looked at"}} {
		if part.n > 0 {
			b = append(b, ", "+number(int64(part.n))+" "+part.text...)
		}
	}
	b = append(b, '\n')
	if s.Next != "" {
		b = append(b, "to go on:\n  "...)
		b = append(p.append(b, cyan, clean(s.Next)), '\n')
	}
	v.write(b)
}
