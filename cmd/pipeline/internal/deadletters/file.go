package deadletters

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// NewFile is a file that appears under its name when it is complete, and not
// before: who finds it need not ask whether writing it was broken off. Only its
// owner may read it. An existing file is never replaced.
type NewFile struct {
	path string
	file *os.File
	out  *bufio.Writer
}

// Create begins a file. It fails where one of that name exists.
func Create(path string) (*NewFile, error) {
	if _, err := os.Lstat(path); err == nil {
		return nil, fmt.Errorf("write %s: %w", path, fs.ErrExist)
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".pipeline-*")
	if err != nil {
		return nil, writing(path, err)
	}
	const buffer = 256 << 10
	return &NewFile{path: path, file: file, out: bufio.NewWriterSize(file, buffer)}, nil
}

// Write adds to the file.
func (f *NewFile) Write(text []byte) (int, error) {
	n, err := f.out.Write(text)
	return n, writing(f.path, err)
}

// Commit makes the file appear.
func (f *NewFile) Commit() error {
	err := f.out.Flush()
	if err == nil {
		err = f.file.Sync()
	}
	if err = errors.Join(err, f.file.Close()); err == nil {
		err = f.appear()
	}
	removed := os.Remove(f.file.Name())
	if errors.Is(removed, fs.ErrNotExist) {
		removed = nil
	}
	return writing(f.path, errors.Join(err, removed))
}

// appear gives the file its name. A link, unlike a new name, does not replace what
// came there meanwhile; some file systems have none.
func (f *NewFile) appear() error {
	err := os.Link(f.file.Name(), f.path)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	if _, there := os.Lstat(f.path); !errors.Is(there, fs.ErrNotExist) {
		return err
	}
	return os.Rename(f.file.Name(), f.path)
}

// Abandon leaves nothing of the file.
func (f *NewFile) Abandon() {
	_ = f.file.Close() // it is thrown away
	_ = os.Remove(f.file.Name())
}

// writing names the file that the user asked for, not the one that stands for it.
func writing(path string, err error) error {
	if err == nil {
		return nil
	}
	var reason error
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		reason = e.Err
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		reason = e.Err
	} else {
		reason = err
	}
	return fmt.Errorf("write %s: %w", path, reason)
}
