package wasm

import (
	"fmt"
	"os"
)

// PrivateDir makes a directory for Compiler.CacheDir, or sees that one that is
// there is safe to use: compiled code is run as it is found, so the directory
// must be this user's and closed to all others. It returns an error that says
// what to change otherwise; a symbolic link in its place is refused.
func PrivateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("compilation cache: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("compilation cache: %w", err)
	}
	switch {
	case !info.IsDir():
		return fmt.Errorf("compilation cache: %s is not a directory; remove it", dir)
	case !ownedByUs(info):
		return fmt.Errorf("compilation cache: %s belongs to another user; remove it", dir)
	case !closedToOthers(info):
		return fmt.Errorf("compilation cache: %s is open to other users: run `chmod 700 %s` after looking who wrote into it, or remove it", dir, dir)
	}
	return nil
}
