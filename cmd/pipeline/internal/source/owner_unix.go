//go:build unix

package source

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner and group of another. Only the superuser
// may give a file away; for everybody else the new file is their own.
func keepOwner(file *os.File, like fs.FileInfo) {
	if was, ok := like.Sys().(*syscall.Stat_t); ok {
		_ = file.Chown(int(was.Uid), int(was.Gid)) // see above
	}
}
