package view

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// Tried is what a subscription would do with an entry, as it may be shown: with what
// streams declare sensitive masked, for whoever lays it out in another way than lines
// of text. Nothing in it belongs to the run any more.
type Tried struct {
	Result observe.Result
	// Failed: the handler failed, or the entry never came to it.
	Failed bool
	// Fate is what would become of the entry, Error why it failed, Reason the handler's
	// word; each "" for none. Kind tells failures of handlers apart.
	Fate, Error, Reason, Kind string
	Replies                   []TriedReply
	Logs                      []TriedLog
	// Ran: the handler was called. Elapsed, Instructions and Bytes are what it used.
	Ran                 bool
	Elapsed             time.Duration
	Instructions, Bytes int64
	// Left is how many replies and lines of the log are not in it.
	Left int
}

// TriedReply is a message that would be published.
type TriedReply struct {
	Stream, Key string
	Headers     []SeenField
	// Lines are the body: JSON indented, text as it is, bytes as base64.
	Lines []string
	Cut   bool
}

// TriedLog is a line that the handler logged.
type TriedLog struct{ Level, Message string }

// mostTried is how many replies, and how many lines of a log, are shown.
const mostTried = 50

// Tried makes of an outcome what may be shown of it, with at most limit bytes of each
// reply's body. body is the decoded one, nil or null where the entry could not be
// decoded.
func (v *View) Tried(p *spec.Pipeline, sub *spec.Subscription, body *value.Value, o *observe.Outcome, limit int) *Tried {
	scrub := newScrubber(p)
	hide := scrub.of(sub.Group.Stream.Name, body, o)
	if scrub.undecoded(sub.Group.Stream.Name, body, o) {
		hide = unknown
	}
	o = scrub.outcome(o, hide)
	bare := *o
	bare.Error, bare.Reason = "", ""
	t := &Tried{
		Result: o.Result, Failed: o.Result == observe.ResultFailed || o.Result == observe.ResultInvalid,
		Fate: own((&lines{}).fate(sub, &bare)), Error: own(o.Error), Reason: own(o.Reason), Kind: string(o.Kind),
		Ran: !o.Began.IsZero(), Elapsed: o.Elapsed, Instructions: o.Usage.Instructions, Bytes: o.Usage.Bytes,
	}
	for i := range o.Replies {
		if i == mostTried {
			t.Left += len(o.Replies) - i
			break
		}
		t.Replies = append(t.Replies, triedReply(&o.Replies[i], limit))
	}
	for i := range o.Logs {
		if i == mostTried {
			t.Left += len(o.Logs) - i
			break
		}
		l := &o.Logs[i]
		t.Logs = append(t.Logs, TriedLog{levelName(l.Level), fit(own(logText(l)), shownHeader)})
	}
	return t
}

func triedReply(r *observe.Reply, limit int) TriedReply {
	t := TriedReply{Stream: own(r.Stream), Key: own(r.Key)}
	for _, h := range r.Headers {
		if len(t.Headers) == shownFields {
			break
		}
		t.Headers = append(t.Headers, triedHeader(h))
	}
	text := r.Body
	var pretty bytes.Buffer
	if isJSON(r) && json.Indent(&pretty, []byte(text), "", "  ") == nil {
		text = pretty.String()
	}
	if !utf8.ValidString(text) {
		text = "base64 " + base64.StdEncoding.EncodeToString([]byte(text))
	}
	for line := range strings.SplitSeq(text, "\n") {
		line = own(line)
		if len(line) > limit {
			t.Lines, t.Cut = append(t.Lines, shorten(line, limit)), true
			break
		}
		limit -= len(line) + 1
		t.Lines = append(t.Lines, line)
	}
	return t
}

func triedHeader(h outcome.Header) SeenField {
	return SeenField{fit(legible(strings.Clone(h.Name)), shownHeader), shorten(legible(strings.Clone(h.Value)), shownHeader)}
}

// own is a text that can be shown, in memory of its own.
func own(s string) string { return clean(strings.Clone(s)) }
