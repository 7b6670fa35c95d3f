// Package topology is a pipeline as a graph: which groups read which streams,
// what their subscriptions hand to which handlers, and where replies and dead
// letters go. It draws that graph as text, Mermaid, dot, SVG and data, each the
// same for the same pipeline, whatever runs beside it.
//
// Names of streams and groups are any bytes; every drawing escapes them.
package topology

import (
	"strconv"

	"pipeline/engine/spec"
)

// Kind is what a node is.
type Kind string

// The kinds of nodes.
const (
	Stream Kind = "stream"
	// Letters is a stream that holds dead letters, and that no group reads.
	Letters      Kind = "dead_letters"
	Group        Kind = "group"
	Subscription Kind = "subscription"
)

// Way is what goes along an edge.
type Way string

// The kinds of edges.
const (
	// Reads: from a stream to a group of it.
	Reads Way = "reads"
	// Hands: from a group to one of its subscriptions.
	Hands Way = "hands"
	// Replies: from a subscription to the stream of its replies.
	Replies Way = "replies"
	// Buries: from a group to the stream of its dead letters.
	Buries Way = "buries"
)

// Node is a stream, a group or a subscription.
type Node struct {
	// ID tells nodes apart and is the same in every drawing: "s1", "g1", "u1", by
	// the order in the file.
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// Label is the block's in the file; "" for a dead-letter stream that is not
	// declared. Name is the key or the group's name on the server.
	Label string `json:"label"`
	Name  string `json:"name"`
	// Stream is the key of the stream that a group reads; "" for other kinds.
	Stream string `json:"stream,omitempty"`
	// Handler is a subscription's.
	Handler *Handler `json:"handler,omitempty"`
	// OnlyPending: a subscription that takes over pending entries alone.
	OnlyPending bool `json:"only_pending,omitempty"`
	// Disabled: a group all of whose subscriptions are.
	Disabled bool `json:"disabled,omitempty"`
	// Live is what the server said; nil where it was not asked.
	Live *Live `json:"live,omitempty"`
	// Notes are more lines for the drawings, below the others.
	Notes []string `json:"-"`
}

// Handler is what runs a subscription's entries.
type Handler struct {
	Label    string `json:"label"`
	Source   string `json:"source"`
	Function string `json:"function"`
	Workers  int    `json:"workers"`
}

// Edge is a way from one node to another.
type Edge struct {
	From *Node
	To   *Node
	Way  Way
	// Label is the route's; "" for reply blocks and other ways.
	Label string
}

// Graph is a pipeline. Its nodes and edges are in the order of the file.
type Graph struct {
	Pipeline, Version string
	Nodes             []*Node
	Edges             []*Edge
}

// New returns the graph of a pipeline.
func New(p *spec.Pipeline) *Graph {
	b := &builder{graph: &Graph{Pipeline: p.Name, Version: p.Version}, streams: map[string]*Node{}}
	for _, s := range p.Streams {
		b.stream(s)
	}
	for _, g := range p.Groups {
		b.group(g)
	}
	read := map[*Node]bool{}
	for _, e := range b.graph.Edges {
		read[e.From] = true
	}
	for _, e := range b.graph.Edges {
		if e.Way == Buries && !read[e.To] {
			e.To.Kind = Letters
		}
	}
	return b.graph
}

type builder struct {
	graph   *Graph
	streams map[string]*Node
	count   [3]int
}

// add numbers a node within its kind.
func (b *builder) add(letter string, kind int, n *Node) *Node {
	b.count[kind]++
	n.ID = letter + strconv.Itoa(b.count[kind])
	b.graph.Nodes = append(b.graph.Nodes, n)
	return n
}

// stream is the node of a stream. Two blocks of one key are one stream.
func (b *builder) stream(s *spec.Stream) *Node {
	n := b.streams[s.Name]
	if n == nil {
		n = b.add("s", 0, &Node{Kind: Stream, Label: s.Label, Name: s.Name})
		b.streams[s.Name] = n
	}
	return n
}

func (b *builder) edge(from, to *Node, way Way, label string) {
	b.graph.Edges = append(b.graph.Edges, &Edge{from, to, way, label})
}

func (b *builder) group(g *spec.Group) {
	n := b.add("g", 1, &Node{Kind: Group, Label: g.Label, Name: g.Name, Stream: g.Stream.Name, Disabled: len(g.Subscriptions) == 0})
	b.edge(b.stream(g.Stream), n, Reads, "")
	for _, s := range g.Subscriptions {
		u := b.add("u", 2, &Node{Kind: Subscription, Label: s.Label, Name: s.Label, OnlyPending: s.Claim != nil && s.Claim.Only})
		u.Handler = &Handler{s.Handler.Label, s.Handler.Source, s.Handler.Function, s.Workers.Count}
		b.edge(n, u, Hands, "")
		if s.Reply != nil {
			b.edge(u, b.stream(s.Reply.To), Replies, "")
		}
		for _, r := range s.Routes {
			b.edge(u, b.stream(r.To), Replies, r.Label)
		}
	}
	if !n.Disabled {
		b.edge(n, b.stream(g.DeadLetter), Buries, "")
	}
}

// from are the edges that begin at a node, in order.
func (g *Graph) from(n *Node) (out []*Edge) {
	for _, e := range g.Edges {
		if e.From == n {
			out = append(out, e)
		}
	}
	return out
}
