package cli

import (
	"errors"
	"os"
	"syscall"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine"
	"pipeline/engine/broker"
)

// The exit codes. They are never renumbered.
const (
	exitDone = 0
	// exitFailed: failed while running.
	exitFailed = 1
	// exitUsage: wrong usage or an invalid pipeline.
	exitUsage = 2
	// exitDifference: a difference was found.
	exitDifference = 3
	// exitServer: the server cannot be reached, refuses, or is unsuitable.
	exitServer = 4
	// exitLeft: stopped before everything in flight was settled.
	exitLeft = 5
	// exitSignal is added to the number of a second signal.
	exitSignal = 128
)

// failure is an error with its exit code.
type failure struct {
	view.Failure
	// said: the reason was printed already.
	said bool
	err  error
}

// Error is the message.
func (f *failure) Error() string { return f.Message }

// Unwrap is the error behind it.
func (f *failure) Unwrap() error { return f.err }

// fail ends a command with a code; word is the stable name of the reason.
func fail(exit int, word, message string) *failure {
	return &failure{Failure: view.Failure{Exit: exit, Code: word, Message: message}}
}

// said ends a command whose reason was printed.
func said(exit int) *failure { return &failure{Failure: view.Failure{Exit: exit}, said: true} }

// failureOf finds the exit code of an error.
func failureOf(err error) *failure {
	if err == nil {
		return said(exitDone)
	}
	f, ok := errors.AsType[*failure](err)
	if ok {
		return f
	}
	exit, word := classify(err)
	return &failure{Failure: view.Failure{Exit: exit, Code: word, Message: err.Error()}, err: err}
}

// classify is the exit code and word of an error of the engine or the broker.
func classify(err error) (exit int, word string) {
	if e, ok := errors.AsType[*engine.UnsuitableError](err); ok {
		return exitServer, e.Code
	}
	if _, ok := errors.AsType[*engine.LeftError](err); ok {
		return exitLeft, "entries_left"
	}
	for _, known := range serverErrors {
		if errors.Is(err, known.kind) {
			return exitServer, known.word
		}
	}
	if _, ok := errors.AsType[*engine.FailedError](err); ok {
		return exitFailed, "all_failed"
	}
	return exitFailed, ""
}

// serverErrors are the kinds of errors that are the server's.
var serverErrors = []struct {
	kind error
	word string
}{
	{broker.ErrUnavailable, "server_unavailable"},
	{broker.ErrAuth, "server_refuses"},
	{broker.ErrNoPermission, "server_refuses"},
	{broker.ErrWrongType, "server_wrong_type"},
	{broker.ErrOutOfMemory, "server_full"},
	{broker.ErrUnsupported, "server_unsuitable"},
}

// signalExit is the exit code of a process that a signal ended.
func signalExit(s os.Signal) int {
	if number, ok := s.(syscall.Signal); ok {
		return exitSignal + int(number)
	}
	return exitFailed
}
