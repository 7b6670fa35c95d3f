package codec

import (
	"errors"
	"fmt"

	"pipeline/engine/value"
)

// InvalidError says why a body, or what an expression reads of it, is not what
// was declared. It names places and kinds and never repeats what a body holds:
// it is logged and stands in dead letters.
type InvalidError struct {
	// Path is where, as users write it: items[0].name. "" is the whole body.
	Path string
	// Expected and Found complete "expected …, found …".
	Expected, Found string
	// Offset is where in the body's bytes, when they are no JSON; else -1.
	Offset int
	// Line and Column are the same place for people, from 1; else 0.
	Line, Column int
}

// Error is one line, whatever the body.
func (e *InvalidError) Error() string {
	place := "the body"
	switch {
	case e.Path != "":
		place = e.Path
	case e.Line > 0:
		place = fmt.Sprintf("the body is no JSON: line %d column %d", e.Line, e.Column)
	}
	return fmt.Sprintf("%s: expected %s, found %s", place, e.Expected, e.Found)
}

func mismatch(expected, found string) *InvalidError {
	return &InvalidError{Expected: expected, Found: found, Offset: -1}
}

// under puts the member's name before the error's path.
func (e *InvalidError) under(name string) *InvalidError {
	e.Path = value.MemberPath(name, e.Path)
	return e
}

// at puts the element's number before the error's path.
func (e *InvalidError) at(i int) *InvalidError {
	e.Path = value.IndexPath(i, e.Path)
	return e
}

// ErrTooLarge is what every *TooLargeError is.
var ErrTooLarge = errors.New("larger than max_entry_size")

// TooLargeError says that a body is larger than the stream allows. It was not
// parsed.
type TooLargeError struct{ Size, Limit int64 }

// Error is one line.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the body has %d bytes, max_entry_size allows %d", e.Size, e.Limit)
}

// Is reports whether target is ErrTooLarge.
func (e *TooLargeError) Is(target error) bool { return target == ErrTooLarge }

// ErrBodyMissing is what every *BodyMissingError is.
var ErrBodyMissing = errors.New("the entry has no body")

// BodyMissingError says that an entry has neither the field that carries the
// body nor, where they would do, fields of its own.
type BodyMissingError struct {
	// Field is the field that carries the body; "" where the fields are it.
	Field string
	// Names reports that there are other fields, of a stream whose codec does
	// not make a body of them.
	Names bool
}

// Error is one line.
func (e *BodyMissingError) Error() string {
	switch {
	case e.Field == "":
		return "the entry has no fields but headers"
	case e.Names:
		return fmt.Sprintf("the entry has no field %s, and a text cannot be made of its other fields", value.Quote(e.Field))
	}
	return fmt.Sprintf("the entry has no field %s and no fields of its own but headers", value.Quote(e.Field))
}

// Is reports whether target is ErrBodyMissing.
func (e *BodyMissingError) Is(target error) bool { return target == ErrBodyMissing }

// Reasons of dead letters. The set is closed and its names are stable.
const (
	// ReasonFailed: the attempts are used up, or on_failure says so.
	ReasonFailed = "failed"
	// ReasonInvalid: the entry is not what its stream declares.
	ReasonInvalid = "invalid"
	// ReasonTooLarge: its body is larger than max_entry_size.
	ReasonTooLarge = "too_large"
	// ReasonRejected: the handler said dead.
	ReasonRejected = "rejected"
	// ReasonExpired: it became older than the retry policy's max_age.
	ReasonExpired = "expired"
	// ReasonBodyMissing: it has no body.
	ReasonBodyMissing = "body_missing"
)

// InvalidReason is the reason of a dead letter for an error of Decode.
func InvalidReason(err error) string {
	switch {
	case errors.Is(err, ErrTooLarge):
		return ReasonTooLarge
	case errors.Is(err, ErrBodyMissing):
		return ReasonBodyMissing
	}
	return ReasonInvalid
}
