package codec

import (
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// DeadLetter is what a dead letter says about its entry. It is written as
// headers whose names begin with "dead-letter-".
type DeadLetter struct {
	// Reason is one of the reasons in this package.
	Reason string
	// Error says what happened, or is the handler's own word. It is written as
	// one line of at most MaxErrorText bytes.
	Error string
	// Stream, ID and Group say which entry it was, by their names on the server.
	Stream, ID, Group string
	// Subscription is the label in the pipeline file, Consumer the name on the
	// server.
	Subscription, Consumer string
	// Attempts is how many attempts were made.
	Attempts int
	// FirstDelivery and LastDelivery are written in UTC to the millisecond. The
	// zero time is not known and not written.
	FirstDelivery, LastDelivery time.Time
	// PipelineVersion is the version of the pipeline file.
	PipelineVersion string
}

// MaxErrorText is how many bytes of an error's text a dead letter keeps.
const MaxErrorText = 2048

const deadLetterTime = "2006-01-02T15:04:05.000Z07:00"

// The names of the fields of a dead letter.
const (
	deadReason       = HeaderPrefix + deadLetterPrefix + "reason"
	deadError        = HeaderPrefix + deadLetterPrefix + "error"
	deadStream       = HeaderPrefix + deadLetterPrefix + "stream"
	deadID           = HeaderPrefix + deadLetterPrefix + "id"
	deadGroup        = HeaderPrefix + deadLetterPrefix + "group"
	deadSubscription = HeaderPrefix + deadLetterPrefix + "subscription"
	deadConsumer     = HeaderPrefix + deadLetterPrefix + "consumer"
	deadAttempts     = HeaderPrefix + deadLetterPrefix + "attempts"
	deadFirst        = HeaderPrefix + deadLetterPrefix + "first-delivery"
	deadLast         = HeaderPrefix + deadLetterPrefix + "last-delivery"
	deadVersion      = HeaderPrefix + deadLetterPrefix + "pipeline-version"
)

// Fields is the dead letter of an entry: the entry's own fields byte for byte,
// headers of an earlier death included, and after them the headers of d.
func (d *DeadLetter) Fields(original []Field) []Field {
	out := make([]Field, len(original), len(original)+11)
	copy(out, original)
	out = append(out,
		Field{Name: deadReason, Value: d.Reason},
		Field{Name: deadError, Value: oneLine(d.Error)},
		Field{Name: deadStream, Value: d.Stream},
		Field{Name: deadID, Value: d.ID},
		Field{Name: deadGroup, Value: d.Group},
		Field{Name: deadSubscription, Value: d.Subscription},
		Field{Name: deadConsumer, Value: d.Consumer},
		Field{Name: deadAttempts, Value: strconv.Itoa(d.Attempts)})
	if !d.FirstDelivery.IsZero() {
		out = append(out, Field{Name: deadFirst, Value: d.FirstDelivery.UTC().Format(deadLetterTime)})
	}
	if !d.LastDelivery.IsZero() {
		out = append(out, Field{Name: deadLast, Value: d.LastDelivery.UTC().Format(deadLetterTime)})
	}
	return append(out, Field{Name: deadVersion, Value: d.PipelineVersion})
}

// ParseDeadLetter reads what Fields wrote. Of an entry that died more
// than once it is the last death. ok is false for an entry without a reason, which
// is no dead letter. Numbers and times that cannot be read are zero.
func ParseDeadLetter(fields []Field) (d DeadLetter, ok bool) {
	for _, f := range fields {
		switch f.Name {
		case deadReason:
			d, ok = DeadLetter{Reason: f.Value}, true
		case deadError:
			d.Error = f.Value
		case deadStream:
			d.Stream = f.Value
		case deadID:
			d.ID = f.Value
		case deadGroup:
			d.Group = f.Value
		case deadSubscription:
			d.Subscription = f.Value
		case deadConsumer:
			d.Consumer = f.Value
		case deadAttempts:
			d.Attempts, _ = strconv.Atoi(f.Value)
		case deadFirst:
			d.FirstDelivery, _ = time.Parse(deadLetterTime, f.Value)
		case deadLast:
			d.LastDelivery, _ = time.Parse(deadLetterTime, f.Value)
		case deadVersion:
			d.PipelineVersion = f.Value
		}
	}
	return d, ok
}

// oneLine is a text as it may stand on a terminal: UTF-8 that is printable, on
// one line, bounded.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
	if len(s) <= MaxErrorText {
		return s
	}
	cut := MaxErrorText - len("…")
	for !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut] + "…"
}
