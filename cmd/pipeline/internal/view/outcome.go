package view

import (
	"slices"
	"strconv"
	"strings"

	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// results are all results, in the order in which summaries show them.
var results = []observe.Result{
	observe.ResultAck, observe.ResultReply, observe.ResultRetry, observe.ResultDrop, observe.ResultDead,
	observe.ResultFailed, observe.ResultInvalid, observe.ResultDuplicate, observe.ResultForeignRetry, observe.ResultStale,
}

// rare are the results that summaries name only where they occurred.
var rare = []observe.Result{observe.ResultDuplicate, observe.ResultForeignRetry, observe.ResultStale}

// resultWidth is the width of an ordinary result's name.
const resultWidth = len("invalid")

// Results are all results, in the order in which they are shown.
func Results() []observe.Result { return slices.Clone(results) }

func resultStyle(r observe.Result) style {
	switch r {
	case observe.ResultAck:
		return green
	case observe.ResultReply:
		return cyan
	case observe.ResultRetry, observe.ResultStale, observe.ResultForeignRetry:
		return yellow
	case observe.ResultDrop, observe.ResultDuplicate:
		return dim
	default:
		return red
	}
}

// lines renders outcomes as aligned text, one after the other.
type lines struct {
	p     paint
	width int
	// subWidth is the width of the longest label; idWidth and keyWidth grow with
	// what was seen.
	subWidth, idWidth, keyWidth int
	// sensitive are the fields to mask, by the key of the stream.
	sensitive map[string][]string
}

const (
	// keyWidth is the width of the key's column to begin with.
	keyWidth = 12
	// maxKeyWidth is the widest key that others are aligned to.
	maxKeyWidth = 24
	// maxDetail is how much of a body or message one line shows where there is
	// no terminal whose width would say so.
	maxDetail = 240
)

func newLines(o Options, p *spec.Pipeline) *lines {
	l := &lines{p: paint(o.Color), width: o.Width, idWidth: len("1000-0"), sensitive: map[string][]string{}}
	for _, s := range p.Subscriptions() {
		l.subWidth = max(l.subWidth, columns(s.Label))
		if s.Workers.Key != nil {
			l.keyWidth = keyWidth
		}
	}
	for _, s := range p.Streams {
		if len(s.Sensitive) > 0 {
			l.sensitive[s.Name] = s.Sensitive
		}
	}
	return l
}

// append renders one outcome: id, subscription, key, result and what there is
// to say about it; further replies and the handler's log below.
func (l *lines) append(dst []byte, sub *spec.Subscription, o *observe.Outcome) []byte {
	var buf [48]byte
	id := string(o.ID.Append(buf[:0]))
	key := fit(clean(o.Key), maxKeyWidth)
	l.idWidth, l.keyWidth = max(l.idWidth, len(id)), max(l.keyWidth, columns(key))
	dst = l.p.pad(dst, dim, id, l.idWidth+gap)
	dst = l.p.pad(dst, plain, clean(sub.Label), l.subWidth+gap)
	if l.keyWidth > 0 {
		dst = l.p.pad(dst, plain, key, l.keyWidth+gap)
	}
	details, column := l.details(sub, o), l.indent()
	if len(details) == 0 || !l.fits(details, column) {
		dst = l.p.append(dst, resultStyle(o.Result), string(o.Result))
		dst = append(dst, '\n')
		column = logIndent
	} else {
		dst = l.p.pad(dst, resultStyle(o.Result), string(o.Result), resultWidth+gap)
		dst = append(append(dst, l.cut(details[0], column)...), '\n')
		details = details[1:]
	}
	for _, text := range details {
		dst = appendSpaces(dst, column)
		dst = append(append(dst, l.cut(text, column)...), '\n')
	}
	for i := range o.Logs {
		dst = l.log(dst, &o.Logs[i])
	}
	return dst
}

// indent is the column of the details.
func (l *lines) indent() int {
	n := l.idWidth + gap + l.subWidth + gap + resultWidth + gap
	if l.keyWidth > 0 {
		n += l.keyWidth + gap
	}
	return n
}

// fits reports whether details can stand at a column. On a narrow terminal they
// stand below instead, where there is more room.
func (l *lines) fits(details []string, column int) bool {
	for _, text := range details {
		if l.width > 0 && columns(clean(text)) > l.width-column {
			return false
		}
	}
	return true
}

// cut fits a detail that begins at a column.
func (l *lines) cut(text string, column int) string {
	room := maxDetail
	if l.width > 0 {
		room = max(l.width-column, 16)
	}
	return fit(clean(text), room)
}

// details is what there is to say beside the result, a line each.
func (l *lines) details(sub *spec.Subscription, o *observe.Outcome) []string {
	var details []string
	for i := range o.Replies {
		details = append(details, l.reply(&o.Replies[i]))
	}
	if fate := l.fate(sub, o); len(details) == 0 && fate != "" {
		details = append(details, fate)
	}
	again := attempt(sub, o)
	switch {
	case again == "":
		return details
	case len(details) == 0:
		return []string{again}
	}
	details[0] = again + ", " + details[0]
	return details
}

// attempt tells a first delivery from a later one.
func attempt(sub *spec.Subscription, o *observe.Outcome) string {
	switch {
	case o.Attempt > 1:
		return "attempt " + strconv.Itoa(o.Attempt) + " of " + strconv.Itoa(sub.Retry.MaxAttempts)
	case o.Deliveries > 0:
		return "delivery " + strconv.FormatInt(o.Deliveries+1, 10)
	}
	return ""
}

// fate says what becomes of an entry that was not simply settled.
func (l *lines) fate(sub *spec.Subscription, o *observe.Outcome) string {
	why := o.Error
	if why == "" {
		why = o.Reason
	}
	switch {
	case o.Dead || o.Result == observe.ResultDead:
		return join("to "+sub.Group.DeadLetter.Name, why)
	case o.Result == observe.ResultRetry && !o.HasAfter:
		return join(bareRetry(sub), why)
	case o.HasAfter:
		return join("again in "+Duration(o.After), why)
	case o.Result == observe.ResultForeignRetry:
		return "a copy made by another group's retry"
	case o.Result == observe.ResultStale:
		return "taken over by another worker meanwhile; nothing was written"
	}
	return why
}

// bareRetry says when an entry comes back that asked for no certain time.
func bareRetry(sub *spec.Subscription) string {
	if sub.Claim == nil {
		return "again as a copy at the end of the stream"
	}
	return "again once idle for " + Duration(sub.Claim.MinIdle)
}

func join(what, why string) string {
	if why == "" {
		return what
	}
	return what + ": " + why
}

func (l *lines) reply(r *observe.Reply) string {
	text := "→ " + r.Stream + "  "
	switch r.Codec {
	case spec.CodecText:
		return text + strconv.Quote(r.Body)
	case spec.CodecBytes:
		return text + size(int64(len(r.Body)))
	}
	return text + mask(r.Body, l.sensitive[r.Stream])
}

// logIndent sets what a handler logged below its outcome.
const logIndent = 4

func (l *lines) log(dst []byte, line *sandbox.LogLine) []byte {
	level := levelName(line.Level)
	styles := map[string]style{"warn": yellow, "error": red}
	dst = appendSpaces(dst, logIndent)
	dst = l.p.pad(dst, styles[level], level, len("debug")+gap)
	return append(append(dst, l.cut(logText(line), logIndent+len("debug")+gap)...), '\n')
}

// logText is a line that a handler logged, with what it said beside it.
func logText(line *sandbox.LogLine) string {
	var text strings.Builder
	text.WriteString(line.Message)
	for i := range line.Attrs {
		text.WriteString("  " + line.Attrs[i].Name + "=" + line.Attrs[i].Value)
	}
	return text.String()
}
