// Package scaffold writes a working start: a pipeline, a handler or a test, from
// templates. It never writes over a file, and writes all of its files or none.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
)

// File is a file to be created.
type File struct {
	// Path is relative to the directory, with slashes.
	Path string
	Text []byte
}

// Step is a command to go on with, and what it is good for.
type Step struct{ Command, Why string }

// ExistsError says that files to be created are there already. Nothing was
// written.
type ExistsError struct{ Files []string }

// Error names the files.
func (e *ExistsError) Error() string {
	if len(e.Files) == 1 {
		return e.Files[0] + " exists already"
	}
	return strings.Join(e.Files, ", ") + " exist already"
}

//go:embed templates
var embedded embed.FS

var templates = template.Must(template.New("").Option("missingkey=error").ParseFS(embedded, "templates/*"))

// render fills in a template.
func render(name string, data any) []byte {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // the templates are part of the program, and the tests fill in each
	}
	return b.Bytes()
}

// Create creates files in a directory, and the directories that they need. It
// returns their names with the directory. On an error, an ExistsError among
// others, nothing is left of what it created; what was there before is never
// touched, also when somebody else creates one of the files at the same time.
func Create(directory string, files []File) ([]string, error) {
	if err := absent(directory, files); err != nil {
		return nil, err
	}
	c := &creation{}
	for _, f := range files {
		if err := c.file(filepath.Join(directory, filepath.FromSlash(f.Path)), f.Text); err != nil {
			if left := c.undo(); left != nil {
				return nil, errors.Join(err, left)
			}
			return nil, fmt.Errorf("%w; nothing was left behind", err)
		}
	}
	return c.files, nil
}

// absent reports the files that are there.
func absent(directory string, files []File) error {
	var there []string
	for _, f := range files {
		name := filepath.Join(directory, filepath.FromSlash(f.Path))
		if _, err := os.Lstat(name); err == nil {
			there = append(there, name)
		}
	}
	if len(there) > 0 {
		return &ExistsError{there}
	}
	return nil
}

// creation is what was created so far.
type creation struct{ files, directories []string }

// file creates one file. One that appeared since it was looked for is left
// alone.
func (c *creation) file(name string, text []byte) error {
	if err := c.directory(filepath.Dir(name)); err != nil {
		return err
	}
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return &ExistsError{[]string{name}}
	}
	if err != nil {
		return fmt.Errorf("create %s: %w", name, reason(err))
	}
	c.files = append(c.files, name)
	_, err = out.Write(text)
	if err = errors.Join(err, out.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, reason(err))
	}
	return nil
}

// directory creates a directory and those above it.
func (c *creation) directory(name string) error {
	info, err := os.Stat(name)
	if err == nil && info.IsDir() {
		return nil
	}
	if err == nil {
		return fmt.Errorf("create %s: there is a file of that name", name)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("create %s: %w", name, reason(err))
	}
	if above := filepath.Dir(name); above != name {
		if err := c.directory(above); err != nil {
			return err
		}
	}
	switch err := os.Mkdir(name, 0o777); {
	case err == nil:
		c.directories = append(c.directories, name)
	case !errors.Is(err, fs.ErrExist): // else somebody else was faster
		return fmt.Errorf("create %s: %w", name, reason(err))
	}
	return nil
}

// undo removes what was created. A directory that holds something by now stays.
func (c *creation) undo() error {
	var failed []error
	for _, name := range slices.Backward(c.files) {
		if err := os.Remove(name); err != nil {
			failed = append(failed, fmt.Errorf("remove %s again: %w", name, reason(err)))
		}
	}
	for _, name := range slices.Backward(c.directories) {
		_ = os.Remove(name) // see above
	}
	return errors.Join(failed...)
}

// reason is the part of an error that a name beside it makes complete.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}
