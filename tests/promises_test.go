package tests

import (
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

// promisesPage is the page that names for each promise the tests that prove it.
const promisesPage = "docs/promises.md"

// noServer ends the text of a promise about which no server has a say.
const noServer = "(no server)"

// promise is one line of the page and the tests named below it.
type promise struct {
	section, text string
	line          int
	tests         []namedTest
}

// namedTest is a test as the page names it: the folder of its package, its function, and the names of its
// subtests as the go command writes them, those of server versions left out.
type namedTest struct {
	folder, function, subtest string
	line                      int
}

// namedTestLine is a test's line: its name, and maybe a word about it.
var namedTestLine = regexp.MustCompile("^  - `([\\w/]+)\\.(Test\\w+)(?:/([^`]+))?`(?: .+)?$")

// readPromises reads the page. A line that is neither a promise nor a test of one is a fault, from the first
// section on.
func readPromises(page string) (promises []promise, faults []fault) {
	section := ""
	for i, line := range strings.Split(page, "\n") {
		number := i + 1
		switch heading, isHeading := strings.CutPrefix(line, "## "); {
		case isHeading:
			section = heading
		case section == "" || line == "":
		case strings.HasPrefix(line, "- "):
			promises = append(promises, promise{section: section, text: line[2:], line: number})
		default:
			parts := namedTestLine.FindStringSubmatch(line)
			if parts == nil || len(promises) == 0 || promises[len(promises)-1].section != section {
				faults = append(faults, fault{promisesPage, number, "neither a promise nor a test below one: " + line})
				continue
			}
			last := &promises[len(promises)-1]
			last.tests = append(last.tests, namedTest{parts[1], parts[2], parts[3], number})
		}
	}
	return promises, faults
}

// testIndex finds tests in the sources of a module.
type testIndex struct {
	root    fs.FS
	folders map[string][]*ast.File
}

func newTestIndex(root fs.FS) *testIndex {
	return &testIndex{root: root, folders: make(map[string][]*ast.File)}
}

// files are the parsed files of a folder whose names end so.
func (x *testIndex) files(folder, suffix string) []*ast.File {
	if found, ok := x.folders[folder+suffix]; ok {
		return found
	}
	names, err := fs.Glob(x.root, folder+"/*"+suffix)
	if err != nil {
		return nil
	}
	var parsed []*ast.File
	for _, name := range names {
		content, err := fs.ReadFile(x.root, name)
		if err != nil {
			continue
		}
		if file, err := parser.ParseFile(token.NewFileSet(), name, content, parser.SkipObjectResolution); err == nil {
			parsed = append(parsed, file)
		}
	}
	x.folders[folder+suffix] = parsed
	return parsed
}

// find says whether a test is there, and whether it has a server.
func (x *testIndex) find(t namedTest) (found, server bool) {
	if t.folder == "cmd/pipeline" && t.function == "TestScripts" {
		script, err := fs.ReadFile(x.root, "tests/cli/"+t.subtest+".txtar")
		return err == nil, strings.Contains("\n"+string(script), "\nredis ")
	}
	for _, file := range x.files(t.folder, "_test.go") {
		for _, declared := range file.Decls {
			function, ok := declared.(*ast.FuncDecl)
			if ok && function.Recv == nil && function.Name.Name == t.function {
				return x.hasSubtest(t, file, function), importedAs(file, "pipeline/tests/redistest") != ""
			}
		}
	}
	return false, false
}

// hasSubtest looks for the names of a subtest among what is written in its function, in the variables of its
// package, and in the cases of every broker where it runs those.
func (x *testIndex) hasSubtest(t namedTest, file *ast.File, function *ast.FuncDecl) bool {
	if t.subtest == "" {
		return true
	}
	names := make(map[string]bool)
	addNames(names, function)
	tables := x.files(t.folder, "_test.go")
	if importedAs(file, "pipeline/engine/broker/brokertest") != "" {
		tables = append(slices.Clip(tables), x.files("engine/broker/brokertest", "_cases.go")...)
		tables = append(tables, x.files("engine/broker/brokertest", "run.go")...)
	}
	for _, table := range tables {
		for _, declared := range table.Decls {
			if variables, ok := declared.(*ast.GenDecl); ok && variables.Tok == token.VAR {
				addNames(names, variables)
			}
		}
	}
	return isPath(names, t.subtest)
}

// addNames adds every text in a piece of code, as the go command writes the name of a subtest.
func addNames(names map[string]bool, code ast.Node) {
	ast.Inspect(code, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil && text != "" {
				names[strings.ReplaceAll(text, " ", "_")] = true
			}
		}
		return true
	})
}

// isPath says whether a path is put together of names, which may hold slashes themselves.
func isPath(names map[string]bool, subtest string) bool {
	if names[subtest] {
		return true
	}
	for i := range len(subtest) {
		if subtest[i] == '/' && names[subtest[:i]] && isPath(names, subtest[i+1:]) {
			return true
		}
	}
	return false
}

// promiseFaults are the promises without a test on a server, and the tests that are not there.
func promiseFaults(page string, index *testIndex) []fault {
	promises, faults := readPromises(page)
	for _, p := range promises {
		onServer := false
		for _, t := range p.tests {
			found, server := index.find(t)
			onServer = onServer || server
			if !found {
				faults = append(faults, fault{promisesPage, t.line, fmt.Sprintf("there is no test %s.%s/%s", t.folder, t.function, t.subtest)})
			}
		}
		switch {
		case len(p.tests) == 0:
			faults = append(faults, fault{promisesPage, p.line, "no test proves it: " + p.text})
		case !onServer && !strings.HasSuffix(p.text, noServer):
			faults = append(faults, fault{promisesPage, p.line, "no test proves it on a server: " + p.text})
		}
	}
	return faults
}

// missingSections are the sections of docs/delivery.md, and the promises of the README, that the page passes
// over.
func missingSections(page, delivery, readme string) (missing []string) {
	sections := map[string]bool{}
	promises, _ := readPromises(page)
	for _, p := range promises {
		sections[p.section] = true
	}
	for line := range strings.Lines(delivery) {
		if heading, ok := strings.CutPrefix(strings.TrimSpace(line), "## "); ok && !sections[heading] {
			missing = append(missing, heading)
		}
	}
	_, promised, _ := strings.Cut(readme, "## What is promised\n")
	promised, _, _ = strings.Cut(promised, "\n## ")
	for _, bold := range regexp.MustCompile(`(?m)^\d+\. \*\*(.+?)\*\*`).FindAllStringSubmatch(promised, -1) {
		words := strings.TrimRight(bold[1], ".")
		if !slices.ContainsFunc(promises, func(p promise) bool { return strings.Contains(p.text, words) }) {
			missing = append(missing, words)
		}
	}
	return missing
}

func TestEveryPromiseNamesTheTestsThatProveIt(t *testing.T) {
	t.Parallel()
	text := func(name string) string {
		t.Helper()
		content, err := os.ReadFile(path.Join("..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	page := text(promisesPage)
	for _, f := range promiseFaults(page, newTestIndex(os.DirFS(".."))) {
		t.Error(f)
	}
	for _, heading := range missingSections(page, text("docs/delivery.md"), text("README.md")) {
		t.Errorf("%s says nothing of %q", promisesPage, heading)
	}
}
