package web

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"pipeline/cmd/pipeline/internal/view"
)

// groupList is the table of groups: those that a filter chooses, in an order, a page of
// them.
type groupList struct {
	Sort, Find string
	Heads      []groupHead
	Rows       []groupRow
	// Total are all groups, Found those that the filter chooses.
	Total, Found int64
	// Next and First are the addresses of the next page and of the first one, All of the
	// table without a filter; "" where there is none to lead to.
	Next, First, All string
}

// Filterable reports whether there are so many that a filter is of use.
func (l *groupList) Filterable() bool { return l.Total > fewGroups || l.Find != "" }

// fewGroups are found without a filter.
const fewGroups = 12

// groupHead is the head of a column. Link sorts by it.
type groupHead struct {
	Title, Link, ID string
	Number, Sorted  bool
}

// groupColumn is a column. Sort is the name of its order, "" for one that has none: by
// text, or the largest first, for what is wrong is large.
type groupColumn struct {
	sort, title string
	text        func(*groupRow) string
	number      func(*groupRow) float64
}

// groupColumns are the columns. What is not known is taken to be large, as it may be.
var groupColumns = []groupColumn{
	{"name", "group", func(r *groupRow) string { return r.Name }, nil},
	{"stream", "stream", func(r *groupRow) string { return r.Stream }, nil},
	{"added", "added/s", nil, func(r *groupRow) float64 { return numberOr(r.Added, -1) }},
	{"read", "read/s", nil, func(r *groupRow) float64 { return numberOr(r.Read, -1) }},
	{"lag", "lag", nil, func(r *groupRow) float64 { return numberOr(r.Lag, large) }},
	{"oldest", "oldest", nil, func(r *groupRow) float64 { return r.ifKnown(r.Undelivered.Seconds()) }},
	{"", "oldest, last ", nil, nil},
	{"pending", "pending", nil, func(r *groupRow) float64 { return numberOr(r.Pending, large) }},
	{"oldest_pending", "oldest", nil, func(r *groupRow) float64 { return r.ifKnown(r.Oldest.Seconds()) }},
	{"consumers", "consumers", nil, func(r *groupRow) float64 { return numberOr(r.Consumers, large) }},
}

// large is more than any number of entries or seconds.
const large = 1e18

// numberOr is a value, or another one where it is not known.
func numberOr[N int64 | float64](v *N, unknown float64) float64 {
	if v == nil {
		return unknown
	}
	return float64(*v)
}

func (r *groupRow) ifKnown(v float64) float64 {
	if r.State != "" {
		return large
	}
	return v
}

// groups are the groups that a request asks for. Its arguments: sort, the order of a
// column, without which it is that of the file; find, a part of the name of a group, its
// stream or a subscription, in capitals or not; skip, how many are passed over.
func (l *look) groups(r *http.Request) (*groupList, error) {
	list := &groupList{Sort: r.FormValue("sort"), Find: r.FormValue("find")}
	at := slices.IndexFunc(groupColumns, func(c groupColumn) bool { return c.sort == list.Sort })
	if at < 0 {
		return nil, wrong("The argument sort names no order of groups. The heads of their table lead to those that there are.")
	}
	skip, err := skipped(r)
	if err != nil {
		return nil, err
	}
	rows := l.groupRows(strings.ToLower(list.Find), &list.Total)
	if list.Sort != "" {
		groupColumns[at].order(rows)
	}
	list.Found = int64(len(rows))
	rows = rows[min(skip, len(rows)):]
	if len(rows) > perPage {
		rows, list.Next = rows[:perPage], list.link(list.Sort, list.Find, skip+perPage)
	}
	if skip > 0 {
		list.First = list.link(list.Sort, list.Find, 0)
	}
	if list.Find != "" {
		list.All = list.link(list.Sort, "", 0)
	}
	for i := range rows {
		rows[i].Drawing = l.groupSpark(rows[i].group)
	}
	list.Rows = rows
	for _, c := range groupColumns {
		list.Heads = append(list.Heads, list.head(c, spanText(l.span)))
	}
	return list, nil
}

// groupRows are the rows of the groups of which some name has a part in it, and how many
// groups there are.
func (l *look) groupRows(part string, total *int64) (rows []groupRow) {
	for i := range l.found.Streams {
		stream := &l.found.Streams[i]
		for j := range stream.Groups {
			g := &stream.Groups[j]
			names := []string{g.Spec.Label, g.Spec.Name, stream.Spec.Name}
			for _, sub := range g.Spec.Subscriptions {
				names = append(names, sub.Label)
			}
			if *total++; strings.Contains(strings.ToLower(strings.Join(names, " ")), part) {
				rows = append(rows, l.groupRow(stream, g))
			}
		}
	}
	return rows
}

func (c *groupColumn) order(rows []groupRow) {
	slices.SortStableFunc(rows, func(a, b groupRow) int {
		if c.text != nil {
			return cmp.Compare(c.text(&a), c.text(&b))
		}
		return cmp.Compare(c.number(&b), c.number(&a))
	})
}

// head is the head of a column; one that is sorted by leads back to the order of the file.
func (l *groupList) head(c groupColumn, span string) groupHead {
	h := groupHead{Title: c.title, Number: c.number != nil, Sorted: c.sort != "" && c.sort == l.Sort}
	switch {
	case c.sort == "":
		h.Title += span
	case h.Sorted:
		h.ID, h.Link = "by-"+c.sort, l.link("", l.Find, 0)
	default:
		h.ID, h.Link = "by-"+c.sort, l.link(c.sort, l.Find, 0)
	}
	return h
}

func (l *groupList) link(sort, find string, skip int) string {
	text := ""
	if skip > 0 {
		text = strconv.Itoa(skip)
	}
	return link("/", "sort", sort, "find", view.Clean(find), "skip", text) + "#groups-title"
}

// skipped is how many rows a request passes over.
func skipped(r *http.Request) (int, error) {
	text := r.FormValue("skip")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, wrong("The argument skip is no number of rows.")
	}
	return n, nil
}
