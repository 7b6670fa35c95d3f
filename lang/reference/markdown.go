package reference

import (
	"bytes"
	_ "embed" // for the prose
	"fmt"
	"slices"
	"strings"
	"text/template"

	"pipeline/lang"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

//go:embed language.md.tmpl
var prose string

// Example is a worked example: a pipeline file and the script of its handlers.
type Example struct{ Pipeline, Script string }

// crossChecks are the codes of what is checked across blocks, in the order of
// the reference.
var crossChecks = []diag.Code{
	diag.CompetingReaders, diag.ReplyLoop, diag.DeadLetterLoop, diag.BlockAboveDrain, diag.ReservedName, diag.DuplicateName,
	diag.TimeoutAboveMinIdle, diag.DifferentMinIdle, diag.NoClaim, diag.NoDeadLetter, diag.RetentionUnprotected,
	diag.SlotsDiffer, diag.UnreachableRoute, diag.ConstantKey, diag.HoldWithoutKey, diag.HoldDiffers, diag.HoldLimitUnused,
	diag.Unused, diag.NothingEnabled,
}

// Markdown is the language reference, with the worked example in it.
func Markdown(example Example) (string, error) {
	t, err := template.New("language").Funcs(template.FuncMap{
		"example":     func() Example { return example },
		"blocks":      func() string { return blockSections(schema.Pipeline) },
		"tree":        func() string { return tree(schema.Pipeline) },
		"functions":   functionTable,
		"types":       func() string { return formTable("type", eval.TypeDocs()) },
		"durations":   func() string { return formList(eval.DurationUnits()) },
		"sizes":       func() string { return formList(eval.SizeUnits()) },
		"roots":       func() string { return formTable("name", eval.EntryRoots()) },
		"forms":       func() string { return formTable("form", eval.EntryForms()) },
		"checks":      checkTable,
		"unavailable": unavailableList,
		"limits":      lang.SyntaxLimits,
	}).Parse(prose)
	if err != nil {
		return "", fmt.Errorf("language reference: %w", err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, nil); err != nil {
		return "", fmt.Errorf("language reference: %w", err)
	}
	return out.String(), nil
}

// tree shows which block stands in which.
func tree(table *schema.Block) string {
	var b strings.Builder
	seen := map[string]bool{}
	table.Walk(func(path []string, s *schema.Block) {
		key := strings.Join(path, ".")
		if len(path) == 0 || seen[key] {
			return
		}
		seen[key] = true
		indent := strings.Repeat("  ", len(path)-1)
		fmt.Fprintf(&b, "%s%-*s %s\n", indent, 26-len(indent), title(s), howOften(s))
	})
	return strings.TrimRight(b.String(), "\n")
}

// title is how a block is written: stream "name".
func title(b *schema.Block) string {
	switch {
	case b.Name == "grant":
		return b.Name + ` "kind"`
	case b.Variant != "":
		return b.Name + ` "` + strings.Join(b.Labels[0].Allowed, `" or "`) + `"`
	case len(b.Labels) > 0:
		return b.Name + ` "` + b.Labels[0].Name + `"`
	}
	return b.Name
}

// howOften says how often a block may stand in its parent.
func howOften(b *schema.Block) string {
	switch {
	case b.Name == "pipeline":
		return "exactly once"
	case b.Min > 0:
		return "once or more"
	case b.Max == 1:
		return "at most once"
	}
	return "any number of times"
}

// blockSections are the sections of all blocks.
func blockSections(table *schema.Block) string {
	var b strings.Builder
	var seen []*schema.Block
	table.Walk(func(path []string, s *schema.Block) {
		if len(path) == 0 || slices.Contains(seen, s) || s.Later() {
			return
		}
		seen = append(seen, s)
		b.WriteString(section(path, s))
	})
	return strings.TrimRight(b.String(), "\n")
}

// section is the section of one block.
func section(path []string, s *schema.Block) string {
	var b strings.Builder
	name := title(s)
	if s.Variant != "" {
		name = fmt.Sprintf("%s %q", s.Name, s.Variant)
	}
	fmt.Fprintf(&b, "%s %s\n\n", strings.Repeat("#", min(len(path)+2, 4)), code(name))
	if s.Unavailable {
		b.WriteString("*Not in this version: a pipeline that has the block is refused.*\n\n")
	}
	b.WriteString(s.Doc)
	if len(path) > 1 {
		fmt.Fprintf(&b, " It stands in %s, %s.", code(strings.Join(path[:len(path)-1], " → ")), howOften(s))
	}
	b.WriteString("\n\n")
	for _, pair := range s.Excludes {
		fmt.Fprintf(&b, "%s and %s exclude each other.\n\n", code(pair[0]), code(pair[1]))
	}
	b.WriteString("```hcl\n" + s.Example + "\n```\n\n")
	if len(s.Args) > 0 {
		b.WriteString(argTable(s) + "\n")
	} else if !s.Free {
		b.WriteString("It takes no arguments.\n\n")
	}
	if later := laterOf(s); later != nil {
		fmt.Fprintf(&b, "Reserved for later versions: %s.\n\n", and(later))
	}
	return b.String()
}

// laterOf are the nested blocks that no version has yet.
func laterOf(s *schema.Block) []string {
	var out []string
	for _, c := range s.Blocks {
		if c.Later() {
			out = append(out, code(fmt.Sprintf("%s %q", c.Name, c.Variant)))
		}
	}
	return out
}

// argTable is the table of a block's arguments.
func argTable(s *schema.Block) string {
	var b strings.Builder
	b.WriteString("| argument | value | default | meaning |\n|---|---|---|---|\n")
	for _, a := range s.Args {
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(a.Name), cell(valueType(a)), cell(defaultValue(a)), cell(meaning(a)))
	}
	return b.String()
}

// meaning is what an argument is for, with all that no other column says.
func meaning(a *schema.Arg) string {
	text := a.Doc
	switch {
	case a.Why != "" && a.Required:
		text += " It has no default: " + a.Why + "."
	case a.Why != "":
		text += " The bound is there because " + a.Why + "."
	}
	if exampleNeeded(a) {
		text += " Such as " + code(a.Example) + "."
	}
	switch {
	case a.Unavailable:
		text += " *Not in this version: a pipeline that sets it is refused.*"
	case a.UnavailableValues != nil:
		words := make([]string, len(a.UnavailableValues))
		for i, v := range a.UnavailableValues {
			words[i] = code(literal(a, v))
		}
		text += " *Not in this version: a pipeline with " + either(words) + " is refused.*"
	}
	if a.Since != schema.Pipeline.Since {
		text += " Since " + a.Since + "."
	}
	return text
}

// exampleNeeded reports whether the kind of an argument leaves open how it is
// written.
func exampleNeeded(a *schema.Arg) bool {
	switch a.Kind {
	case schema.Type, schema.Expression, schema.Headers, schema.Condition, schema.Strings, schema.Any:
		return true
	}
	return false
}

// formTable is a table of forms.
func formTable(head string, docs []eval.FormDoc) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | meaning |\n|---|---|\n", head)
	for _, d := range docs {
		fmt.Fprintf(&b, "| %s | %s |\n", cell(code(d.Form)), cell(d.Doc))
	}
	return strings.TrimRight(b.String(), "\n")
}

// formList is a list of units within a sentence.
func formList(docs []eval.FormDoc) string {
	words := make([]string, len(docs))
	for i, d := range docs {
		words[i] = code(d.Form) + " (" + d.Doc + ")"
	}
	return and(words)
}

// functionTable is the table of all functions.
func functionTable() string {
	var b strings.Builder
	b.WriteString("| function | gives | for example |\n|---|---|---|\n")
	for _, f := range eval.FunctionDocs() {
		doc, example := f.Doc, code(f.Example)
		if f.Where != "" {
			doc += " Only in " + f.Where + "."
		}
		if f.Result != "" {
			example += " is " + code(f.Result)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(code(f.Signature)), cell(doc), cell(example))
	}
	return strings.TrimRight(b.String(), "\n")
}

// checkTable is the table of what is checked across blocks.
func checkTable() string {
	var b strings.Builder
	b.WriteString("| code | what is found | what to do |\n|---|---|---|\n")
	for _, c := range crossChecks {
		d, _ := diag.Describe(c)
		fmt.Fprintf(&b, "| %s | %s | %s |\n", code(string(c)), cell(d.Meaning), cell(d.Action))
	}
	return strings.TrimRight(b.String(), "\n")
}

// unavailableList lists all that the language has and this version has not.
func unavailableList() string {
	var b strings.Builder
	for _, u := range Unavailable() {
		fmt.Fprintf(&b, "- %s\n", u)
	}
	return strings.TrimRight(b.String(), "\n")
}

// Unavailable names what the language knows and this version refuses, as a
// reader would look for it.
func Unavailable() []string {
	var out []string
	schema.Pipeline.Walk(func(path []string, s *schema.Block) {
		where := strings.Join(path, " → ")
		switch {
		case s.Later():
			out = append(out, code(fmt.Sprintf("%s %q", where, s.Variant))+": "+s.Doc)
			return
		case s.Unavailable:
			out = append(out, code(where)+": "+s.Doc)
			return
		}
		for _, a := range s.Args {
			if a.Unavailable {
				out = append(out, code(where+" → "+a.Name)+": "+a.Doc)
			}
			for _, v := range a.UnavailableValues {
				out = append(out, code(where+" → "+a.Name+" = "+literal(a, v))+": "+a.Doc)
			}
		}
	})
	return out
}
