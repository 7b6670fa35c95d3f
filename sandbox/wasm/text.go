package wasm

import (
	"bytes"
	"strings"
	"unicode/utf16"

	"pipeline/engine/value"
)

// maxLine is where a line of standard output is cut; maxSaid is how much of
// standard error messages look at.
const (
	maxLine = 4 << 10
	maxSaid = 512
)

// lines collects what a module writes to a stream until a line is whole.
type lines struct{ part []byte }

// write takes text and hands on whole lines.
func (l *lines) write(text []byte, line func(string)) {
	for len(text) > 0 {
		head, rest, whole := bytes.Cut(text, []byte("\n"))
		if room := maxLine - len(l.part); len(head) > room {
			head = head[:room]
		}
		l.part = append(l.part, head...)
		if text = rest; !whole {
			return
		}
		l.flush(line)
	}
}

// flush hands on what is left of a line.
func (l *lines) flush(line func(string)) {
	if len(l.part) > 0 {
		line(strings.ToValidUTF8(string(l.part), "\uFFFD"))
		l.part = l.part[:0]
	}
}

// written takes what a module writes to standard output or error.
func (in *instance) written(text []byte, toError bool) {
	if toError {
		in.said = append(in.said, text[:min(len(text), maxSaid-min(len(in.said), maxSaid))]...)
	}
	if in.logs == nil {
		return
	}
	if toError {
		in.err.write(text, in.warnLine)
	} else {
		in.out.write(text, in.infoLine)
	}
}

// flush logs the lines that a module did not end.
func (in *instance) flush() {
	if in.logs != nil {
		in.out.flush(in.infoLine)
		in.err.flush(in.warnLine)
	}
}

func (in *instance) infoLine(s string) { in.line(logInfo, s) }
func (in *instance) warnLine(s string) { in.line(logWarn, s) }

// line logs a line of text, which cannot fail.
func (in *instance) line(function int, s string) {
	_ = in.log(function, []value.Value{value.NewString(s)})
}

// maxUTF16 is how much of a string of AssemblyScript is read, in bytes.
const maxUTF16 = 1 << 10

// utf16 reads a string of AssemblyScript: its length in bytes stands before
// it. A place that holds none reads as "".
func (c *hostCaller) utf16(place uint64) string {
	at := uint32(place)
	if at < 4 {
		return ""
	}
	length, ok := c.memory.ReadUint32Le(at - 4)
	if !ok {
		return ""
	}
	view, ok := c.memory.Read(at, min(length, maxUTF16)&^1)
	if !ok {
		return ""
	}
	units := make([]uint16, len(view)/2)
	for i := range units {
		units[i] = uint16(view[2*i]) | uint16(view[2*i+1])<<8
	}
	return shown(string(utf16.Decode(units)))
}
