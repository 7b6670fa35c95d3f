package lang

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
)

// maxFile is the largest pipeline file, in bytes.
const maxFile = 1 << 20

// file is one pipeline file.
type file struct {
	name string
	src  *diag.Source
	body *hclsyntax.Body
	// poison are the pieces that were repaired to something else than what
	// they mean: what is read from them is unknown.
	poison []span
}

// span is a piece of a file in bytes, end exclusive.
type span struct{ start, end int }

// read finds and parses the files; false when nothing more can be said.
func (l *loader) read() bool {
	names, ok := l.find()
	if !ok {
		return false
	}
	good := true
	for _, name := range names {
		f, ok := l.readFile(name)
		good = good && ok
		if f != nil {
			l.files = append(l.files, f)
		}
	}
	return good
}

// find lists the pipeline files at the path.
func (l *loader) find() ([]string, bool) {
	at := diag.Range{File: l.path}
	info, err := fs.Stat(l.fsys, l.path)
	if err != nil {
		l.unreadable(at, l.path, pipelineHelp, err)
		return nil, false
	}
	if !info.IsDir() {
		return []string{l.path}, true
	}
	entries, err := fs.ReadDir(l.fsys, l.path)
	if err != nil {
		l.unreadable(at, l.path, pipelineHelp, err)
		return nil, false
	}
	var names []string
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && strings.HasSuffix(name, ".hcl") && !strings.HasSuffix(name, "_test.hcl") {
			names = append(names, path.Join(l.path, name))
		}
	}
	if len(names) == 0 {
		l.fail(diag.NoFiles, at, "the directory holds no pipeline", "A pipeline is a .hcl file, or the *.hcl files of a directory; *_test.hcl are its tests.")
		return nil, false
	}
	return names, true
}

// pipelineHelp says what a path may lead to.
const pipelineHelp = "A pipeline is a .hcl file, or the *.hcl files of a directory."

// unreadable reports a path that cannot be read.
func (l *loader) unreadable(at diag.Range, name, help string, err error) {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		d := l.fail(diag.FileNotFound, at, "there is no "+name, help)
		d.Suggest(l.nearFile(name))
		return
	}
	reason := err
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		reason = p.Err
	}
	l.fail(diag.FileUnreadable, at, name+" cannot be read", "The system says: "+reason.Error()+".")
}

// nearFile is the file beside a path that was probably meant.
func (l *loader) nearFile(name string) string {
	entries, err := fs.ReadDir(l.fsys, path.Dir(name))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if near := diag.Nearest(path.Base(name), names); near != "" {
		return path.Join(path.Dir(name), near)
	}
	return ""
}

// slurp reads a file up to a limit; the error is fs's, or errTooLarge.
func (l *loader) slurp(name string, limit int64) ([]byte, error) {
	f, err := l.fsys.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		return nil, errTooLarge
	}
	return text, err
}

var errTooLarge = errors.New("the file is too large")

// readFile reads and parses one file. The file is nil when nothing of it could
// be parsed; ok is false when it has an error of syntax.
func (l *loader) readFile(name string) (*file, bool) {
	text, err := l.slurp(name, maxFile)
	at := diag.Range{File: name}
	if errors.Is(err, errTooLarge) {
		l.fail(diag.FileTooLarge, at, name+" is over 1 MiB", "Split the pipeline over several files of one directory.")
		return nil, false
	}
	if err != nil {
		l.unreadable(at, name, pipelineHelp, err)
		return nil, false
	}
	src := diag.NewSource(name, text)
	l.report.AddSource(src)
	l.findSecrets(src)
	return l.parse(src)
}
