package lang

import (
	"errors"
	"fmt"
	"strings"

	"pipeline/lang/diag"
	"pipeline/lang/schema"
)

// MaxFile is the largest pipeline file, in bytes. Load refuses larger ones.
const MaxFile = maxFile

// CheckSyntax reports what Load says of one file before it looks at any
// meaning: size, encoding, nesting beyond the limits, and syntax. It takes
// pipelines, tests and files of variables alike, whatever the bytes are, and
// never reads anything else. Passwords that the text shows are known to the
// report and hidden in it. The name is only for ranges.
func CheckSyntax(name string, text []byte) *diag.Report {
	l := &loader{path: name, report: &diag.Report{}, excused: map[string]bool{}}
	if strings.HasSuffix(name, testSuffix) {
		l.table = schema.Test
	}
	src := diag.NewSource(name, text)
	l.report.AddSource(src)
	if len(text) > maxFile {
		l.tooLarge(name)
		return l.report
	}
	l.findSecrets(src)
	if _, ok := l.parse(src); !ok && !l.report.HasErrors() {
		// parse has reported why, unless hcl refused a file without a word.
		l.fail(diag.Syntax, diag.Range{File: name}, fmt.Sprintf("%s cannot be parsed", name), "")
	}
	return l.report
}

// ReadFile reads one file within the limit of its size. Without text the report
// says why: there is no such file, it cannot be read, or it is too large.
func ReadFile(name string) ([]byte, *diag.Report) {
	l := &loader{fsys: OS(), path: name, report: &diag.Report{}}
	text, err := l.slurp(name, maxFile)
	switch {
	case errors.Is(err, errTooLarge):
		l.tooLarge(name)
	case err != nil:
		l.unreadable(diag.Range{File: name}, name, "Check the path.", err)
	default:
		return text, l.report
	}
	return nil, l.report
}

func (l *loader) tooLarge(name string) {
	l.fail(diag.FileTooLarge, diag.Range{File: name}, name+" is over 1 MiB", "Split the pipeline over several files of one directory.")
}
