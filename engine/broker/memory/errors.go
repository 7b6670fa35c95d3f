package memory

import (
	"context"
	"errors"

	"pipeline/engine/broker"
)

// operation is what an error says was being done, and to what.
type operation struct{ name, stream, group string }

func on(o broker.Owner, name string) operation {
	return operation{name: name, stream: o.Stream, group: o.Group}
}

// fail turns err into a *broker.Error of this operation; nil stays nil.
func (op operation) fail(err error) error {
	if err == nil {
		return nil
	}
	e := &broker.Error{Op: op.name, Stream: op.stream, Group: op.group}
	switch known, ok := errors.AsType[*broker.Error](err); {
	case ok:
		e.Kind, e.Detail = known.Kind, known.Detail
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		e.Kind, e.Detail = broker.ErrUnavailable, err.Error()
	default:
		e.Kind = err
	}
	return e
}

// invalid is an argument that no server would take.
func invalid(detail string) error { return &broker.Error{Detail: detail} }

func noGroup(stream, group string) error {
	return &broker.Error{Kind: broker.ErrNoGroup, Detail: "NOGROUP no key " + stream + " or consumer group " + group}
}

func wrongType(stream string) error {
	return &broker.Error{Kind: broker.ErrWrongType, Detail: "WRONGTYPE the key " + stream + " holds a string, not a stream"}
}

var errCount = invalid("count must be at least 1")
