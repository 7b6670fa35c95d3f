package capability

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// Bounds of what one call can log. A line beyond them is dropped and the last
// line says so; what is too long is shortened. Logging never fails a call for
// its amount: a payment is worth more than its log.
const (
	MaxLogLines   = 100
	MaxLogBytes   = 64 << 10
	maxLogMessage = 4 << 10
	maxLogAttrs   = 32
	maxLogAttr    = 1 << 10
)

// Log lets a handler write log lines: log.info(message, {name = value, …}).
var Log = &Capability{
	Kind: "log",
	Doc:  "Write log lines, with the entry's stream and id added to each.",
	Functions: []Function{
		{"debug", "log.debug(message, fields)", "A line for whoever looks for a fault."},
		{"info", "log.info(message, fields)", "A line about ordinary work."},
		{"warn", "log.warn(message, fields)", "A line about something unusual."},
		{"error", "log.error(message, fields)", "A line about something wrong; it does not fail the attempt."},
	},
	Open: func(_ sandbox.Grant, host sandbox.Host) Session { return &logSession{host: host} },
}

var logLevels = []sandbox.Level{sandbox.Debug, sandbox.Info, sandbox.Warn, sandbox.Error}

type logSession struct {
	host  sandbox.Host
	d     *sandbox.Delivery
	lines int
	bytes int
	full  bool
}

func (s *logSession) Begin(d *sandbox.Delivery) { *s = logSession{host: s.host, d: d} }

func (s *logSession) Call(fn int, args []value.Value) (value.Value, error) {
	line, err := logLine(fn, args)
	if err != nil || s.host == nil || s.full {
		return value.Value{}, err
	}
	size := len(line.Message)
	for _, a := range line.Attrs {
		size += len(a.Name) + len(a.Value)
	}
	s.lines, s.bytes = s.lines+1, s.bytes+size
	if s.full = s.lines > MaxLogLines || s.bytes > MaxLogBytes; s.full {
		line = sandbox.LogLine{
			Level:   sandbox.Warn,
			Message: fmt.Sprintf("further log lines of this call are dropped: a call may log %d lines and %d bytes", MaxLogLines, MaxLogBytes),
		}
	}
	s.host.Log(s.d, line)
	return value.Value{}, nil
}

func logLine(fn int, args []value.Value) (sandbox.LogLine, error) {
	line := sandbox.LogLine{Level: logLevels[fn]}
	usage := Log.Functions[fn].Usage
	if len(args) == 0 || len(args) > 2 {
		return line, errors.New("write " + usage)
	}
	line.Message = shorten(render(&args[0]), maxLogMessage)
	if len(args) == 1 || args[1].Kind() == value.Null {
		return line, nil
	}
	fields := &args[1]
	if fields.Kind() != value.Object && fields.Len() > 0 || fields.Kind() < value.Array {
		return line, fmt.Errorf("the fields of a log line are a table of names and values, got a %s: write %s", fields.Kind(), usage)
	}
	for i := range fields.Items() {
		v := &fields.Items()[i]
		line.Attrs = append(line.Attrs, outcome.Header{Name: shorten(v.Name(), maxLogAttr), Value: shorten(render(v), maxLogAttr)})
	}
	slices.SortFunc(line.Attrs, func(a, b outcome.Header) int { return strings.Compare(a.Name, b.Name) })
	if len(line.Attrs) > maxLogAttrs {
		left := len(line.Attrs) - maxLogAttrs
		line.Attrs = append(line.Attrs[:maxLogAttrs], outcome.Header{Name: "more_fields", Value: fmt.Sprint(left)})
	}
	return line, nil
}

// render is a value as a log line shows it: text bare, all else as JSON.
func render(v *value.Value) string {
	switch v.Kind() {
	case value.Null:
		return "null"
	case value.Bool, value.Number, value.String:
		return v.Text()
	}
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return "(" + err.Error() + ")"
	}
	return string(text)
}

func shorten(s string, most int) string {
	if len(s) <= most {
		return strings.Clone(s)
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
