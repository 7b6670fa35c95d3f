package reader

import (
	"context"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
)

// ask finds the entries of a batch whose keys are marked, with one question for
// all. While the server does not answer, it waits for it, with the entries held
// and renewed: none runs unasked, and none is delivered again for it. What could
// not be found out by the end of ctx, or ever, is handed back by the lanes.
func (d *Dispatcher) ask(ctx context.Context, b *batch.Batch) error {
	if d.Marks.Window == 0 {
		return nil
	}
	d.asked, d.keys = d.asked[:0], d.keys[:0]
	for i := range b.Items {
		if it := &b.Items[i]; it.Mark != "" {
			d.asked, d.keys = append(d.asked, it), append(d.keys, it.Mark)
		}
	}
	if len(d.keys) == 0 {
		return nil
	}
	marks, err := d.marked(ctx)
	for i, it := range d.asked {
		switch {
		case marks == nil:
			it.Unasked = true
		case marks[i].Found():
			it.Marked = &marks[i]
		}
	}
	clear(d.asked)
	clear(d.keys)
	return err
}

// marked asks until there is an answer, or ctx is done: without marks and without
// an error then.
func (d *Dispatcher) marked(ctx context.Context) ([]broker.Mark, error) {
	part := d.Server.Part()
	defer part.Leave()
	request := broker.MarkedRequest{Stream: d.Owner.Stream, Group: d.Owner.Group, Marks: d.Marks, Keys: d.keys}
	for {
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
		marks, err := d.Broker.Marked(call, request)
		cancel()
		if err == nil {
			part.OK()
			return marks, nil
		}
		if !broker.Transient(err) {
			return nil, err
		}
		part.Failed(err)
		if part.Wait(ctx) != nil {
			return nil, nil
		}
	}
}
