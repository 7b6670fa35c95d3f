// Package source finds the files of a pipeline on disk and replaces their text
// without ever leaving a part of it.
package source

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Extension is how the name of every file of the language ends.
const Extension = ".hcl"

// File is a file to be worked on.
type File struct {
	// Name is how the user knows it: as given, or below the directory given.
	Name string
	// Path is the file itself, with symbolic links followed.
	Path string
}

// Finder finds files, each once, however many names lead to it. The zero value
// is ready to use. It is not safe for concurrent use.
type Finder struct{ seen map[string]bool }

// Named is the file with a name; ok is false when it was found before.
func (f *Finder) Named(name string) (file File, ok bool, err error) {
	path, err := filepath.EvalSymlinks(name)
	if err != nil {
		return File{}, false, err
	}
	path, err = filepath.Abs(path)
	if err != nil {
		return File{}, false, err
	}
	if f.seen[path] {
		return File{}, false, nil
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	f.seen[path] = true
	return File{Name: name, Path: path}, true, nil
}

// Below are the files of the language in a directory and all below it, by name.
// Hidden directories hold what tools keep for themselves and are passed over,
// and so are links to directories: what they lead to is elsewhere, or around in
// a circle. Found tells how many there are, those found before too. Problems are
// told one by one, and the rest goes on.
func (f *Finder) Below(directory string, problem func(name string, err error)) (files []File, found int) {
	walk := func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			problem(name, err)
		case entry.IsDir():
			if name != directory && strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
		case filepath.Ext(name) == Extension && !leadsToDirectory(name, entry):
			found++
			file, ok, err := f.Named(name)
			if err != nil {
				problem(name, err)
			}
			if ok {
				files = append(files, file)
			}
		}
		return nil
	}
	// A link is followed where it is what was asked for.
	root := directory
	if info, err := os.Lstat(root); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		root += string(filepath.Separator)
	}
	directory = root
	_ = filepath.WalkDir(root, walk) // walk returns no error of its own
	return files, found
}

func leadsToDirectory(name string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return false
	}
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}
