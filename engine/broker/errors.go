package broker

import "errors"

// The kinds of errors that a broker returns, for errors.Is. Everything else is
// an unexpected answer of the server and is returned as it came.
var (
	// ErrNoGroup: the stream or the group does not exist (NOGROUP). Nothing was
	// read or written.
	ErrNoGroup = errors.New("the consumer group does not exist")
	// ErrWrongType: the key holds something other than a stream (WRONGTYPE).
	ErrWrongType = errors.New("the key does not hold a stream")
	// ErrNoPermission: the user may not run the command or touch the key
	// (NOPERM). Detail names it.
	ErrNoPermission = errors.New("the user has no permission")
	// ErrAuth: the credentials are missing or refused (NOAUTH, WRONGPASS). They
	// may be rotating, so it is worth trying again, slowly.
	ErrAuth = errors.New("the server refuses the credentials")
	// ErrOutOfMemory: the server is full and refuses writes that grow it (OOM).
	ErrOutOfMemory = errors.New("the server is out of memory")
	// ErrUnavailable: the server cannot be reached, is loading, is a replica, or
	// did not answer in time. Whether the command ran is not known.
	ErrUnavailable = errors.New("the server is unavailable")
	// ErrUnsupported: the server is too old for the command, or lacks it.
	ErrUnsupported = errors.New("the server does not support the command")
	// ErrTooWide: an entry has more fields than one atomic step can carry.
	ErrTooWide = errors.New("the entry has too many fields")
	// ErrClosed: the broker was closed.
	ErrClosed = errors.New("the broker is closed")
)

// Error is an error of one operation. It never holds a URL or a password.
type Error struct {
	// Op is what was being done: "read", "settle".
	Op string
	// Stream and Group are what it was done to; Group may be empty.
	Stream, Group string
	// Kind is one of the kinds above, or nil.
	Kind error
	// Detail is the server's own words, or what else is known.
	Detail string
}

// Error is operation, object, kind and detail on one line.
func (e *Error) Error() string {
	s := e.Op
	if e.Stream != "" {
		s += " " + e.Stream
		if e.Group != "" {
			s += "/" + e.Group
		}
	}
	if e.Kind != nil {
		s += ": " + e.Kind.Error()
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	return s
}

// Unwrap is the kind.
func (e *Error) Unwrap() error { return e.Kind }

// Transient reports whether err is a state of the server that passes, so that
// the same call is worth repeating with backoff.
func Transient(err error) bool {
	return errors.Is(err, ErrUnavailable) || errors.Is(err, ErrAuth) || errors.Is(err, ErrOutOfMemory)
}
