package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Write writes a file, whether or not there is one: whoever reads it sees the old
// or the new text and never a part. What is no regular file (a pipe, a terminal)
// is written to as it is. On an error a file is as it was.
func Write(path string, text []byte) error {
	at := path
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return written(path, os.WriteFile(path, text, 0))
	}
	if err == nil {
		// The name may be a link, which stays one.
		if at, err = filepath.EvalSymlinks(path); err != nil {
			return written(path, err)
		}
		if info, err = writable(at); err != nil {
			return written(path, err)
		}
	}
	temporary, err := writeNew(at, text)
	if err != nil {
		return written(path, err)
	}
	if info != nil {
		err = os.Chmod(temporary, info.Mode().Perm())
	}
	if err == nil {
		err = os.Rename(temporary, at)
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temporary))
	}
	return written(path, err)
}

func written(path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("write %s: %w", path, reason(err))
}

// writeNew writes a text to a new file in the directory of another, with the
// permissions that the process gives new files. It leaves nothing behind on an
// error.
func writeNew(beside string, text []byte) (name string, err error) {
	var out *os.File
	for n := 0; out == nil; n++ {
		name = filepath.Join(filepath.Dir(beside), ".pipeline-"+strconv.Itoa(os.Getpid())+"-"+strconv.Itoa(n))
		out, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	_, err = out.Write(text)
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return "", errors.Join(err, os.Remove(name))
	}
	return name, nil
}
