package cli

import (
	"fmt"
	"math/rand/v2"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/topology"
	"pipeline/engine/broker/readonly"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

// graphFormats are the words of graph --format.
var graphFormats = []string{"text", "mermaid", "dot", "svg", "json"}

func (a *app) graphCommand() *cobra.Command {
	var format string
	var live bool
	cmd := &cobra.Command{
		Use:   "graph PATH",
		Short: "Draw a pipeline: streams, groups, handlers, replies, dead letters",
		Long: "graph draws what a pipeline file declares: which groups read which streams, which handlers their subscriptions\n" +
			"have, and where replies and dead letters go. The same file is always drawn the same; --live adds what the server\n" +
			"says now.\n\n" +
			"  text     a tree (the default)\n" +
			"  mermaid  a flowchart for wikis and forges\n" +
			"  dot      for Graphviz\n" +
			"  svg      a picture; it follows the reader's light or dark scheme\n" +
			"  json     nodes and edges",
		Example: "  pipeline graph examples/payments.hcl\n" +
			"  pipeline graph examples/payments.hcl --format svg > payments.svg\n" +
			"  pipeline graph examples/orders --format dot | dot -Tpng -o orders.png\n" +
			"  pipeline graph examples/payments.hcl --live",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.graph(cmd, args[0], format, live) },
	}
	cmd.Flags().StringVar(&format, "format", graphFormats[0], "print as `FORMAT`: text, mermaid, dot, svg, json")
	cmd.Flags().BoolVar(&live, "live", false, "add what the server says now: lengths, lag, pending, ages, dead letters, consumers")
	complete(cmd, "format", words(graphFormats...))
	return cmd
}

func (a *app) graph(cmd *cobra.Command, path, format string, live bool) error {
	if err := oneOf(cmd, "format", format, graphFormats...); err != nil {
		return err
	}
	p, err := a.load(cmd, path)
	if err != nil {
		return err
	}
	g := topology.New(p)
	if live {
		if err := a.animate(cmd, p, g); err != nil {
			return err
		}
	}
	var document any
	switch format {
	case "text":
		document = g.Text()
	case "mermaid":
		document = g.Mermaid()
	case "dot":
		document = g.Dot()
	case "svg":
		document = g.SVG()
	default:
		document = g.Document()
	}
	if err := a.view.Document("graph", format, document); err != nil {
		return fmt.Errorf("graph: %w", err)
	}
	return nil
}

// animate asks the server once and adds what it says to the graph.
func (a *app) animate(cmd *cobra.Command, p *spec.Pipeline, g *topology.Graph) error {
	if err := needsServer(cmd, p); err != nil {
		return err
	}
	server, err := a.openServer(p)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // nothing was written
	ctx, stop := a.until(cmd)
	defer stop()
	found := poll.New(p, readonly.New(server), a.clock, rand.Float64).Once(ctx)
	switch {
	case ctx.Err() != nil:
		return fail(exitLeft, "interrupted", "graph: stopped by a signal before the server answered")
	case found.Err != nil:
		return fmt.Errorf("graph: %w", found.Err)
	}
	g.Animate(found)
	return nil
}
