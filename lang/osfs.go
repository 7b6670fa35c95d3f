package lang

import (
	"io/fs"
	"os"
)

// OS is the file system as the operating system sees it: paths are absolute or
// relative to the working directory, and may lead upwards, as a shell gives
// them. It goes beyond what io/fs demands of paths, so that a pipeline may name
// a script outside of its own folder.
func OS() fs.FS { return osFS{} }

type osFS struct{}

// Open opens a file by its path.
func (osFS) Open(name string) (fs.File, error) { return os.Open(name) }

// Stat describes a file by its path.
func (osFS) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }

// ReadDir lists a directory, sorted by name.
func (osFS) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(name) }

// ReadFile reads a whole file.
func (osFS) ReadFile(name string) ([]byte, error) { return os.ReadFile(name) }
