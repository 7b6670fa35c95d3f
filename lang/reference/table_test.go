package reference_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"pipeline/lang/diag"
	"pipeline/lang/schema"
)

// silent are the arguments that leave no trace in a loaded pipeline, each with
// a value that shows that it is read all the same.
var silent = map[string]string{
	"pipeline.language": "2", "variable.type": "5", "variable.default": "nothing.here", "variable.description": "5", "variable.sensitive": "5",
}

// TestDocumentedIsDecoded: every argument of the table is read with the value
// of its example, and makes a difference.
func TestDocumentedIsDecoded(t *testing.T) {
	t.Parallel()
	for _, c := range chains() {
		b := c[len(c)-1]
		if b.Later() {
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			without, problems := load(c.wrap("", ""))
			if problems != nil {
				t.Fatalf("without arguments: %v\n%s", problems, c.wrap("", ""))
			}
			for _, a := range b.Args {
				switch wrong := silent[b.Name+"."+a.Name]; {
				case a.Required:
					missing(t, c, a)
				case wrong != "":
					readable(t, c, a)
					if _, problems := load(c.wrap(a.Name+" = "+wrong, a.Name)); problems == nil {
						t.Errorf("%s = %s is not read", a.Name, wrong)
					}
				case b.Name+"."+a.Name == "handler.input":
					// It is for WASM modules, and refused beside a script.
					readable(t, c, a)
				default:
					text := c.wrap(a.Name+" = "+a.Example, a.Name)
					with, problems := load(text)
					if problems != nil {
						t.Errorf("%s = %s: %v\n%s", a.Name, a.Example, problems, text)
					}
					if reflect.DeepEqual(with, without) {
						t.Errorf("%s = %s changes nothing", a.Name, a.Example)
					}
				}
			}
		})
	}
}

// missing checks that a required argument is missed.
func missing(t *testing.T, c chain, a *schema.Arg) {
	t.Helper()
	_, problems := load(c.wrap("", a.Name))
	for _, d := range problems {
		if d.Code == diag.MissingArgument && strings.Contains(d.Summary, a.Name) {
			return
		}
	}
	t.Errorf("without %s: %v", a.Name, problems)
}

// readable checks that an argument is known and its example of its type.
func readable(t *testing.T, c chain, a *schema.Arg) {
	t.Helper()
	_, problems := load(c.wrap(a.Name+" = "+a.Example, a.Name))
	for _, d := range problems {
		if d.Code != diag.Conflict {
			t.Errorf("%s = %s: %s", a.Name, a.Example, d.Summary)
		}
	}
}

// TestDecodedIsDocumented: every argument and block that the decoding code asks
// for by name stands in the table, and the other way round.
func TestDecodedIsDocumented(t *testing.T) {
	t.Parallel()
	args, blocks := asked(t)
	documentedArgs, documentedBlocks := map[string]bool{}, map[string]bool{}
	for _, table := range []*schema.Block{schema.Pipeline, schema.Test} {
		table.Walk(func(_ []string, b *schema.Block) {
			documentedBlocks[b.Name] = true
			for _, a := range b.Args {
				documentedArgs[a.Name] = true
			}
		})
	}
	compare := func(what string, asked, documented map[string]bool) {
		for name := range asked {
			if !documented[name] {
				t.Errorf("the %s %q is decoded and not documented", what, name)
			}
		}
		for name := range documented {
			if name != "" && !asked[name] {
				t.Errorf("the %s %q is documented and not decoded", what, name)
			}
		}
	}
	for _, read := range []string{"language", "description"} {
		// Checked by the table alone; nothing asks for them.
		args[read] = true
	}
	blocks["locals"] = true
	compare("argument", args, documentedArgs)
	for name := range blocks {
		if !documentedBlocks[name] && !documentedArgs[name] {
			t.Errorf("the block %q is decoded and not documented", name)
		}
	}
	for name := range documentedBlocks {
		if name != "" && !blocks[name] {
			t.Errorf("the block %q is documented and not decoded", name)
		}
	}
}

// asked gathers the names in calls such as n.val("name") and n.one("name") of
// package lang.
func asked(t *testing.T) (args, blocks map[string]bool) {
	t.Helper()
	args, blocks = map[string]bool{}, map[string]bool{}
	files, err := filepath.Glob("../*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no code of lang: %v", err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch x := n.(type) {
			case *ast.CallExpr:
				askedBy(x, args, blocks)
			case *ast.IndexExpr:
				if sel, ok := x.X.(*ast.SelectorExpr); ok && sel.Sel.Name == "args" {
					note(x.Index, args)
				}
			}
			return true
		})
	}
	return args, blocks
}

func askedBy(call *ast.CallExpr, args, blocks map[string]bool) {
	sel, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	switch sel.Sel.Name {
	case "val", "Arg":
		note(call.Args[0], args)
	case "compile":
		note(call.Args[1], args)
	case "one", "all":
		note(call.Args[0], blocks)
	}
}

// note adds a name that stands in quotes.
func note(e ast.Expr, to map[string]bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return
	}
	if name, err := strconv.Unquote(lit.Value); err == nil {
		to[name] = true
	}
}
