package topology

// Document is the graph as data.
type Document struct {
	Pipeline string         `json:"pipeline"`
	Version  string         `json:"version"`
	Nodes    []*Node        `json:"nodes"`
	Edges    []DocumentEdge `json:"edges"`
}

// DocumentEdge is an edge between the ids of two nodes.
type DocumentEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
	// Way is "reads", "hands", "replies" or "buries".
	Way Way `json:"way"`
	// Label is a route's; "" for others.
	Label string `json:"label"`
}

// Document returns the graph as data. It shares the nodes.
func (g *Graph) Document() Document {
	d := Document{Pipeline: g.Pipeline, Version: g.Version, Nodes: append([]*Node{}, g.Nodes...), Edges: []DocumentEdge{}}
	for _, e := range g.Edges {
		d.Edges = append(d.Edges, DocumentEdge{e.From.ID, e.To.ID, e.Way, e.Label})
	}
	return d
}
