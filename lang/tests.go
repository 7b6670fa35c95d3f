package lang

import (
	"io/fs"
	"maps"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
	"pipeline/lang/testspec"
)

// LoadTests reads the tests of the pipeline at path and checks all that can be
// told without running them. The suite is nil when the report has errors.
//
// The tests of a directory are its *_test.hcl files. Those of a file shop.hcl
// are shop_test.hcl and shop_*_test.hcl beside it, but for those that belong to a
// file with a longer name, as shop_eu_test.hcl belongs to shop_eu.hcl. The path
// may also be one test file; its pipeline is then the file that it belongs to,
// or else the directory.
//
// The report has the errors of the pipeline that keep a test from running, and
// everything about the test files. Warnings about the pipeline are left to Load.
// The options are those of Load: what a test sets in its variables block comes
// before all of them.
func LoadTests(fsys fs.FS, path string, o Options) (*testspec.Suite, *diag.Report) {
	s := &suiteLoader{
		fsys: fsys, opts: o, report: &diag.Report{}, suite: &testspec.Suite{},
		variants: map[string]*variant{}, names: map[string]diag.Range{},
	}
	s.load(path)
	if s.report.HasErrors() {
		return nil, s.report
	}
	return s.suite, s.report
}

// suiteLoader is one run of LoadTests.
type suiteLoader struct {
	fsys   fs.FS
	opts   Options
	report *diag.Report
	suite  *testspec.Suite
	// base is the pipeline without variables of a test; variants are all that
	// were loaded, by their variables.
	base     *variant
	variants map[string]*variant
	// names are the labels of tests, with where they stand.
	names map[string]diag.Range
	// items counts what all tests publish together.
	items int
}

// variant is the pipeline as loaded with the variables of some tests.
type variant struct {
	loader   *loader
	pipeline *spec.Pipeline
	// included: its errors are in the report of the suite.
	included bool
}

// testFile is one test file.
type testFile struct {
	suite  *suiteLoader
	loader *loader
	// scopes are the values of names, by the variant that they hold for.
	scopes map[*variant]*eval.Scope
}

func (s *suiteLoader) load(path string) {
	if !s.find(path) {
		return
	}
	s.base = s.variant(nil)
	if s.base.loader.root == nil {
		s.include(s.base)
		return
	}
	var files []*testFile
	for _, name := range s.suite.Files {
		if f := s.read(name); f != nil {
			files = append(files, f)
		}
	}
	tests := 0
	for _, f := range files {
		for _, n := range f.loader.root.all("test") {
			tests++
			f.test(n)
		}
		f.unused()
	}
	if tests == 0 && !s.report.HasErrors() {
		s.report.Add(diag.Diagnostic{
			Code: diag.MissingBlock, Range: diag.Range{File: s.suite.Files[0]},
			Summary: "there is no test in " + list(s.suite.Files), Detail: "Add one: test \"what it shows\" { … }.",
		})
	}
}

// variant is the pipeline with these values of variables, loaded once.
func (s *suiteLoader) variant(given map[string]raw) *variant {
	key := variantKey(given)
	if v := s.variants[key]; v != nil {
		return v
	}
	l := newLoader(s.fsys, s.suite.Pipeline, s.opts, &diag.Report{})
	l.given = given
	v := &variant{loader: l, pipeline: l.load()}
	if l.report.HasErrors() {
		v.pipeline = nil
	}
	// Secrets stay hidden in all that is said of the tests.
	s.report.Include(l.report, func(diag.Diagnostic) bool { return false })
	s.variants[key] = v
	return v
}

// include reports the errors of a variant that a test needs.
func (s *suiteLoader) include(v *variant) {
	if v.included {
		return
	}
	v.included = true
	s.report.Include(v.loader.report, func(d diag.Diagnostic) bool { return d.Severity == diag.Error })
}

// read reads and checks the structure of one test file; nil when it cannot be
// read.
func (s *suiteLoader) read(name string) *testFile {
	l := newLoader(s.fsys, name, s.opts, s.report)
	l.table, l.refs, l.named, l.lost = schema.Test, s.base.loader.root, s.base.loader.named, maps.Clone(s.base.loader.lost)
	f, ok := l.readFile(name)
	if f == nil || !ok {
		return nil
	}
	l.files = []*file{f}
	l.root = &node{schema: schema.Test, args: noArguments()}
	l.body(l.root, f, f.body)
	t := &testFile{suite: s, loader: l, scopes: map[*variant]*eval.Scope{}}
	for _, n := range l.root.all("test") {
		t.structure(n)
	}
	return t
}
