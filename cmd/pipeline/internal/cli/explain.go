package cli

import (
	"embed"
	"io/fs"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/lang/diag"
	"pipeline/lang/diag/explain"
)

func (a *app) explainCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "explain [CODE]",
		Short: "Explain a code of a report: what was found, why it matters, an example, and what to do",
		Long: "explain prints what there is to say about the code that stands in brackets in a report:\n\n" +
			"  error[unknown_argument]: …\n\n" +
			"Without a code it lists all of them.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(cmd, "%s takes one CODE, here are %d: %s", cmd.CommandPath(), len(args), strings.Join(args, " "))
			}
			return nil
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			var known []string
			if len(args) == 0 {
				for _, c := range listedCodes() {
					known = append(known, string(c.Code)+"\t"+c.Meaning)
				}
			}
			return known, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				a.view.Codes(listedCodes())
				return nil
			}
			return a.explain(cmd, args[0])
		},
	}
}

func (a *app) explain(cmd *cobra.Command, given string) error {
	name := bareCode(given)
	e, ok := explanation(diag.Code(name))
	if !ok {
		var names []string
		for _, c := range listedCodes() {
			names = append(names, string(c.Code))
		}
		wrong := usage(cmd, "there is no code %q; `%s` lists them", name, cmd.CommandPath())
		return wrong.near(diag.Nearest(name, names))
	}
	a.view.Explain(e)
	return nil
}

// bareCode is the code in "error[code]: …", which is easily copied as a whole.
func bareCode(text string) string {
	if _, inner, ok := strings.Cut(text, "["); ok {
		text, _, _ = strings.Cut(inner, "]")
	}
	return strings.TrimSpace(text)
}

// listedCodes are all codes with their meanings: those of pipeline files, then
// those of the command line.
func listedCodes() []view.Code {
	var all []view.Code
	for _, code := range diag.Codes() {
		doc, _ := diag.Describe(code)
		all = append(all, view.Code{Code: code, Meaning: doc.Meaning})
	}
	for _, code := range codeNames() {
		all = append(all, view.Code{Code: code, Meaning: codeDocs[code].meaning})
	}
	return all
}

// explanation is what there is to say about a code; ok is false for one that
// does not exist.
func explanation(code diag.Code) (e view.Explanation, ok bool) {
	e = view.Explanation{Code: code, Text: []string{}}
	page := explain.Of(code)
	if doc, known := diag.Describe(code); known {
		e.Meaning, e.Action = doc.Meaning, doc.Action
	} else if doc, known := codeDocs[code]; known {
		e.Meaning, e.Action, e.Exits = doc.meaning, doc.action, doc.exits
		page = ownPage(code)
	} else {
		return e, false
	}
	if page != nil {
		e.Text, e.Report, e.Part = page.Text, page.Report, !page.Whole
		e.Bad, e.Good = listings(page, page.Bad), listings(page, page.Good)
	}
	return e, true
}

// listings are the command of an example, unless it is the usual one, and its
// files.
func listings(p *explain.Page, e explain.Example) []view.Listing {
	var out []view.Listing
	if e.Source != "" {
		out = append(out, view.Listing{Name: "pipeline.hcl", Text: e.Source})
	}
	for _, files := range [][]explain.File{p.Shared, e.Files} {
		for _, f := range files {
			out = append(out, view.Listing{Name: f.Name, Text: f.Text})
		}
	}
	if e.Command != explain.Command {
		out = append(out, view.Listing{Text: "$ " + e.Command})
	}
	return out
}

//go:embed pages/*.txtar
var embeddedPages embed.FS

// ownPages are the pages of the command line's codes that need no server.
var ownPages = sync.OnceValue(func() []*explain.Page {
	dir, err := fs.Sub(embeddedPages, "pages")
	if err != nil {
		panic(err) // the name is a constant
	}
	pages, err := explain.Read(dir)
	if err != nil {
		panic(err) // the tests read every page
	}
	return pages
})

// ownPage is the page of a code of the command line, or nil.
func ownPage(code diag.Code) *explain.Page {
	for _, p := range ownPages() {
		if p.Code == code {
			return p
		}
	}
	return nil
}
