// Package input reads files of entries for dev, dry-run and publish. They are
// JSON Lines: each line is either an envelope that names its stream, or, where
// the command line names it, the body of an entry of that stream.
//
// A line that cannot be used is reported with its number and the rest goes on.
// Files are read as a stream: memory does not grow with their length.
package input

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine is the longest line that is read, in bytes. It is far above what a
// stream accepts by default and bounds what a broken file can cost.
const MaxLine = 16 << 20

const readBuffer = 256 << 10

// errTooLong is a line beyond MaxLine; it was skipped.
var errTooLong = errors.New("the line is longer than 16 MiB")

// lines splits a file into lines. It accepts CRLF and a missing last line
// break, and skips a byte order mark.
type lines struct {
	r *bufio.Reader
	// number is that of the line returned last, from 1; read is how many bytes
	// were consumed.
	number int
	read   int64
	long   []byte
	// waits is called before a read that may have to wait for the input.
	waits func()
}

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(r, readBuffer)}
}

// next returns a line without its end, valid until the call after. At the end
// it returns io.EOF.
func (l *lines) next() ([]byte, error) {
	if l.waits != nil && !l.ready() {
		l.waits()
	}
	line, err := l.r.ReadSlice('\n')
	l.read += int64(len(line))
	if errors.Is(err, bufio.ErrBufferFull) {
		line, err = l.gather(line)
	}
	if len(line) == 0 && err != nil {
		return nil, err
	}
	l.number++
	if errors.Is(err, errTooLong) || err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	line = bytes.TrimSuffix(line, []byte("\n"))
	line = bytes.TrimSuffix(line, []byte("\r"))
	if l.number == 1 {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line, nil
}

// ready reports whether the next line is here already.
func (l *lines) ready() bool {
	here, err := l.r.Peek(l.r.Buffered())
	return err == nil && bytes.IndexByte(here, '\n') >= 0
}

// gather puts together a line that is longer than the buffer.
func (l *lines) gather(start []byte) ([]byte, error) {
	l.long = append(l.long[:0], start...)
	for {
		part, err := l.r.ReadSlice('\n')
		l.read += int64(len(part))
		if len(l.long)+len(part) > MaxLine {
			return l.skip(part, err)
		}
		l.long = append(l.long, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.long, err
		}
	}
}

// skip reads up to the end of a line that is too long. The part returned only
// says that there was a line.
func (l *lines) skip(part []byte, err error) ([]byte, error) {
	for errors.Is(err, bufio.ErrBufferFull) {
		var rest []byte
		rest, err = l.r.ReadSlice('\n')
		l.read += int64(len(rest))
	}
	l.long = nil
	if err != nil && !errors.Is(err, io.EOF) {
		return part, err
	}
	return part[:1], errTooLong
}
