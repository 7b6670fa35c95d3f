package screen_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"
	"golang.org/x/term"

	"pipeline/cmd/pipeline/internal/screen"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// device is a terminal with another handle of it for what is typed.
func device(t *testing.T) (ptm, tty, keys *os.File) {
	t.Helper()
	ptm, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ptm.Close(); _ = tty.Close() })
	if keys, err = os.Open(tty.Name()); err != nil {
		t.Fatal(err)
	}
	return ptm, tty, keys
}

func state(t *testing.T, tty *os.File) term.State {
	t.Helper()
	s, err := term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return *s
}

// read takes from a terminal until a text has come.
func read(t *testing.T, ptm *os.File, until string) string {
	t.Helper()
	if err := ptm.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	all, buffer := "", make([]byte, 4096)
	for !strings.Contains(all, until) {
		n, err := ptm.Read(buffer)
		if err != nil {
			t.Fatalf("%v after %q", err, all)
		}
		all += string(buffer[:n])
	}
	return all
}

// A panic gives the terminal back, and what reads the keys ends with it.
func TestAPanicGivesTheTerminalBack(t *testing.T) {
	ptm, tty, keys := device(t)
	before := state(t, tty)
	var typed <-chan string
	var s *screen.Screen
	func() {
		defer func() {
			if r := recover(); r != "broken" {
				t.Errorf("it ended by %v", r)
			}
		}()
		var err error
		if s, err = screen.Open(tty, tty, keys); err != nil {
			t.Fatal(err)
		}
		defer s.Restore()
		if state(t, tty) == before {
			t.Error("the terminal was not taken")
		}
		typed = s.Keys()
		if _, err := ptm.WriteString("x"); err != nil {
			t.Fatal(err)
		}
		if got := <-typed; got != "x" {
			t.Errorf("typed %q", got)
		}
		panic("broken")
	}()
	if _, open := <-typed; open {
		t.Error("something else was typed")
	}
	if state(t, tty) != before {
		t.Error("the terminal is not as it was")
	}
	s.Restore()
	if err := s.Draw([]string{"late"}); err != nil {
		t.Error(err)
	}
	if _, err := tty.WriteString("the prompt"); err != nil {
		t.Fatal(err)
	}
	if got := read(t, ptm, "the prompt"); strings.Contains(got, "late") || strings.Count(got, "\x1b[?1049l") != 1 || strings.Count(got, "\x1b[?1049h") != 1 {
		t.Errorf("%q", got)
	}
}

// What does not fit is left out, and what was below is cleared.
func TestDrawingFillsTheScreenAndNoMore(t *testing.T) {
	ptm, tty, keys := device(t)
	if err := pty.Setsize(ptm, &pty.Winsize{Rows: 2, Cols: 20}); err != nil {
		t.Fatal(err)
	}
	s, err := screen.Open(tty, tty, keys)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Restore()
	if columns, lines := s.Size(); columns != 20 || lines != 2 {
		t.Errorf("%d columns and %d lines", columns, lines)
	}
	for _, lines := range [][]string{{"one", "two", "three"}, {"less"}} {
		if err := s.Draw(lines); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(t, ptm, "\x1b[J"); !strings.HasSuffix(got, "\x1b[Hone\x1b[K\r\ntwo\x1b[K\x1b[Hless\x1b[K\x1b[J") {
		t.Errorf("%q", got)
	}
}

func TestWhatIsNoTerminalIsRefused(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close(); _ = w.Close() }()
	_, tty, keys := device(t)
	defer func() { _ = keys.Close() }()
	before := state(t, tty)
	for _, pair := range [][2]*os.File{{r, w}, {tty, w}, {r, tty}} {
		if _, err := screen.Open(pair[0], pair[1], keys); !errors.Is(err, screen.ErrNoTerminal) {
			t.Errorf("%v", err)
		}
	}
	if state(t, tty) != before {
		t.Error("the terminal was changed")
	}
}
