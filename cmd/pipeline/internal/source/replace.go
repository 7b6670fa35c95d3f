package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrChanged says that the file is no longer what was read; nothing was written.
var ErrChanged = errors.New("the file was changed in the meantime; run the command again")

// Replace replaces the text of a file, which must still be the one that was read,
// or have the new text already.
// Whoever reads the file sees the one or the other text and never a part, also
// when the machine stops half way: the new text is written beside it and takes
// its name when it is complete. Permissions stay, and the owner where the system
// allows; other names of the file (hard links) keep the old text. On an error
// the file is as it was.
func Replace(file File, before, after []byte) error {
	info, err := writable(file.Path)
	if err != nil {
		return fmt.Errorf("write %s: %w", file.Name, reason(err))
	}
	temporary, err := writeBeside(file.Path, info, after)
	if err != nil {
		return fmt.Errorf("write %s: beside it: %w", file.Name, reason(err))
	}
	now, err := os.ReadFile(file.Path)
	if err == nil && bytes.Equal(now, after) {
		return os.Remove(temporary) // another process was faster
	}
	if err == nil && !bytes.Equal(now, before) {
		err = ErrChanged
	}
	if err == nil {
		err = os.Rename(temporary, file.Path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", file.Name, reason(errors.Join(err, os.Remove(temporary))))
	}
	return nil
}

// writable describes a file that this process may write. A file that may not be
// written could still be replaced, but whoever protected it did not mean that.
func writable(path string) (fs.FileInfo, error) {
	opened, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	info, err := opened.Stat()
	return info, errors.Join(err, opened.Close())
}

// writeBeside writes a text to a new file in the same directory, with the
// permissions of another. It leaves nothing behind on an error.
func writeBeside(path string, like fs.FileInfo, text []byte) (name string, err error) {
	out, err := os.CreateTemp(filepath.Dir(path), ".pipeline-*")
	if err != nil {
		return "", err
	}
	_, err = out.Write(text)
	if err == nil {
		keepOwner(out, like)
		err = out.Chmod(like.Mode().Perm())
	}
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return "", errors.Join(err, os.Remove(out.Name()))
	}
	return out.Name(), nil
}

// reason is the part of an error that a name beside it makes complete.
func reason(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return e.Err
	}
	return err
}
