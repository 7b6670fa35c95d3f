package testrun

import (
	"fmt"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/input"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
	"pipeline/lang/testspec"
)

// publisher turns what a test publishes into entries. Bodies need not be of
// their stream's type: what becomes of such an entry is worth a test.
type publisher struct {
	streams map[string]*spec.Stream
	entries *build.Entries
}

func newPublisher(p *spec.Pipeline) (*publisher, error) {
	encoders, err := build.NewEntries(p, false)
	if err != nil {
		return nil, err
	}
	streams := map[string]*spec.Stream{}
	for _, s := range p.Streams {
		streams[s.Label] = s
	}
	return &publisher{streams, encoders}, nil
}

func (p *publisher) adds(published []testspec.Publish) ([]broker.Add, error) {
	adds := make([]broker.Add, len(published))
	for i := range published {
		stream := p.streams[published[i].Stream]
		if stream == nil {
			return nil, fmt.Errorf("publish to %s: the pipeline has no such stream", published[i].Stream)
		}
		e := &published[i]
		fields := e.Raw
		if fields == nil {
			var err error
			fields, err = p.entries.Fields(&input.Record{Stream: stream, Body: e.Entry, Key: e.Key, HasKey: e.HasKey, Headers: e.Headers})
			if err != nil {
				return nil, fmt.Errorf("publish to %s: %w", stream.Label, err)
			}
		}
		adds[i] = broker.Add{Stream: stream.Name, Fields: fields}
	}
	return adds, nil
}
