package reference

import (
	"bytes"
	_ "embed" // for the prose
	"fmt"
	"strings"
	"text/template"

	"pipeline/lang/schema"
	"pipeline/lang/testspec"
)

//go:embed testing.md.tmpl
var testingProse string

// Testing is the reference of tests, with the tests of the worked example in it.
func Testing(example string) (string, error) {
	t, err := template.New("testing").Funcs(template.FuncMap{
		"example": func() string { return example },
		"tree":    func() string { return tree(schema.Test) },
		"blocks":  func() string { return blockSections(schema.Test) },
		"state":   stateTables,
	}).Parse(testingProse)
	if err != nil {
		return "", fmt.Errorf("reference of tests: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, nil); err != nil {
		return "", fmt.Errorf("reference of tests: %w", err)
	}
	return out.String(), nil
}

// State is a path that conditions of tests can read.
type State struct {
	// Path begins with the kind of block: "group.NAME.pending[*].idle".
	Path string `json:"path"`
	Type string `json:"type"`
	Doc  string `json:"doc"`
	// Allowed are the only values, if there are any.
	Allowed []string `json:"allowed,omitempty"`
}

// states are all paths of the state.
func states() []State {
	var out []State
	for _, root := range testspec.Roots {
		below(root.Name+".NAME.", root.Shape, &out)
	}
	return out
}

// below adds the members of an object of the state, and those below them.
func below(path string, s *testspec.Shape, out *[]State) {
	for _, m := range s.Fields {
		here, what, elem := path+m.Name, string(m.Shape.Kind), m.Shape
		if m.Shape.Kind == testspec.KindList {
			elem = m.Shape.Elem
			here, what = here+"[*]", "list of "+plural(elem)
		}
		*out = append(*out, State{here, what, m.Doc, elem.Words})
		below(here+".", elem, out)
	}
}

// stateTables are the tables of what asserts can read.
func stateTables() string {
	var b strings.Builder
	for _, root := range testspec.Roots {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n| path | what | meaning |\n|---|---|---|\n", code(root.Name+".NAME"), root.Doc)
		var paths []State
		below("", root.Shape, &paths)
		for _, p := range paths {
			doc := p.Doc
			if p.Allowed != nil && !strings.Contains(doc, "`") {
				words := make([]string, len(p.Allowed))
				for i, w := range p.Allowed {
					words[i] = code(w)
				}
				doc += " One of " + either(words) + "."
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(code(p.Path)), cell(p.Type), cell(doc))
		}
		b.WriteString("\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

func plural(s *testspec.Shape) string {
	switch s.Kind {
	case testspec.KindBody:
		return "bodies"
	case testspec.KindString:
		return "strings"
	}
	return string(s.Kind) + "s"
}
