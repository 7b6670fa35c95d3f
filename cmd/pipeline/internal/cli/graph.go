package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/topology"
)

// graphFormats are the words of graph --format.
var graphFormats = []string{"text", "mermaid", "dot", "svg", "json"}

func (a *app) graphCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "graph PATH",
		Short: "Draw a pipeline: streams, groups, handlers, replies, dead letters",
		Long: "graph draws what a pipeline file declares: which groups read which streams, which handlers their subscriptions\n" +
			"have, and where replies and dead letters go. The same file is always drawn the same.\n\n" +
			"  text     a tree (the default)\n" +
			"  mermaid  a flowchart for wikis and forges\n" +
			"  dot      for Graphviz\n" +
			"  svg      a picture; it follows the reader's light or dark scheme\n" +
			"  json     nodes and edges",
		Example: "  pipeline graph examples/payments.hcl\n" +
			"  pipeline graph examples/payments.hcl --format svg > payments.svg\n" +
			"  pipeline graph examples/orders --format dot | dot -Tpng -o orders.png",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.graph(cmd, args[0], format) },
	}
	cmd.Flags().StringVar(&format, "format", graphFormats[0], "print as `FORMAT`: text, mermaid, dot, svg, json")
	complete(cmd, "format", words(graphFormats...))
	return cmd
}

func (a *app) graph(cmd *cobra.Command, path, format string) error {
	if err := oneOf(cmd, "format", format, graphFormats...); err != nil {
		return err
	}
	p, err := a.load(cmd, path)
	if err != nil {
		return err
	}
	g := topology.New(p)
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
