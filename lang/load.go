// Package lang reads pipeline files: HCL in, a spec.Pipeline and a report of
// diagnostics out. It knows nothing of Redis or of the engines that run
// handlers; compiling a script is injected.
//
// Loading goes through the files once: guard and repair (guard.go, repair.go),
// parse (parse.go), check the structure against the schema (tree.go,
// unknown.go), evaluate arguments (values.go, variables.go), build the
// pipeline (build*.go), check across blocks (check*.go).
//
// The tests beside a pipeline take the same way with a table of their own:
// tests.go, testfiles.go, testtree.go (structure), testcases.go (for_each,
// variables), testbuild.go, testentry.go, testfit.go and testmock.go.
//
// A mistake is repaired in memory where what was meant is certain, so that one
// run shows all the others too; the pipeline is returned only when there is no
// error.
package lang

import (
	"io/fs"

	"github.com/zclconf/go-cty/cty"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

// Options are what a pipeline is loaded with. The zero value loads files that
// need nothing from outside.
type Options struct {
	// Vars are values of --var, by variable. Each is read by the declared type.
	Vars map[string]string
	// VarFiles are paths of --var-file, in the file system that Load is given;
	// later ones win. They are HCL, or JSON when they end in .json.
	VarFiles []string
	// Elsewhere are variables that another pipeline declares which is loaded with
	// the same values: that this one lacks them is no mistake.
	Elsewhere []string
	// LookupEnv serves env() and PIPELINE_VAR_name; nil knows nothing.
	LookupEnv func(string) (string, bool)
	// Hostname serves hostname().
	Hostname string
	// CheckHandler compiles a handler; nil checks only that files exist.
	CheckHandler CheckHandler
}

// loader is one run of Load.
type loader struct {
	fsys   fs.FS
	opts   Options
	report *diag.Report
	scope  *eval.Scope
	// table is the language of the files; nil is that of pipelines.
	table *schema.Block
	// given are values of variables that come before all others, by name.
	given map[string]raw
	// extra are further names of values, by root; refs is the tree whose blocks
	// references name, nil for root.
	extra map[string]cty.Value
	refs  *node
	// path is what Load was asked for; files are the parsed ones.
	path  string
	files []*file
	root  *node
	// named are the blocks that can be referred to, by type and label.
	named map[string]map[string]*node
	// excused are the "block.argument" that a misplaced or misspelt one stands
	// for: they are not missed a second time.
	excused map[string]bool
	// lost are types of blocks, and ".name"s of blocks, of which one could not
	// be read: references to them are not missed a second time.
	lost  map[string]bool
	built built
}

// Load reads the pipeline at path: a file, or a directory whose *.hcl files are
// merged, without *_test.hcl. The pipeline is nil when the report has errors.
// Paths are those of fsys; use OS for paths as a shell gives them.
func Load(fsys fs.FS, path string, o Options) (*spec.Pipeline, *diag.Report) {
	l := newLoader(fsys, path, o, &diag.Report{})
	p := l.load()
	if l.report.HasErrors() {
		return nil, l.report
	}
	return p, l.report
}

func newLoader(fsys fs.FS, path string, o Options, report *diag.Report) *loader {
	l := &loader{
		fsys: fsys, opts: o, path: path, report: report,
		named: map[string]map[string]*node{}, excused: map[string]bool{}, lost: map[string]bool{},
	}
	l.scope = &eval.Scope{Report: report, LookupEnv: o.LookupEnv, Hostname: o.Hostname}
	return l
}

// schema is the language of the files.
func (l *loader) schema() *schema.Block {
	if l.table != nil {
		return l.table
	}
	return schema.Pipeline
}

// load runs the phases; each one goes on as far as what came before allows.
func (l *loader) load() *spec.Pipeline {
	if !l.read() {
		return nil
	}
	l.tree()
	l.declare()
	l.evaluate(l.root)
	p := l.build()
	l.crossCheck(p)
	l.checkHandlers()
	return p
}

// fail reports an error at a range.
func (l *loader) fail(code diag.Code, rng diag.Range, summary, detail string) *diag.Diagnostic {
	return l.add(diag.Error, code, rng, summary, detail)
}

// add reports a problem at a range.
func (l *loader) add(s diag.Severity, code diag.Code, rng diag.Range, summary, detail string) *diag.Diagnostic {
	return l.report.Add(diag.Diagnostic{Severity: s, Code: code, Range: rng, Summary: summary, Detail: detail})
}
