package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/findings"
	"pipeline/cmd/pipeline/internal/screen"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/broker/readonly"
	"pipeline/engine/clock"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

func (a *app) topCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "top PATH",
		Short: "Watch the groups on a full screen: how fast they are, how far behind, and what is wrong",
		Long: "top shows what stats shows, on the whole terminal, and anew every few seconds. It needs a terminal; elsewhere\n" +
			"`pipeline stats --watch` goes on line by line. It asks only what is cheap however much is pending, and changes nothing.\n\n" +
			"q or Ctrl-C ends it; s sorts the groups by another column; / and a word shows only groups with the word in their\n" +
			"names, their streams' or their subscriptions', Enter ends the word and Esc shows all again.",
		Example: "  pipeline top examples/payments.hcl",
		Args:    onePath,
		RunE:    func(cmd *cobra.Command, args []string) error { return a.top(cmd, args[0]) },
	}
}

func (a *app) top(cmd *cobra.Command, path string) error {
	if a.json {
		return usage(cmd, "top fills a terminal and has no --json; `pipeline stats --watch --json` goes on line by line")
	}
	p, err := a.loadServed(cmd, path)
	if err != nil {
		return err
	}
	server, err := a.openServer(p)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // nothing was written
	terminal, err := a.takeTerminal(cmd)
	if err != nil {
		return err
	}
	defer terminal.Restore() // at a panic too
	exit := a.exit
	a.exit = func(code int) { // a second signal
		terminal.Restore()
		exit(code)
	}
	ctx, stop := a.until(cmd)
	defer stop()
	t := &topping{app: a, path: path, pipeline: p, server: readonly.New(server), screen: terminal, sort: view.TopSorts[0]}
	return t.run(ctx)
}

// takeTerminal takes the terminal of the process, and refuses anything else.
func (a *app) takeTerminal(cmd *cobra.Command) (*screen.Screen, error) {
	none := func(err error) error {
		return usage(cmd, "top: %v; elsewhere `pipeline stats --watch` goes on line by line", err)
	}
	in, ok := a.process.Stdin.(*os.File)
	if !ok {
		return nil, none(screen.ErrNoTerminal)
	}
	keys, err := os.Open("/dev/tty")
	if err != nil {
		return nil, none(screen.ErrNoTerminal)
	}
	s, err := screen.Open(in, a.process.Stdout, keys)
	if err != nil {
		_ = keys.Close() // nothing was read
		return nil, none(err)
	}
	return s, nil
}

// topping is a full screen while it is shown.
type topping struct {
	app      *app
	path     string
	pipeline *spec.Pipeline
	server   broker.Broker
	screen   *screen.Screen

	before, now  *poll.Snapshot
	problems     []view.Problem
	sort, filter string
	typing       bool
}

// look is what one look at the server found, or a panic of the goroutine that looked.
type look struct {
	snapshot *poll.Snapshot
	problems []view.Problem
	panicked any
}

// resized is how often the size of the terminal is looked at.
const resized = 200 * time.Millisecond

// run shows the screen until q or ctx is done.
func (t *topping) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	looks, looking := make(chan look), make(chan struct{})
	poller := poll.New(t.pipeline, t.server, t.app.clock, rand.Float64)
	t.now, t.before = poller.Latest(), poller.Latest()
	go func() {
		defer close(looking)
		t.looks(ctx, poller, looks)
	}()
	defer func() {
		cancel()
		<-looking
	}()
	typed := t.screen.Keys()
	defer func() { // the reader ends with the terminal; what was typed meanwhile is for nobody
		t.screen.Restore()
		for range typed {
		}
	}()
	size := t.app.clock.NewTimer(resized)
	defer size.Stop()
	columns, lines := t.screen.Size()
	for {
		if err := t.draw(); err != nil {
			return fmt.Errorf("top: %w", err)
		}
		for again := true; again; {
			again = false
			select {
			case <-ctx.Done():
				return nil
			case l := <-looks:
				if l.panicked != nil {
					panic(l.panicked) // here, where the terminal is given back
				}
				t.before, t.now, t.problems = t.now, l.snapshot, l.problems
			case keys, ok := <-typed:
				if !ok || t.press(keys) {
					return nil
				}
			case <-size.C():
				size.Reset(resized)
				c, l := t.screen.Size()
				again = c == columns && l == lines
				columns, lines = c, l
			}
		}
	}
}

// looks asks the server every few seconds.
func (t *topping) looks(ctx context.Context, poller *poll.Poller, found chan<- look) {
	var l look
	give := func() {
		select {
		case found <- l:
		case <-ctx.Done():
		}
	}
	defer func() {
		if l.panicked = recover(); l.panicked != nil {
			give()
		}
	}()
	for ctx.Err() == nil {
		l.snapshot = poller.Once(ctx)
		if l.snapshot.Up() {
			l.problems = findings.Of(l.snapshot, t.app.about(t.path))
		}
		give()
		pause := poll.Every
		if len(poller.History()) < 2 {
			pause = time.Second // rates take two looks
		}
		if clock.Sleep(ctx, t.app.clock, pause) != nil {
			return
		}
	}
}

// draw shows what is known.
func (t *topping) draw() error {
	return t.screen.Draw(t.app.view.Top(&view.Top{
		Pipeline: t.pipeline.Name, Snapshot: t.now, Rates: ratesOf(t.pipeline, t.before, t.now), Problems: t.problems,
		Sort: t.sort, Filter: t.filter, Typing: t.typing, Now: t.app.clock.Now(),
	}))
}

// The keys that are no letters.
const (
	keyInterrupt, keyEnd = '\x03', '\x04'
	keyEnter, keyEscape  = '\r', '\x1b'
	keyErase, keyDelete  = '\b', '\x7f'
)

// maxFilter bounds the word that is typed.
const maxFilter = 60

// press takes what was typed and reports whether that ends the screen.
func (t *topping) press(keys string) (quit bool) {
	if len(keys) > 1 && keys[0] == keyEscape {
		return false // an arrow, or another key that sends several bytes
	}
	for _, key := range keys {
		switch {
		case key == keyInterrupt, key == keyEnd, key == 'q' && !t.typing:
			return true
		case key == keyEscape:
			t.typing, t.filter = false, ""
		case t.typing:
			t.typeFilter(key)
		case key == '/':
			t.typing, t.filter = true, ""
		case key == 's':
			t.sort = nextOf(view.TopSorts, t.sort)
		}
	}
	return false
}

func (t *topping) typeFilter(key rune) {
	switch {
	case key == keyEnter:
		t.typing = false
	case key == keyErase, key == keyDelete:
		_, n := utf8.DecodeLastRuneInString(t.filter)
		t.filter = t.filter[:len(t.filter)-n]
	case key >= ' ' && len(t.filter) < maxFilter:
		t.filter += string(key)
	}
}

// nextOf is the word behind another, the first behind the last.
func nextOf(words []string, word string) string {
	for i := range words {
		if words[i] == word {
			return words[(i+1)%len(words)]
		}
	}
	return words[0]
}
