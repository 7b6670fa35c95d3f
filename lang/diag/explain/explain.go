// Package explain holds a page for every code of package diag: why the problem
// matters, a file that has it, the report that the file prints, and the file
// mended. The pages are archives in the folder pages; docs/diagnostics.md and
// `pipeline explain` are made of them, and a test runs every one.
package explain

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/txtar"

	"pipeline/lang/diag"
)

//go:embed pages/*.txtar shop.hcl bill.lua
var embedded embed.FS

// Command is what an example runs unless it says otherwise.
const Command = "pipeline validate ."

// Page explains one code.
type Page struct {
	Code diag.Code
	// Text is in paragraphs of Markdown, one line each.
	Text []string
	// Whole says that the examples are whole pipelines; otherwise they are parts
	// of Shop.
	Whole bool
	// Beside are codes that Bad cannot but report too.
	Beside []string
	// Shared are files that both examples need besides their own.
	Shared    []File
	Bad, Good Example
	// Report is what Bad prints.
	Report string
}

// Example is a pipeline that has a problem, or the same without it.
type Example struct {
	// Source is the pipeline file, or the part of Shop that is replaced.
	Source string
	// Files are others beside it.
	Files []File
	// Command is the command line, beginning with the environment it needs.
	Command string
}

// File is one file of an example.
type File struct{ Name, Text string }

// Shop is the pipeline that examples are parts of, and its script.
func Shop() (pipeline string, script File) {
	read := func(name string) string {
		text, err := embedded.ReadFile(name)
		if err != nil {
			panic(err) // the compiler has checked that it is there
		}
		return string(text)
	}
	return read("shop.hcl"), File{"bill.lua", read("bill.lua")}
}

// All are the pages of the codes of package diag, sorted by code.
func All() []*Page { return pages() }

// Of is the page of a code, or nil.
func Of(code diag.Code) *Page {
	for _, p := range All() {
		if p.Code == code {
			return p
		}
	}
	return nil
}

var pages = sync.OnceValue(func() []*Page {
	dir, err := fs.Sub(embedded, "pages")
	if err != nil {
		panic(err) // the name is a constant
	}
	read, err := Read(dir)
	if err != nil {
		panic(err) // the tests read every page
	}
	return read
})

// Read reads the archives of a directory, sorted by code.
func Read(dir fs.FS) ([]*Page, error) {
	names, err := fs.Glob(dir, "*.txtar")
	if err != nil {
		return nil, err
	}
	slices.Sort(names)
	out := make([]*Page, 0, len(names))
	for _, name := range names {
		data, err := fs.ReadFile(dir, name)
		if err != nil {
			return nil, err
		}
		p, err := Parse(strings.TrimSuffix(path.Base(name), ".txtar"), data)
		if err != nil {
			return nil, fmt.Errorf("page %s: %w", name, err)
		}
		out = append(out, p)
	}
	return out, nil
}

// Parse reads one page; the test of this package describes the format.
func Parse(code string, data []byte) (*Page, error) {
	archive := txtar.Parse(data)
	p := &Page{
		Code: diag.Code(code),
		Bad:  Example{Command: Command}, Good: Example{Command: Command},
	}
	for paragraph := range strings.SplitSeq(string(archive.Comment), "\n\n") {
		if err := p.paragraph(strings.Join(strings.Fields(paragraph), " ")); err != nil {
			return nil, err
		}
	}
	for _, f := range archive.Files {
		if err := p.file(f.Name, string(f.Data)); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// paragraph takes a paragraph of the comment: text, or an option.
func (p *Page) paragraph(text string) error {
	beside, isBeside := strings.CutPrefix(text, "@beside ")
	switch {
	case text == "":
	case text == "@whole":
		p.Whole = true
	case isBeside:
		p.Beside = strings.Fields(beside)
	case strings.HasPrefix(text, "@"):
		return fmt.Errorf("the option %q is none that a page has", text)
	default:
		p.Text = append(p.Text, text)
	}
	return nil
}

// file puts a file of the archive where it belongs.
func (p *Page) file(name, text string) error {
	side, rest, nested := strings.Cut(name, "/")
	example := map[string]*Example{"bad": &p.Bad, "good": &p.Good}[side]
	switch {
	case name == "bad.hcl":
		p.Bad.Source = text
	case name == "good.hcl":
		p.Good.Source = text
	case name == "report":
		p.Report = text
	case name == "command":
		p.Bad.Command = strings.TrimSpace(text)
		p.Good.Command = p.Bad.Command
	case name == "bad.command":
		p.Bad.Command = strings.TrimSpace(text)
	case name == "good.command":
		p.Good.Command = strings.TrimSpace(text)
	case nested && example != nil:
		example.Files = append(example.Files, File{rest, text})
	case strings.HasPrefix(name, "bad") || strings.HasPrefix(name, "good"):
		return fmt.Errorf("the file %s is none that a page has", name)
	default:
		p.Shared = append(p.Shared, File{name, text})
	}
	return nil
}
