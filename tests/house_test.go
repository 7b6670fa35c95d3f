package tests

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// longest is how many lines a file of code may have.
const longest = 600

// clockFunctions are the functions of package time that read or wait on the machine's clock. Code takes a
// clock.Clock instead, so that a test can hold time still.
var clockFunctions = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}

// machinePath finds the absolute path of somebody's machine. Its parts are put together here so that this
// file does not hold one.
var machinePath = regexp.MustCompile(`(^|[^\w.~/-])/(` + strings.Join([]string{"home", "root", "work", "Users"}, "|") + `)/[\w.-]`)

// fault is a place in a file that breaks a rule of the house.
type fault struct {
	file string
	line int
	what string
}

func (f fault) String() string { return fmt.Sprintf("%s:%d: %s", f.file, f.line, f.what) }

// faultsOf checks one file by its path in the module and its content.
func faultsOf(name string, content []byte) []fault {
	faults := machinePaths(name, content)
	if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
		return faults
	}
	if lines := bytes.Count(content, []byte("\n")); lines > longest {
		faults = append(faults, fault{name, lines, fmt.Sprintf("longer than %d lines; one idea a file", longest)})
	}
	if strings.HasPrefix(name, "engine/clock/") || strings.HasPrefix(name, "tests/") {
		return faults
	}
	return append(faults, clockUses(name, content)...)
}

func machinePaths(name string, content []byte) []fault {
	var faults []fault
	if bytes.IndexByte(content, 0) >= 0 {
		return nil // a built module, a picture
	}
	number := 0
	for line := range bytes.Lines(content) {
		number++
		if machinePath.Match(line) {
			faults = append(faults, fault{name, number, "names a path of one machine"})
		}
	}
	return faults
}

// clockUses finds the clock functions in a file, under whatever name it imports package time. Support for
// tests, which is what imports package testing, may wait for real servers.
func clockUses(name string, content []byte) []fault {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, content, parser.SkipObjectResolution)
	if err != nil {
		return []fault{{name, 1, err.Error()}}
	}
	clock := importedAs(file, "time")
	if clock == "" || importedAs(file, "testing") != "" {
		return nil
	}
	var faults []fault
	ast.Inspect(file, func(node ast.Node) bool {
		if selector, ok := node.(*ast.SelectorExpr); ok && slices.Contains(clockFunctions, selector.Sel.Name) {
			if from, ok := selector.X.(*ast.Ident); ok && from.Name == clock {
				what := fmt.Sprintf("uses time.%s; take a clock.Clock", selector.Sel.Name)
				faults = append(faults, fault{name, files.Position(selector.Pos()).Line, what})
			}
		}
		return true
	})
	return faults
}

// importedAs is the name under which a file knows a package, "" if it does not import it.
func importedAs(file *ast.File, pkg string) string {
	for _, spec := range file.Imports {
		if imported, err := strconv.Unquote(spec.Path.Value); err == nil && imported == pkg {
			if spec.Name != nil {
				return spec.Name.Name
			}
			return path.Base(pkg)
		}
	}
	return ""
}

func TestFilesFollowTheRulesOfTheHouse(t *testing.T) {
	t.Parallel()
	root := os.DirFS("..")
	checked := 0
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name == ".git" || name == ".cache" || entry.Name() == "node_modules" || entry.Name() == "target" {
				return fs.SkipDir
			}
			return nil
		}
		if !entry.Type().IsRegular() || name == ".git" { // a file in a worktree
			return nil
		}
		content, err := fs.ReadFile(root, name)
		if err != nil {
			return err
		}
		checked++
		for _, fault := range faultsOf(name, content) {
			t.Error(fault)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if checked < 10 {
		t.Errorf("only %d files were checked", checked)
	}
}

// TestFaultsAreFound proves that the rules of the house can fail.
func TestFaultsAreFound(t *testing.T) {
	t.Parallel()
	long := "package a\n" + strings.Repeat("\n", longest)
	sleeps := "package a\n\nimport \"time\"\n\nfunc f() { time.Sleep(1) }\n"
	tests := map[string]struct {
		file, content string
		want          []int // lines
	}{
		"long file":                 {"engine/a.go", long, []int{longest + 1}},
		"long test":                 {"engine/a_test.go", long, nil},
		"sleep":                     {"lang/a.go", sleeps, []int{5}},
		"sleep in a test":           {"lang/a_test.go", sleeps, nil},
		"sleep in the clock":        {"engine/clock/a.go", sleeps, nil},
		"sleep below tests":         {"tests/a.go", sleeps, nil},
		"time under another name":   {"cmd/a.go", "package a\n\nimport t \"time\"\n\nvar _ = t.Now\n", []int{5}},
		"a type and a duration":     {"cmd/a.go", "package a\n\nimport \"time\"\n\nvar _ time.Time\nvar _ = time.Second\n", nil},
		"another package's Now":     {"cmd/a.go", "package a\n\nimport time \"pipeline/engine/clock\"\n\nvar _ = time.Now\n", nil},
		"support for tests":         {"engine/broker/brokertest/a.go", "package a\n\nimport (\n\"testing\"\n\"time\"\n)\n\nvar _ = time.Now\nvar _ testing.TB\n", nil},
		"not Go":                    {"lang/a.go", "package", []int{1}},
		"machine path":              {"docs/a.md", "see\n`/" + "home/ann/x`\n", []int{2}},
		"machine path at the start": {"Makefile", "/" + "work/main\n", []int{1}},
		"a path of a URL":           {"docs/a.md", "a.example/" + "home/x and ./" + "work/y and ~/" + "work/z\n", nil},
		"a built module":            {"plugins/a.wasm", "\x00asm /" + "root/x", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []int
			for _, fault := range faultsOf(test.file, []byte(test.content)) {
				got = append(got, fault.line)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("faults in lines %v, want %v", got, test.want)
			}
		})
	}
}
