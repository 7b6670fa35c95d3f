// Package screen takes a terminal for a program that fills it, and gives it back as it
// was, whatever ends the program.
package screen

import (
	"errors"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// What a terminal is told: another screen than the one with the user's lines, without
// wrapping and without a cursor, and back.
const (
	enter = "\x1b[?1049h\x1b[?7l\x1b[?25l"
	leave = "\x1b[?25h\x1b[?7h\x1b[?1049l"
	home  = "\x1b[H"
	// endLine clears the rest of a line, endScreen all below.
	endLine, endScreen = "\x1b[K", "\x1b[J"
)

// Screen is a terminal that is taken. Draw and Restore may be called by any goroutine.
type Screen struct {
	out   *os.File
	in    int
	saved *term.State
	keys  *os.File

	mu   sync.Mutex
	left bool
}

// ErrNoTerminal is the error where there is no terminal to take.
var ErrNoTerminal = errors.New("it needs a terminal for its input and its output")

// Open takes the terminal behind in and out; keys is another handle of the same one, of
// which nothing else reads, that Restore closes. The error is ErrNoTerminal, or one of
// the terminal, with nothing changed.
func Open(in, out, keys *os.File) (*Screen, error) {
	fd := int(in.Fd())
	if !term.IsTerminal(fd) || !term.IsTerminal(int(out.Fd())) {
		return nil, ErrNoTerminal
	}
	saved, err := term.MakeRaw(fd)
	if err != nil {
		return nil, err
	}
	s := &Screen{out: out, in: fd, saved: saved, keys: keys}
	if _, err := out.WriteString(enter); err != nil {
		return nil, errors.Join(err, term.Restore(fd, saved))
	}
	return s, nil
}

// Size is how many columns and lines there are; 80 and 24 where the terminal does not
// tell.
func (s *Screen) Size() (columns, lines int) {
	columns, lines, err := term.GetSize(int(s.out.Fd()))
	if err != nil || columns < 1 || lines < 1 {
		return 80, 24
	}
	return columns, lines
}

// Draw shows lines from the top; what does not fit is left out. It does nothing once
// the terminal was given back.
func (s *Screen) Draw(lines []string) error {
	_, most := s.Size()
	shown := lines[:min(len(lines), most)]
	text := home + strings.Join(shown, endLine+"\r\n") + endLine
	if len(lines) < most {
		text += endScreen
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return nil
	}
	_, err := s.out.WriteString(text)
	return err
}

// Restore gives the terminal back as it was. It may be called more than once.
func (s *Screen) Restore() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return
	}
	s.left = true
	// There is nobody left to tell of an error.
	_, _ = s.out.WriteString(leave)
	_ = term.Restore(s.in, s.saved)
	_ = s.keys.Close()
}

// Keys are what is typed, piece by piece, until the terminal is given back; the
// channel is closed then.
func (s *Screen) Keys() <-chan string {
	typed := make(chan string)
	go func() {
		defer close(typed)
		var buffer [64]byte
		for {
			n, err := s.keys.Read(buffer[:])
			if err != nil {
				return
			}
			typed <- string(buffer[:n])
		}
	}()
	return typed
}
