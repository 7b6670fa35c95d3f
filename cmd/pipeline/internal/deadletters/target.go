package deadletters

import (
	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/spec"
)

// Why a letter cannot be replayed.
const (
	WhyForeign  = "no pipeline buried it: nothing says where it came from"
	WhyNoStream = "its stream is read by no group of this pipeline that buries here"
	WhyNoGroup  = "its group is not declared on that stream in this pipeline"
	WhyEmpty    = "nothing is left of it but what dead letters and retries add"
)

// Target is where a letter's entry goes back to. Its group is the one that buried
// it; why says what keeps it from going back, "" for nothing. With allGroups it is
// enough that the stream is known.
func (l *Letter) Target(allGroups bool) (stream *spec.Stream, group *spec.Group, why string) {
	if !l.Known {
		return nil, nil, WhyForeign
	}
	stream, group = l.Stream(), l.Group()
	switch {
	case stream == nil:
		why = WhyNoStream
	case group == nil && !allGroups:
		why = WhyNoGroup
	case len(l.Replayed(allGroups)) == 0:
		why = WhyEmpty
	}
	return stream, group, why
}

// Replayed are the fields with which a letter's entry goes back: its own, byte for
// byte, without what dead letters and retries add. Unless it is for all groups
// of the stream, the header of a retry's copy says for which it is: our other
// groups acknowledge it unrun. Without a count beside it, it begins anew.
func (l *Letter) Replayed(allGroups bool) []broker.Field {
	fields := l.Original()
	if allGroups {
		return fields
	}
	return append(fields, broker.Field{Name: codec.HeaderPrefix + codec.HeaderRetryGroup, Value: l.Facts.Group})
}
