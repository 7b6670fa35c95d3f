package lang

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"pipeline/lang/diag"
)

// testSuffix ends the names of test files.
const testSuffix = "_test.hcl"

// find finds the pipeline and its test files.
func (s *suiteLoader) find(at string) bool {
	l := newLoader(s.fsys, at, s.opts, s.report)
	info, err := fs.Stat(s.fsys, at)
	if err != nil {
		l.unreadable(diag.Range{File: at}, at, pipelineHelp, err)
		return false
	}
	dir := at
	if !info.IsDir() {
		dir = path.Dir(at)
	}
	entries, err := fs.ReadDir(s.fsys, dir)
	if err != nil {
		l.unreadable(diag.Range{File: dir}, dir, pipelineHelp, err)
		return false
	}
	tests, stems := testsAndStems(entries)
	s.suite.Pipeline = at
	switch base := path.Base(at); {
	case info.IsDir():
		s.suite.Files = inDirectory(at, tests)
	case strings.HasSuffix(base, testSuffix):
		s.suite.Files = []string{at}
		s.suite.Pipeline = s.pipelineOf(dir, owner(base, stems))
	default:
		own := slices.DeleteFunc(slices.Clone(tests), func(t string) bool { return owner(t, stems)+".hcl" != base })
		s.suite.Files = inDirectory(dir, own)
	}
	if len(s.suite.Files) == 0 {
		s.noTests(at, info.IsDir(), tests)
	}
	return len(s.suite.Files) > 0
}

// testsAndStems parts the files of a directory: its test files, and the names of the
// others without their ending.
func testsAndStems(entries []fs.DirEntry) (tests, stems []string) {
	for _, e := range entries {
		name := e.Name()
		switch stem, isHCL := strings.CutSuffix(name, ".hcl"); {
		case e.IsDir() || !isHCL:
		case strings.HasSuffix(name, testSuffix):
			tests = append(tests, name)
		default:
			stems = append(stems, stem)
		}
	}
	return tests, stems
}

func inDirectory(dir string, names []string) []string {
	out := make([]string, len(names))
	for i, name := range names {
		out[i] = path.Join(dir, name)
	}
	return out
}

// owner is the pipeline file that a test file belongs to: the longest whose name
// begins its own. "" is none.
func owner(test string, stems []string) string {
	name := strings.TrimSuffix(test, testSuffix)
	best := ""
	for _, stem := range stems {
		if (name == stem || strings.HasPrefix(name, stem+"_")) && len(stem) > len(best) {
			best = stem
		}
	}
	return best
}

// declaresPipeline finds the block that makes a file a pipeline of its own.
var declaresPipeline = regexp.MustCompile(`(?m)^[ \t]*pipeline[ \t]+"`)

// pipelineOf is the pipeline of a single test file: the file that it belongs to,
// if that is a whole pipeline, or else its directory.
func (s *suiteLoader) pipelineOf(dir, stem string) string {
	if stem == "" {
		return dir
	}
	l := newLoader(s.fsys, dir, s.opts, s.report)
	name := path.Join(dir, stem+".hcl")
	if text, err := l.slurp(name, maxFile); err == nil && declaresPipeline.Match(text) {
		return name
	}
	return dir
}

// noTests reports a pipeline without tests.
func (s *suiteLoader) noTests(at string, isDir bool, beside []string) {
	d := s.report.Add(diag.Diagnostic{Code: diag.FileNotFound, Range: diag.Range{File: at}})
	if isDir {
		d.Summary, d.Detail = "the directory holds no tests", "Tests are the *_test.hcl files beside the pipeline."
		return
	}
	stem := strings.TrimSuffix(path.Base(at), ".hcl")
	d.Summary = "there are no tests of " + path.Base(at)
	d.Detail = fmt.Sprintf("They stand beside it, in %s_test.hcl or %s_…_test.hcl.", stem, stem)
	if near := diag.Nearest(stem+testSuffix, beside); near != "" {
		d.Detail += fmt.Sprintf(" %s belongs to another file by its name.", near)
	}
}
