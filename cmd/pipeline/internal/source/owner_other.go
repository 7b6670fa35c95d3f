//go:build !unix

package source

import (
	"io/fs"
	"os"
)

// keepOwner does nothing: files have no owner here that a process could set.
func keepOwner(*os.File, fs.FileInfo) {}
