package view

import (
	"context"
	"log/slog"
	"slices"
	"strings"
)

// Logger writes logs to stderr: JSON unless that is a terminal, or to stdout
// where everything is JSON. Lines below level are not written.
func (v *View) Logger(level slog.Level) *slog.Logger {
	if v.o.ErrTerminal && !v.o.JSON {
		return slog.New(&textHandler{v: v, level: level})
	}
	return slog.New(slog.NewJSONHandler(writer{v}, &slog.HandlerOptions{Level: level, ReplaceAttr: lowerLevel}))
}

// lowerLevel writes levels as every other line of ours does.
func lowerLevel(groups []string, a slog.Attr) slog.Attr {
	if len(groups) == 0 && a.Key == slog.LevelKey {
		return slog.String(a.Key, strings.ToLower(a.Value.String()))
	}
	return a
}

// textHandler writes logs for a person: time, level, message, attributes.
type textHandler struct {
	v      *View
	level  slog.Level
	attrs  []slog.Attr
	prefix string
}

// Enabled reports whether lines of a level are written.
func (h *textHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

// Handle writes one line.
func (h *textHandler) Handle(_ context.Context, r slog.Record) error {
	p := paint(h.v.o.ErrColor)
	line := p.append(nil, dim, r.Time.Format("15:04:05.000"))
	level := strings.ToLower(r.Level.String())
	line = p.pad(append(line, ' '), levelStyle(r.Level), level, len("error")+1)
	line = append(line, clean(r.Message)...)
	for _, a := range h.attrs {
		line = appendAttr(line, p, "", a)
	}
	r.Attrs(func(a slog.Attr) bool {
		line = appendAttr(line, p, h.prefix, a)
		return true
	})
	h.v.say(append(line, '\n'))
	return nil
}

func levelStyle(l slog.Level) style {
	switch {
	case l >= slog.LevelError:
		return red
	case l >= slog.LevelWarn:
		return yellow
	case l >= slog.LevelInfo:
		return green
	default:
		return dim
	}
}

// appendAttr appends "  key=value". Empty attributes are left out.
func appendAttr(line []byte, p paint, prefix string, a slog.Attr) []byte {
	value := a.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		if a.Key != "" {
			prefix += a.Key + "."
		}
		for _, inner := range value.Group() {
			line = appendAttr(line, p, prefix, inner)
		}
		return line
	}
	text := clean(value.String())
	if a.Key == "" || text == "" {
		return line
	}
	if value.Kind() == slog.KindDuration {
		text = Duration(value.Duration())
	}
	line = p.append(append(line, "  "...), dim, prefix+a.Key+"=")
	return append(line, text...)
}

// WithAttrs adds attributes to every line.
func (h *textHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	out := *h
	out.attrs = slices.Clone(h.attrs)
	for _, a := range attrs {
		a.Key = h.prefix + a.Key
		out.attrs = append(out.attrs, a)
	}
	return &out
}

// WithGroup puts the attributes that follow below a name.
func (h *textHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	out := *h
	out.prefix += name + "."
	return &out
}
