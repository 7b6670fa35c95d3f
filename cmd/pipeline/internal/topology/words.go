package topology

import (
	"strconv"
	"strings"

	"pipeline/cmd/pipeline/internal/view"
)

// caption is what a node is, in words.
func (n *Node) caption() string {
	switch n.Kind {
	case Letters:
		return "dead letters"
	case Group:
		return "group"
	case Subscription:
		return "subscription"
	}
	return "stream"
}

// notes are the lines below a node's name: what does not change while it runs,
// and then what the server said.
func (n *Node) notes() []string {
	var lines []string
	if h := n.Handler; h != nil {
		line := "handler " + h.Label
		if h.Workers > 1 {
			line += ", " + strconv.Itoa(h.Workers) + " workers"
		}
		lines = append(lines, line, h.Source+" "+h.Function)
	}
	if n.OnlyPending {
		lines = append(lines, "takes over pending entries only")
	}
	if n.Disabled {
		lines = append(lines, "every subscription is disabled")
	}
	if n.Live != nil {
		lines = append(lines, n.Live.words()...)
	}
	return append(lines, n.Notes...)
}

// joined are the lines of a node's box, each escaped.
func (n *Node) joined(separator string, escape func(string) string) string {
	lines := append([]string{n.caption(), n.Name}, n.notes()...)
	for i := range lines {
		lines[i] = escape(lines[i])
	}
	return strings.Join(lines, separator)
}

// caption is what an edge is called, "" where its ends say enough.
func (e *Edge) caption() string {
	switch {
	case e.Label != "":
		return e.Label
	case e.Way == Replies:
		return "reply"
	case e.Way == Buries:
		return "dead letters"
	}
	return ""
}

// longest is how many columns of a name are drawn: a key may be of any length.
const longest = 48

// short is a text as it is drawn, in at most n columns.
func short(s string, n int) string { return view.Fit(view.Clean(s), n) }
