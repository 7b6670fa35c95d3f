package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"time"

	"pipeline/cmd/pipeline/internal/view"
)

// signalEcho is how long after a signal the same one counts as its echo: programs
// that pass a signal on send it to the process and then to its group.
const signalEcho = 50 * time.Millisecond

// untilSignal returns a context that the first SIGINT or SIGTERM cancels, after
// first was called with it. The second ends the process at once. stop gives
// the signals back.
func (a *app) untilSignal(ctx context.Context, first func(os.Signal)) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		var second os.Signal
		select {
		case s := <-caught:
			first(s)
			cancel()
			second = a.secondSignal(s, caught, done)
		case <-done:
		}
		if second == nil {
			return
		}
		a.view.Failure(view.Failure{
			Exit: signalExit(second), Code: "stopped",
			Message: "a second signal (" + second.String() + ") stopped the process before it was done",
		})
		_ = a.view.Close() // the exit code tells more than an error of stdout
		a.exit(signalExit(second))
	}()
	return ctx, func() {
		signal.Stop(caught)
		close(done)
		cancel()
	}
}

// secondSignal waits for another signal that is no echo of the first; nil when
// done is closed before.
func (a *app) secondSignal(first os.Signal, caught <-chan os.Signal, done <-chan struct{}) os.Signal {
	echo := a.clock.NewTimer(signalEcho)
	defer echo.Stop()
	for echoing := true; ; {
		select {
		case s := <-caught:
			if !echoing || s != first {
				return s
			}
		case <-echo.C():
			echoing = false
		case <-done:
			return nil
		}
	}
}

// ignoreSignals leaves SIGINT and SIGTERM to another process.
func ignoreSignals() { signal.Ignore(os.Interrupt, syscall.SIGTERM) }
