package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"pipeline/cmd/pipeline/internal/view"
)

// untilSignal returns a context that the first SIGINT or SIGTERM cancels, after
// first was called with it. The second ends the process at once. stop gives
// the signals back.
func (a *app) untilSignal(ctx context.Context, first func(os.Signal)) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	caught := make(chan os.Signal, 2)
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case s := <-caught:
			first(s)
			cancel()
		case <-done:
			return
		}
		select {
		case s := <-caught:
			a.view.Failure(view.Failure{
				Exit: signalExit(s), Code: "stopped",
				Message: "a second signal (" + s.String() + ") stopped the process before it was done",
			})
			_ = a.view.Close() // the exit code tells more than an error of stdout
			a.exit(signalExit(s))
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(caught)
		close(done)
		cancel()
	}
}
