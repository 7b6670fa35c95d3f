package abi

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
)

// Bounds of what a result says.
const (
	maxReason  = 1 << 10
	maxHeaders = 64
	maxAfterMs = int64(365 * 24 * time.Hour / time.Millisecond)
)

// FromCode is the outcome of a result that is a code alone.
func FromCode(code uint32) (outcome.Outcome, error) {
	switch code {
	case CodeAck:
		return outcome.Outcome{Kind: outcome.Ack}, nil
	case CodeRetry:
		return outcome.Outcome{Kind: outcome.Retry}, nil
	case CodeDead:
		return outcome.Outcome{Kind: outcome.Dead}, nil
	case CodeDrop:
		return outcome.Outcome{Kind: outcome.Drop}, nil
	}
	return outcome.Outcome{}, fmt.Errorf("returned the code %d: return 0 (ack), 1 (retry), 2 (dead), 3 (drop), or the place and length of a result", code)
}

// Decoder reads results. What it returns is valid until the next. The zero
// Decoder is ready; it is not safe for concurrent use.
type Decoder struct {
	arena   value.Arena
	replies []outcome.Message
}

const usage = `a result is {"action": …, "after_ms": …, "reason": …, "replies": […]}`

// Decode reads a result: an object that says what becomes of the entry. It is
// strict, because a misspelt key must not lose a reply. The error completes
// "the module returned a result: …".
func (d *Decoder) Decode(text string) (outcome.Outcome, error) {
	if out, ok := d.plain(text); ok {
		return out, nil
	}
	return d.read(text)
}

// read is Decode of every result.
func (d *Decoder) read(text string) (outcome.Outcome, error) {
	d.arena.Reset()
	v, err := value.ParseJSON(text, &d.arena)
	if err != nil {
		return outcome.Outcome{}, fmt.Errorf("it is not JSON: %w", err)
	}
	if v.Kind() != value.Object {
		return outcome.Outcome{}, fmt.Errorf("it is not an object but a %s; %s", v.Kind(), usage)
	}
	out, err := d.object(&v)
	if err != nil {
		return outcome.Outcome{}, err
	}
	return out, nil
}

// What stands around the body in a result that is one reply and no more, as all SDKs
// and most modules write it.
const (
	plainHead = `{"action":"reply","replies":[{"body":`
	plainTail = `}]}`
)

// plain reads a result that is one reply and no more. It reports false for every other
// one, and for what is wrong: read reads that from its beginning and says why.
func (d *Decoder) plain(text string) (out outcome.Outcome, ok bool) {
	body, headed := strings.CutPrefix(text, plainHead)
	body, tailed := strings.CutSuffix(body, plainTail)
	// The body has three levels around it, which count.
	if !headed || !tailed || strings.Count(body, "{")+strings.Count(body, "[") > value.MaxDepth-3 {
		return out, false
	}
	d.arena.Reset()
	v, err := value.ParseJSON(body, &d.arena)
	if err != nil {
		return out, false // "1},{" is no body, either
	}
	d.replies = append(d.replies[:0], outcome.Message{Body: v})
	return outcome.Outcome{Kind: outcome.Reply, Replies: d.replies}, true
}

// object reads the members of a result.
func (d *Decoder) object(v *value.Value) (out outcome.Outcome, err error) {
	action := v.Get("action")
	if action == nil || action.Kind() != value.String {
		return out, fmt.Errorf(`"action" is missing or no string; %s`, usage)
	}
	i := slices.Index(actions, action.Text())
	if i < 0 {
		return out, fmt.Errorf(`"action" is %s; it is one of ack, retry, dead, drop and reply`, value.Quote(action.Text()))
	}
	out.Kind = outcome.Ack + outcome.Kind(i)
	for i := range v.Items() {
		m := &v.Items()[i]
		switch m.Name() {
		case "action":
		case "after_ms":
			err = readAfter(&out, m)
		case "reason":
			err = readReason(&out, m)
		case "replies":
			err = d.readReplies(&out, m)
		default:
			err = fmt.Errorf("it has the key %s, which does not exist; %s", value.Quote(m.Name()), usage)
		}
		if err != nil {
			return out, err
		}
	}
	if out.Kind == outcome.Reply && len(out.Replies) == 0 {
		return out, fmt.Errorf(`"action" is "reply" and "replies" is missing or empty`)
	}
	return out, nil
}

// actions are the outcomes that a result can name, in the order of their kinds.
var actions = []string{"ack", "retry", "dead", "drop", "reply"}

// absent: null counts as if the key were not there, which is what many
// encoders write for nothing.
func absent(v *value.Value) bool { return v.Kind() == value.Null }

func readAfter(out *outcome.Outcome, v *value.Value) error {
	if absent(v) {
		return nil
	}
	ms := int64(-1)
	if v.Kind() == value.Number {
		if n, err := strconv.ParseInt(value.CanonicalNumber(v.Text()), 10, 64); err == nil {
			ms = n
		}
	}
	if ms < 0 || ms > maxAfterMs {
		return fmt.Errorf(`"after_ms" is not a whole number of milliseconds from 0 to a year`)
	}
	if out.Kind != outcome.Retry {
		return fmt.Errorf(`"after_ms" is for the action "retry", and "action" is %q`, out.Kind)
	}
	out.After, out.HasAfter = time.Duration(ms)*time.Millisecond, true
	return nil
}

func readReason(out *outcome.Outcome, v *value.Value) error {
	if absent(v) {
		return nil
	}
	if v.Kind() != value.String {
		return fmt.Errorf(`"reason" is a %s; it is a string`, v.Kind())
	}
	if out.Kind == outcome.Ack || out.Kind == outcome.Reply {
		if v.Text() == "" {
			return nil
		}
		return fmt.Errorf(`"reason" is for the actions "retry", "dead" and "drop", and "action" is %q`, out.Kind)
	}
	out.Reason = strings.Clone(v.Text()) // which may be kept for long, and the result is not
	if len(out.Reason) > maxReason {
		out.Reason = strings.ToValidUTF8(out.Reason[:maxReason], "") + "…"
	}
	return nil
}

func (d *Decoder) readReplies(out *outcome.Outcome, v *value.Value) error {
	if absent(v) {
		return nil
	}
	if v.Kind() != value.Array {
		return fmt.Errorf(`"replies" is a %s; it is an array of {"to", "body", "key", "headers"}`, v.Kind())
	}
	if v.Len() > 0 && out.Kind != outcome.Reply {
		return fmt.Errorf(`"replies" are for the action "reply", and "action" is %q`, out.Kind)
	}
	d.replies = d.replies[:0]
	for i := range v.Items() {
		m, err := readReply(v.At(i))
		if err != nil {
			return fmt.Errorf("replies[%d]: %w", i, err)
		}
		d.replies = append(d.replies, m)
	}
	out.Replies = d.replies
	return nil
}

func readReply(v *value.Value) (m outcome.Message, err error) {
	if v.Kind() != value.Object {
		return m, fmt.Errorf(`it is a %s; it is an object {"to", "body", "key", "headers"}`, v.Kind())
	}
	bodies := 0
	for i := range v.Items() {
		x := &v.Items()[i]
		switch x.Name() {
		case "body":
			m.Body = x.Named("")
			bodies++
		case "body_base64":
			m.Body, err = decode64(x)
			bodies++
		case "to":
			var given bool
			if m.To, given, err = optionalText(x); given && m.To == "" {
				err = fmt.Errorf(`"to" is empty; it is the name of a route`)
			}
		case "key":
			m.Key, m.HasKey, err = optionalText(x)
		case "headers":
			m.Headers, err = readHeaders(x)
		default:
			err = fmt.Errorf(`it has the key %s, which does not exist; a reply is {"to", "body", "key", "headers"}`, value.Quote(x.Name()))
		}
		if err != nil {
			return m, err
		}
	}
	if bodies != 1 {
		return m, fmt.Errorf(`it needs "body", or "body_base64" for bytes, and not both`)
	}
	return m, nil
}

func decode64(v *value.Value) (value.Value, error) {
	if v.Kind() == value.String {
		if b, err := base64.StdEncoding.Strict().DecodeString(v.Text()); err == nil {
			return value.NewString(string(b)), nil
		}
	}
	return value.Value{}, fmt.Errorf(`"body_base64" is not base64 in the standard alphabet with padding`)
}

func optionalText(v *value.Value) (text string, given bool, err error) {
	switch v.Kind() {
	case value.Null:
		return "", false, nil
	case value.String:
		return v.Text(), true, nil
	}
	return "", false, fmt.Errorf("%q is a %s; it is a string", v.Name(), v.Kind())
}

// readHeaders reads the headers of a reply, in the byte order of their names
// so that the same reply is the same bytes.
func readHeaders(v *value.Value) ([]outcome.Header, error) {
	if absent(v) {
		return nil, nil
	}
	if v.Kind() != value.Object {
		return nil, fmt.Errorf(`"headers" is a %s; it is an object of names and strings`, v.Kind())
	}
	if v.Len() > maxHeaders {
		return nil, fmt.Errorf("a reply can have %d headers", maxHeaders)
	}
	var out []outcome.Header
	for i := range v.Items() {
		x := &v.Items()[i]
		if x.Name() == "" || x.Kind() != value.String {
			return nil, fmt.Errorf("the header %s is a %s; it needs a name and has to be a string", value.Quote(x.Name()), x.Kind())
		}
		out = append(out, outcome.Header{Name: x.Name(), Value: x.Text()})
	}
	slices.SortFunc(out, func(a, b outcome.Header) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}
