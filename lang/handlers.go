package lang

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// maxScript is the largest script or module, in bytes.
const maxScript = 64 << 20

// CheckHandler compiles a handler and returns its problems. source is the text
// of Path; modules are those of Modules, in order. It must not keep them.
type CheckHandler func(h *spec.Handler, source []byte, modules [][]byte) []Problem

// Problem is what is wrong with a handler's script.
type Problem struct {
	// Module is the number of the module that the problem is in; -1 is the
	// handler's own source.
	Module int
	// Line and Column, from 1, are the place in the script; 0 is none.
	Line, Column int
	// Message is one line, lower case; Remedy says what to do.
	Message, Remedy string
	// Function is the name of the handler's function when the script does not
	// have it; Available are those it has.
	Function  string
	Available []string
	// Grant is the kind of grant that the script needs and the handler lacks.
	Grant string
	// Warning: the handler can be used in spite of it.
	Warning bool
}

// checkHandlers reads and compiles the scripts of all handlers.
func (l *loader) checkHandlers() {
	texts := map[string][]byte{}
	for _, n := range l.root.all("handler") {
		h := l.built.handlers[n]
		if n.bad || !n.val("source").ok || !n.val("modules").ok || !l.checkKind(n, h) {
			continue
		}
		source, ok := l.script(texts, n.val("source"), h.Source, h.Path)
		modules := make([][]byte, 0, len(h.Modules))
		for _, m := range h.Modules {
			text, good := l.script(texts, n.val("modules"), m.Source, m.Path)
			modules, ok = append(modules, text), ok && good
		}
		if !ok || l.opts.CheckHandler == nil || !n.val("function").ok {
			continue
		}
		for _, problem := range l.opts.CheckHandler(h, source, modules) {
			l.handlerProblem(n, h, problem)
		}
	}
}

// checkKind checks that the file names end as they should.
func (l *loader) checkKind(n *node, h *spec.Handler) bool {
	v := n.val("source")
	ext := path.Ext(h.Source)
	if ext != ".lua" && ext != ".wasm" {
		l.fail(diag.InvalidValue, v.rng, fmt.Sprintf("%s is no handler that can be run", h.Source), "Handlers are .lua scripts or .wasm modules.")
		return false
	}
	if ext == ".wasm" && len(h.Modules) > 0 {
		l.fail(diag.Conflict, n.val("modules").rng, "modules are for Lua handlers", "A WASM module contains all it needs.").Relate(v.rng, "the handler is a WASM module")
		return false
	}
	if ext == ".lua" && n.val("input").set {
		l.fail(diag.Conflict, n.val("input").rng, "input is for WASM handlers", "A Lua function is always given the decoded body and ctx.").Relate(v.rng, "the handler is a Lua script")
		return false
	}
	return true
}

// script reads a script once.
func (l *loader) script(texts map[string][]byte, v *value, name, where string) ([]byte, bool) {
	if text, ok := texts[where]; ok {
		return text, true
	}
	text, err := l.slurp(where, maxScript)
	switch {
	case err == nil:
		texts[where] = text
		l.report.AddSource(diag.NewSource(where, text))
		return text, true
	case errors.Is(err, errTooLarge):
		l.fail(diag.FileTooLarge, v.rng, fmt.Sprintf("%s is over %d MiB", name, maxScript>>20), "")
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrInvalid):
		d := l.fail(diag.ScriptNotFound, v.rng, fmt.Sprintf("there is no file %s", where), "Paths are relative to the file that names them.")
		d.Suggest(l.nearScript(name, where))
	default:
		l.fail(diag.FileUnreadable, v.rng, fmt.Sprintf("%s cannot be read", where), "Check that it is a file, and its permissions.")
	}
	return nil, false
}

// nearScript is the file beside a missing one that was probably meant, as the
// pipeline file would name it.
func (l *loader) nearScript(name, where string) string {
	if near := l.nearFile(where); near != "" {
		return path.Join(path.Dir(name), path.Base(near))
	}
	if near := l.nearFile(path.Dir(where)); near != "" && strings.Contains(name, "/") {
		moved := path.Join(near, path.Base(name))
		if _, err := fs.Stat(l.fsys, moved); err == nil {
			return path.Join(path.Dir(path.Dir(name)), path.Base(near), path.Base(name))
		}
	}
	return ""
}

// handlerProblem turns a problem of a script into a diagnostic that points into
// the script, or to the argument that names what it lacks.
func (l *loader) handlerProblem(n *node, h *spec.Handler, p Problem) {
	severity, code := diag.Error, diag.ScriptInvalid
	if p.Warning {
		severity = diag.Warning
	}
	arg, file := n.val("source"), h.Path
	if p.Module >= 0 && p.Module < len(h.Modules) {
		arg, file = n.val("modules"), h.Modules[p.Module].Path
	}
	if p.Function != "" {
		l.noFunction(n, h, p, severity)
		return
	}
	at, related := arg.rng, diag.Range{}
	if src := l.report.Source(file); src != nil && p.Line > 0 {
		from := src.Offset(p.Line, p.Column)
		at, related = src.Range(from, wordEnd(src.Text, from)), arg.rng
	}
	if p.Grant != "" {
		code = diag.MissingGrant
	}
	d := l.add(severity, code, at, p.Message, p.Remedy)
	d.Relate(related, fmt.Sprintf("handler %q uses the script here", n.label))
}

// noFunction reports a function that the script does not define.
func (l *loader) noFunction(n *node, h *spec.Handler, p Problem, severity diag.Severity) {
	v := n.val("function")
	at := v.rng
	if !v.set {
		at = n.val("source").rng
	}
	detail := p.Remedy
	if len(p.Available) > 0 {
		detail = h.Source + " has " + list(slices.Sorted(slices.Values(p.Available))) + "."
	}
	d := l.add(severity, diag.FunctionMissing, at, p.Message, detail)
	near := diag.Nearest(p.Function, p.Available)
	if near == "" && len(p.Available) == 1 && !v.set {
		near = p.Available[0]
	}
	if near != "" {
		d.Suggest(near)
		if v.set && isConstant(v.expr) {
			d.Edit(v.rng, fmt.Sprintf("%q", near))
		}
	}
}

// wordEnd is the end of the word at an offset, at least one byte on.
func wordEnd(text []byte, from int) int {
	end := from
	for end < len(text) && (text[end] == '_' || text[end] >= '0' && text[end] <= '9' || text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z') {
		end++
	}
	return max(end, min(from+1, len(text)))
}
