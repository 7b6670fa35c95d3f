package cli

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipeline/lang/diag"
)

// TestCodesAreDocumented reads this package and the engine: every word that a
// command can end with, or print a diagnostic with, stands in codeDocs with the
// exit code that it is used with, and nothing else does.
func TestCodesAreDocumented(t *testing.T) {
	used := map[string][]string{}
	for _, dir := range []string{".", filepath.Join("..", "plan"), filepath.Join("..", "findings"), filepath.Join("..", "doctor"),
		filepath.Join("..", "..", "..", "..", "engine"),
	} {
		for code, exits := range usedCodes(t, dir) {
			used[code] = append(used[code], exits...)
		}
	}
	for _, code := range slices.Sorted(maps.Keys(used)) {
		doc, ok := codeDocs[diag.Code(code)]
		if !ok {
			t.Errorf("the code %q is not in the table of codes.go; add its exit codes, what it means and what to do", code)
		}
		for _, exit := range used[code] {
			if n, known := exitNames[exit]; known && !slices.Contains(doc.exits, n) {
				t.Errorf("%s is used with %s, which its entry in codes.go lacks", code, exit)
			}
		}
	}
	for _, code := range codeNames() {
		if used[string(code)] == nil {
			t.Errorf("the table of codes.go has %q, which is not used", code)
		}
		doc := codeDocs[code]
		if !strings.HasSuffix(doc.meaning, ".") || !strings.HasSuffix(doc.action, ".") {
			t.Errorf("%s: the texts are no sentences", code)
		}
		if _, taken := diag.Describe(code); taken {
			t.Errorf("%s is also a code of pipeline files", code)
		}
	}
	if len(used) < 15 {
		t.Errorf("only %d codes found: %v", len(used), used)
	}
}

var exitNames = map[string]int{
	"exitDone": exitDone, "exitFailed": exitFailed, "exitUsage": exitUsage, "exitDifference": exitDifference, "exitServer": exitServer, "exitLeft": exitLeft,
}

// usedCodes finds the words in the files of a directory, with the names of the
// exit codes beside them: the second argument of fail, the field Code of a
// composite literal, a string returned after an exit code, a constant whose name
// begins with code, and the words of serverErrors.
func usedCodes(t *testing.T, dir string) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	add := func(e ast.Expr, exit string) {
		if word, ok := stringLiteral(e); ok && word != "" {
			found[word] = append(found[word], exit)
		}
	}
	notTest := func(f fs.FileInfo) bool { return !strings.HasSuffix(f.Name(), "_test.go") }
	packages, err := parser.ParseDir(token.NewFileSet(), dir, notTest, 0) //nolint:staticcheck // no types are needed
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range packages {
		ast.Inspect(p, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CallExpr:
				if name, ok := n.Fun.(*ast.Ident); ok && name.Name == "fail" && len(n.Args) > 1 {
					add(n.Args[1], identName(n.Args[0]))
				}
			case *ast.KeyValueExpr:
				if identName(n.Key) == "Code" {
					add(n.Value, "")
				}
			case *ast.ReturnStmt:
				if len(n.Results) == 2 && strings.HasPrefix(identName(n.Results[0]), "exit") {
					add(n.Results[1], identName(n.Results[0]))
				}
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if strings.HasPrefix(strings.ToLower(name.Name), "code") && i < len(n.Values) {
						add(n.Values[i], "")
					}
				}
			}
			return true
		})
	}
	if dir == "." {
		for _, known := range serverErrors {
			found[known.word] = append(found[known.word], "exitServer")
		}
	}
	return found
}

func identName(e ast.Expr) string {
	if name, ok := e.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}

func stringLiteral(e ast.Expr) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(lit.Value)
	return text, err == nil
}

// TestOwnPagesHaveCodes checks that each page of this package explains one of
// its codes.
func TestOwnPagesHaveCodes(t *testing.T) {
	for _, p := range ownPages() {
		if _, ok := codeDocs[p.Code]; !ok {
			t.Errorf("pages/%s.txtar explains a code that does not exist", p.Code)
		}
	}
	entries, err := os.ReadDir("pages")
	if err != nil || len(entries) != len(ownPages()) {
		t.Errorf("%d files, %d pages: %v", len(entries), len(ownPages()), err)
	}
}
