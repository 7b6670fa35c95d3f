package lang

import (
	"errors"
	"io"
	"io/fs"
	"path"
	"slices"
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
		if l.table == nil && strings.HasSuffix(l.path, testSuffix) {
			l.fail(diag.NoFiles, at, path.Base(l.path)+" holds tests, not a pipeline", "Name the pipeline that they are of: "+l.tested(l.path)+".")
			return nil, false
		}
		return []string{l.path}, true
	}
	entries, err := fs.ReadDir(l.fsys, l.path)
	if err != nil {
		l.unreadable(at, l.path, pipelineHelp, err)
		return nil, false
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || !strings.HasSuffix(name, ".hcl") || strings.HasSuffix(name, testSuffix) {
			continue
		}
		if name = path.Join(l.path, name); e.Type()&fs.ModeSymlink == 0 || !l.isDir(name) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		l.fail(diag.NoFiles, at, "the directory holds no pipeline", "A pipeline is a .hcl file, or the *.hcl files of a directory; *_test.hcl are its tests.")
		return nil, false
	}
	return names, true
}

// tested is the pipeline that a file of tests is of: the file beside it, or else
// the directory.
func (l *loader) tested(test string) string {
	if name := strings.TrimSuffix(test, testSuffix) + ".hcl"; l.exists(name) {
		return name
	}
	return path.Dir(test)
}

func (l *loader) isDir(name string) bool {
	info, err := fs.Stat(l.fsys, name)
	return err == nil && info.IsDir()
}

func (l *loader) exists(name string) bool {
	_, err := fs.Stat(l.fsys, name)
	return err == nil
}

// pipelineHelp says what a path may lead to.
const pipelineHelp = "A pipeline is a .hcl file, or the *.hcl files of a directory."

// unreadable reports a path that cannot be read.
func (l *loader) unreadable(at diag.Range, name, help string, err error) {
	if name == "" {
		l.fail(diag.FileNotFound, at, "the path is empty", help)
		return
	}
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

// slurp reads a file up to a limit; the error is fs's, errTooLarge or
// errNotRegular. What the user names may be a pipe or a device, as a shell makes
// them; what is found beside it, or named in a file, is read only if it is a
// file: a pipe that nobody writes to would be waited for without end.
func (l *loader) slurp(name string, limit int64) ([]byte, error) {
	if info, err := fs.Stat(l.fsys, name); err == nil && !info.Mode().IsRegular() && !info.IsDir() && name != l.path && !slices.Contains(l.opts.VarFiles, name) {
		return nil, errNotRegular
	}
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

var (
	errTooLarge   = errors.New("the file is too large")
	errNotRegular = errors.New("it is not a regular file")
)

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
