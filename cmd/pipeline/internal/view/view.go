// Package view renders what the commands have to say: aligned text for a
// person, coloured on a terminal, or one JSON object a line. Results go to
// stdout; diagnostics, logs and progress to stderr, unless JSON is asked for:
// then every line goes to stdout.
//
// Nothing here decides anything, and nothing here ever receives a server's
// address, which may hold a password.
package view

import (
	"bufio"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// Options say where and how to print.
type Options struct {
	// Out receives results, Err everything else.
	Out, Err io.Writer
	// JSON prints one object a line, all of them to Out.
	JSON bool
	// Color and ErrColor allow colours on Out and Err.
	Color, ErrColor bool
	// Width is the number of columns of the terminal behind Out; 0 when Out is
	// no terminal. Lines are cut to it, and every line is shown at once.
	Width int
	// ErrTerminal reports that Err is a terminal: it can show progress. ErrWidth is
	// the number of its columns, 0 without one.
	ErrTerminal bool
	ErrWidth    int
}

// Terminal are the options for a process with these standard streams: no
// colour where there is no terminal, where NO_COLOR is set to anything, or
// where TERM is dumb.
func Terminal(stdout, stderr *os.File, env func(string) string) Options {
	plain := env("NO_COLOR") != "" || env("TERM") == "dumb"
	o := Options{Out: stdout, Err: stderr}
	if o.Width = terminalWidth(stdout); o.Width > 0 {
		o.Color = !plain
	}
	if o.ErrWidth = terminalWidth(stderr); o.ErrWidth > 0 {
		o.ErrTerminal, o.ErrColor = true, !plain
	}
	return o
}

// terminalWidth is the columns of a terminal, 0 for anything else.
func terminalWidth(f *os.File) int {
	fd := int(f.Fd())
	if !term.IsTerminal(fd) {
		return 0
	}
	if width, _, err := term.GetSize(fd); err == nil && width > 0 {
		return width
	}
	return defaultWidth
}

// defaultWidth is the width of a terminal that does not tell its own.
const defaultWidth = 80

// outBuffer gathers lines where nobody watches them come.
const outBuffer = 64 << 10

// View prints. It is safe for concurrent use.
type View struct {
	o Options

	mu  sync.Mutex
	out *bufio.Writer
	// live: someone watches Out, so that every block of lines is flushed.
	live bool
	// failed is the first error of writing to Out.
	failed error
	// progress is what stands on Err's last line.
	progress string
}

// New returns a view.
func New(o Options) *View {
	return &View{o: o, out: bufio.NewWriterSize(o.Out, outBuffer), live: o.Width > 0}
}

// JSON reports whether the view prints JSON.
func (v *View) JSON() bool { return v.o.JSON }

// Live makes every line appear at once, also where Out is a file or a pipe.
func (v *View) Live() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.live = true
}

// Close flushes and returns the first error of writing results. A result that
// was not written must not look like success.
func (v *View) Close() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.clearProgress()
	v.flush()
	return v.failed
}

// write prints finished lines to Out.
func (v *View) write(lines []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.writeLocked(lines)
}

func (v *View) writeLocked(lines []byte) {
	if len(lines) == 0 {
		return
	}
	if v.o.Width > 0 {
		v.clearProgress()
	}
	if _, err := v.out.Write(lines); err != nil && v.failed == nil {
		v.failed = err
	}
	if v.live {
		v.flush()
	}
}

func (v *View) flush() {
	if err := v.out.Flush(); err != nil && v.failed == nil {
		v.failed = err
	}
}

// say prints finished lines to Err, after what stands in Out's buffer.
func (v *View) say(lines []byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.o.JSON {
		v.writeLocked(lines)
		return
	}
	v.clearProgress()
	v.flush()
	// There is nowhere left to report an error of stderr.
	_, _ = v.o.Err.Write(lines)
}

// writer is an io.Writer of whole lines through say, for logs.
type writer struct{ v *View }

func (w writer) Write(line []byte) (int, error) {
	w.v.say(line)
	return len(line), nil
}
