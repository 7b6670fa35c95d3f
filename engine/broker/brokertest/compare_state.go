package brokertest

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

// all is more than there is of anything.
const all = 100_000

// state is all that can be seen.
func (s *side) state() string {
	var w strings.Builder
	ctx := s.Context()
	s.nameless = false
	for _, stream := range []string{s.stream, s.out, s.bounded} {
		info, err := s.Broker.StreamInfo(ctx, stream)
		first, last := s.id(info.FirstID), s.id(info.LastID)
		if stream != s.stream {
			first, last = "", "" // its entries have no places
		}
		fmt.Fprintf(&w, "%d entries, %s to %s, %d groups%s\n", info.Length, first, last, info.Groups, kindOf(s, err))
		entries, err := s.Broker.Range(ctx, stream, broker.ID{}, broker.MaxID, all)
		for _, e := range entries {
			if stream == s.stream {
				fmt.Fprint(&w, s.id(e.ID), " ")
			}
			fmt.Fprintf(&w, "%s\n", short(e.Fields))
		}
		fmt.Fprintln(&w, kindOf(s, err))
	}
	infos, err := s.Broker.GroupInfos(ctx, s.stream)
	for _, g := range infos {
		fmt.Fprintf(&w, "group %s: %d consumers, %d pending, at %s, lag %d %v\n",
			g.Name, g.Consumers, g.Pending, s.position(g.LastDelivered), g.Lag, g.LagKnown)
	}
	fmt.Fprintln(&w, kindOf(s, err))
	for _, group := range groups {
		s.groupState(&w, group, slices.ContainsFunc(infos, func(g broker.GroupInfo) bool { return g.Name == group }))
	}
	return w.String()
}

// groupState is what can be seen of a group, and of what stands beside it.
func (s *side) groupState(w *strings.Builder, group string, exists bool) {
	ctx := s.Context()
	at, found, err := s.Broker.Floor(ctx, s.stream, group)
	fmt.Fprintf(w, "%s: floor %s %v%s\n", group, s.position(at), found, kindOf(s, err))
	records, err := s.Broker.Records(ctx, s.stream, group, s.ids)
	for i, r := range records {
		if r != (broker.Record{}) {
			fmt.Fprintf(w, "record e%d: %s\n", i, s.record(r))
		}
	}
	fmt.Fprintln(w, kindOf(s, err))
	w.WriteString(s.markedState(group))
	if !exists {
		return
	}
	now := s.now()
	consumers, err := s.Broker.ConsumerInfos(ctx, s.stream, group)
	for _, c := range consumers {
		fmt.Fprintf(w, "consumer %s: %d pending, %s\n", c.Name, c.Pending, s.touched(now, c.Idle))
	}
	fmt.Fprintln(w, kindOf(s, err))
	now = s.now()
	list, err := s.Broker.Pending(ctx, s.stream, group, "", broker.ID{}, all)
	for _, p := range list {
		fmt.Fprintf(w, "pending %s: %s, %s, %d deliveries\n", s.id(p.ID), p.Consumer, s.touched(now, p.Idle), p.Deliveries)
	}
	fmt.Fprintln(w, kindOf(s, err))
}

// record is a record without the times at which it was written.
func (s *side) record(r broker.Record) string {
	due := "now"
	if !r.Due.IsZero() {
		due = r.Due.Sub(r.At).String()
	}
	first := "never"
	if !r.First.IsZero() {
		first = s.touched(s.now(), s.now().Sub(r.First))
	}
	return fmt.Sprintf("%d starts, %d asked, last %d %v, first %s, due %s, %q by %s, %s", r.Starts, r.Asked, r.Delivery, r.Ended, first, due, r.Error, r.By, s.touched(s.now(), s.now().Sub(r.At)))
}

func (s *side) now() time.Time {
	if s.Now == nil {
		return clock.Real().Now()
	}
	return s.Now()
}

// touched says when something happened that was so long ago: hours ago, as an
// entry that was aged looks, or between which two pauses.
func (s *side) touched(now time.Time, idle time.Duration) string {
	if idle > 24*time.Hour {
		return "for very long"
	}
	if idle > 15*time.Minute {
		return fmt.Sprintf("about %d minutes ago", idle.Round(10*time.Minute)/time.Minute)
	}
	at := now.Add(-idle)
	for i, pause := range slices.Backward(s.pauses) {
		if at.After(pause) {
			return fmt.Sprint("after pause ", i)
		}
	}
	return "before any pause"
}

// hours is a time in whole quarters of an hour: all of a run takes less.
func hours(d time.Duration) string {
	if d > 24*time.Hour {
		return "long"
	}
	return fmt.Sprint(int(d / (15 * time.Minute)))
}

// id names the id of an entry by its place, the same on both sides.
func (s *side) id(id broker.ID) string {
	switch {
	case id.IsZero():
		return "0"
	case s.nameless:
		return "another"
	}
	if i, known := s.index[id]; known {
		return fmt.Sprint("e", i)
	}
	return "?"
}

// position names the last entry up to a position. It does not tell whether
// the position is that of the entry or of the gap behind it: a server may have
// given two entries of one addition ids without a gap between.
func (s *side) position(id broker.ID) string {
	if id.IsZero() {
		return "0"
	}
	switch {
	case id == broker.MaxID:
		return "max"
	case s.nameless:
		return "another"
	}
	before := -1
	for i, known := range s.ids {
		if !id.Less(known) && (before < 0 || s.ids[before].Less(known)) {
			before = i
		}
	}
	if before < 0 {
		return "before all"
	}
	if id.Ms-s.ids[before].Ms >= future {
		return fmt.Sprintf("long after e%d", before)
	}
	return fmt.Sprint("e", before)
}

func (s *side) names(ids []broker.ID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = s.id(id)
	}
	return fmt.Sprint(names)
}

// deliveries says what came.
func (s *side) deliveries(list []broker.Delivery) string {
	var w strings.Builder
	for _, d := range list {
		fmt.Fprintf(&w, "%s(%s, %d before, %s) ", s.id(d.ID), hours(d.Idle), d.Deliveries, short(d.Fields))
	}
	return w.String()
}

// short are fields, or what stands for large ones.
func short(fields []broker.Field) string {
	text := fmt.Sprintf("%q", fields)
	if len(text) > 200 {
		return fmt.Sprintf("%d fields %.6x", len(fields), sha256.Sum256([]byte(text)))
	}
	return text
}

// note gives an entry its place.
func (s *side) note(id broker.ID) {
	if _, known := s.index[id]; !known {
		s.index[id] = len(s.ids)
		s.ids = append(s.ids, id)
	}
}

// learn gives places to entries that came otherwise than by an addition.
func (s *side) learn() {
	entries, _ := s.Broker.Range(s.Context(), s.stream, broker.ID{}, broker.MaxID, all)
	for _, e := range entries {
		s.note(e.ID)
	}
}

// alive are the places of pending entries whose body exists.
func (s *side) alive(group string) []int {
	exists := map[broker.ID]bool{}
	entries, _ := s.Broker.Range(s.Context(), s.stream, broker.ID{}, broker.MaxID, all)
	for _, e := range entries {
		exists[e.ID] = true
	}
	var places []int
	list, _ := s.Broker.Pending(s.Context(), s.stream, group, "", broker.ID{}, all)
	for _, p := range list {
		if at, known := s.index[p.ID]; known && exists[p.ID] {
			places = append(places, at)
		}
	}
	return places
}
