package cli

import (
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/term"

	"pipeline/cmd/pipeline/internal/screen"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
)

// dying is a server at which the one who looks panics.
type dying struct{ broker.Broker }

// A panic where the server is looked at ends the screen, not the terminal.
func TestAPanicBesideTheScreenGivesTheTerminalBack(t *testing.T) {
	ptm, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = ptm.Close(); _ = tty.Close() }()
	before, err := term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	keys, err := os.Open(tty.Name())
	if err != nil {
		t.Fatal(err)
	}
	s, err := screen.Open(tty, tty, keys)
	if err != nil {
		t.Fatal(err)
	}
	top := &topping{
		app:      &app{clock: clock.Real(), view: view.New(view.Options{Out: os.Stderr, Err: os.Stderr})},
		pipeline: &spec.Pipeline{Name: "p"}, server: dying{}, screen: s, sort: view.TopSorts[0],
	}
	func() {
		defer func() {
			if r := recover(); r == nil || !strings.Contains(r.(error).Error(), "nil pointer") {
				t.Errorf("it ended by %v", r)
			}
		}()
		_ = top.run(t.Context())
	}()
	if after, err := term.GetState(int(tty.Fd())); err != nil || *after != *before {
		t.Errorf("the terminal was %+v and is %+v, %v", before, after, err)
	}
}

func TestWhatIsTypedAtTheScreen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		keys         []string
		sort, filter string
		typing, quit bool
	}{
		"nothing":            {sort: "file"},
		"s goes round":       {keys: []string{"s", "s", "s", "s", "s", "s", "s"}, sort: "lag"},
		"a word":             {keys: []string{"/", "led", "gér", "\r"}, sort: "file", filter: "ledgér"},
		"letters of a word":  {keys: []string{"/", "q", "s"}, sort: "file", filter: "qs", typing: true},
		"erasing":            {keys: []string{"/", "é", "\x7f", "\x7f", "a\b", "b"}, sort: "file", filter: "b", typing: true},
		"Esc":                {keys: []string{"/", "abc", "\x1b", "s"}, sort: "lag"},
		"arrows":             {keys: []string{"\x1b[A", "/", "a", "\x1b[B"}, sort: "file", filter: "a", typing: true},
		"q":                  {keys: []string{"s", "q"}, sort: "lag", quit: true},
		"Ctrl-C in a word":   {keys: []string{"/", "a", "\x03"}, sort: "file", filter: "a", typing: true, quit: true},
		"control characters": {keys: []string{"/", "a\x01\x02b"}, sort: "file", filter: "ab", typing: true},
	} {
		top, quit := &topping{sort: view.TopSorts[0]}, false
		for _, keys := range c.keys {
			quit = top.press(keys)
		}
		if top.sort != c.sort || top.filter != c.filter || top.typing != c.typing || quit != c.quit {
			t.Errorf("%s: sort %s, filter %q, typing %v, quit %v", name, top.sort, top.filter, top.typing, quit)
		}
	}
}
