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
// of Path; modules are those of Modules, in order. It may keep them until Load
// returns, to do once what several handlers need, and must not change them.
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
	// have it; Available are those it has, and Lines where they begin. Line is
	// then where something of the name stands that cannot be called.
	Function  string
	Available []string
	Lines     map[string]int
	// Grant is the kind of grant that the script needs and the handler lacks.
	Grant string
	// Unknown is a name that the script uses and that does not exist. Meant is
	// what is called so elsewhere; Known are the names that exist in its place.
	Unknown, Meant string
	Known          []string
	// Unreturned is the function that makes an outcome which is not returned.
	Unreturned string
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
		if !ok || l.opts.CheckHandler == nil || !n.val("function").ok || slices.ContainsFunc(n.all("grant"), badNode) {
			continue
		}
		for _, problem := range l.opts.CheckHandler(h, source, modules) {
			l.handlerProblem(n, h, problem)
		}
	}
}

// badNode reports whether a block has a problem already.
func badNode(n *node) bool { return n.bad }

// checkKind checks that the file names end as they should.
func (l *loader) checkKind(n *node, h *spec.Handler) bool {
	v := n.val("source")
	ext := path.Ext(h.Source)
	if ext != ".lua" && ext != ".wasm" {
		d := l.fail(diag.InvalidValue, v.rng, fmt.Sprintf("%s is no handler that can be run", h.Source), "Handlers are .lua scripts or .wasm modules.")
		d.Suggest(l.nearHandler(h.Source, h.Path))
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

// nearHandler is the script beside a file that cannot be one: of its name, or
// with its ending misspelt.
func (l *loader) nearHandler(name, where string) string {
	for _, ext := range []string{".lua", ".wasm"} {
		if _, err := fs.Stat(l.fsys, where+ext); err == nil {
			return name + ext
		}
	}
	near := l.nearScript(name, where)
	if ext := path.Ext(near); ext != ".lua" && ext != ".wasm" {
		return ""
	}
	return near
}

// nearScript is the file beside a missing one that was probably meant, as the
// pipeline file would name it.
func (l *loader) nearScript(name, where string) string {
	if !path.IsAbs(name) {
		if found := l.below(strings.TrimSuffix(path.Dir(where), path.Dir(name)), path.Base(name)); found != "" {
			return found
		}
	}
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

// maxFolders is in how many folders a file is looked for.
const maxFolders = 200

// below is the path from a directory to the only file of a name in a folder of
// it, or "".
func (l *loader) below(dir, name string) string {
	dir = path.Clean(dir)
	entries, err := fs.ReadDir(l.fsys, dir)
	if err != nil {
		return ""
	}
	found, looked := "", 0
	for _, e := range entries {
		if !e.IsDir() || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		if looked++; looked > maxFolders {
			return ""
		}
		if at := path.Join(e.Name(), name); l.exists(path.Join(dir, at)) {
			if found != "" {
				return ""
			}
			found = at
		}
	}
	return found
}

// wordEnd is the end of the word at an offset, at least one byte on.
func wordEnd(text []byte, from int) int {
	end := from
	for end < len(text) && (text[end] == '_' || text[end] >= '0' && text[end] <= '9' || text[end]|0x20 >= 'a' && text[end]|0x20 <= 'z') {
		end++
	}
	return max(end, min(from+1, len(text)))
}
