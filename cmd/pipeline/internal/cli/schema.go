package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	worked "pipeline/examples"
	"pipeline/lang/reference"
)

// schemaFormats are the words of schema --format.
var schemaFormats = []string{"json", "jsonschema", "markdown"}

func (a *app) schemaCommand() *cobra.Command {
	var format string
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print the pipeline language: its blocks, arguments, types and functions",
		Long: "schema prints what the language of pipeline files consists of, made from the table that files are read by:\n\n" +
			"  json        every block, argument, type, default, bound, function and code, as one document (the default)\n" +
			"  jsonschema  a JSON Schema (draft 2020-12) of a pipeline in the shape of HCL's JSON syntax, for editors\n" +
			"  markdown    the language reference",
		Example: "  pipeline schema | jq '.blocks[].name'\n" +
			"  pipeline schema --format jsonschema > pipeline.schema.json\n" +
			"  pipeline schema --format markdown | less",
		Args: noArgument,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := oneOf(cmd, "format", format, schemaFormats...); err != nil {
				return err
			}
			return a.schema(format)
		},
	}
	cmd.Flags().StringVar(&format, "format", schemaFormats[0], "print as `FORMAT`: json, jsonschema, markdown")
	complete(cmd, "format", words(schemaFormats...))
	return cmd
}

func (a *app) schema(format string) error {
	var document any = reference.Describe(version)
	switch format {
	case "jsonschema":
		document = reference.JSONSchema(version)
	case "markdown":
		text, err := reference.Markdown(reference.Example{Pipeline: worked.Payments, Script: worked.PaymentsScript})
		if err != nil {
			return err
		}
		document = text
	}
	if err := a.view.Document("schema", format, document); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}
