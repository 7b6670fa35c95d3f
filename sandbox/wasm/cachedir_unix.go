//go:build unix

package wasm

import (
	"io/fs"
	"os"
	"syscall"
)

func ownedByUs(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Geteuid()
}

func closedToOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }
