package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	// reasons is how many lines a test that failed has at the end, clipped how long each.
	reasons = 3
	clipped = 240
)

// event is a line of `go test -json`; see `go doc test2json`.
type event struct {
	Action, Package, Test, Output, ImportPath, FailedBuild string
}

// test is one that has begun and not yet passed. A package is the one without a name.
type test struct{ pkg, name string }

// failure is a test that failed, and the ends of what it said.
type failure struct {
	test
	said []string
}

// report is not safe for concurrent use.
type report struct {
	out     *bufio.Writer
	verbose bool
	// shown is what is to be shown of a package once it has ended: several are tested at
	// once, and their lines come mixed.
	shown map[string]*strings.Builder
	// said is the output so far of what has not ended.
	said map[test][]string
	// open are the tests that have begun, in that order.
	open   []test
	failed []failure
}

func newReport(out *bufio.Writer, verbose bool) *report {
	return &report{out: out, verbose: verbose, shown: map[string]*strings.Builder{}, said: map[test][]string{}}
}

// read shows what comes, until its end. What is no event is shown as it is.
func (r *report) read(in io.Reader) error {
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				_, _ = r.out.WriteString(line)
			} else {
				r.take(&e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *report) take(e *event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "run":
		r.open = append(r.open, t)
	case "output":
		r.output(t, e.Output)
	case "build-output": // of a package that cannot be built
		r.output(test{pkg: e.ImportPath}, e.Output)
	case "build-fail":
		r.fail(test{pkg: e.ImportPath})
		r.flush(e.ImportPath)
	case "pass", "skip":
		r.close(t)
	case "fail":
		switch {
		case e.FailedBuild != "": // it was told when it failed
		case t.name == "":
			r.failPackage(t)
		default:
			r.show(t)
			r.fail(t)
		}
		r.close(t)
	}
	if t.name == "" && (e.Action == "pass" || e.Action == "skip" || e.Action == "fail") {
		r.flush(t.pkg)
	}
}

// print keeps what is to be shown of a package.
func (r *report) print(pkg, text string) {
	b := r.shown[pkg]
	if b == nil {
		b = &strings.Builder{}
		r.shown[pkg] = b
	}
	b.WriteString(text)
}

// flush shows it.
func (r *report) flush(pkg string) {
	if b := r.shown[pkg]; b != nil {
		_, _ = r.out.WriteString(b.String())
		delete(r.shown, pkg)
	}
	_ = r.out.Flush()
}

// output keeps what a test says, and shows it where all is shown. Of a package, what says how it ended is always.
func (r *report) output(t test, text string) {
	r.said[t] = append(r.said[t], text)
	if r.verbose || t.name == "" && text != "PASS\n" && text != "FAIL\n" {
		r.print(t.pkg, text)
	}
}

// show shows what a test said, where that was not shown when it came.
func (r *report) show(t test) {
	if r.verbose {
		return
	}
	for _, text := range r.said[t] {
		if !strings.HasPrefix(text, "=== ") {
			r.print(t.pkg, text)
		}
	}
}

func (r *report) close(t test) {
	delete(r.said, t)
	if i := slices.Index(r.open, t); i >= 0 {
		r.open = slices.Delete(r.open, i, i+1)
	}
}

// fail remembers a test that failed. One that did for a part of it is told by that part.
func (r *report) fail(t test) {
	if slices.ContainsFunc(r.failed, func(f failure) bool {
		return f.pkg == t.pkg && strings.HasPrefix(f.name, t.name+"/")
	}) {
		return
	}
	r.failed = append(r.failed, failure{t, why(r.said[t])})
}

// failPackage tells of a package that failed without a test that did: it ended in the middle of those that had
// begun, or before any.
func (r *report) failPackage(t test) {
	for _, o := range slices.Clone(r.open) {
		if o.pkg == t.pkg {
			r.show(o)
			r.fail(o)
			r.close(o)
		}
	}
	if !slices.ContainsFunc(r.failed, func(f failure) bool { return f.pkg == t.pkg }) {
		r.fail(t)
	}
}

// reason matches lines that say why a test failed, in what it printed: what it logs has its place before it.
var reason = regexp.MustCompile(`^\s+\w+\.go:\d+: |^panic: |^fatal error: |^WARNING: DATA RACE|^\S+\.go:\d+:\d+: `)

// why are the last lines that may say why a test failed; without any, its last ones.
func why(said []string) []string {
	var found, all []string
	for line := range strings.SplitSeq(strings.Join(said, ""), "\n") {
		trimmed := strings.TrimSpace(line)
		if trimmed == "" || strings.HasPrefix(trimmed, "=== ") || strings.HasPrefix(trimmed, "--- ") {
			continue
		}
		if len(trimmed) > clipped {
			trimmed = strings.ToValidUTF8(trimmed[:clipped], "") + "…"
		}
		all = append(all, trimmed)
		if reason.MatchString(line) {
			found = append(found, trimmed)
		}
	}
	if len(found) == 0 {
		found = all
	}
	return found[max(0, len(found)-reasons):]
}

// end says what failed, and reports whether anything did.
func (r *report) end() bool {
	for _, t := range r.open { // the output ended in the middle
		r.fail(t)
	}
	for _, pkg := range slices.Sorted(maps.Keys(r.shown)) {
		r.flush(pkg)
	}
	if len(r.failed) == 0 {
		return false
	}
	_, _ = fmt.Fprintf(r.out, "\nfailed: %d\n", len(r.failed))
	for _, f := range r.failed {
		_, _ = fmt.Fprintf(r.out, "  %s\n", strings.TrimSpace(f.pkg+" "+f.name))
		for _, line := range f.said {
			_, _ = fmt.Fprintf(r.out, "      %s\n", line)
		}
	}
	return true
}
