package lang

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/lang/schema"
)

// handlerProblem turns a problem of a script into a diagnostic that points into
// the script, or to the argument that names what it lacks.
func (l *loader) handlerProblem(n *node, h *spec.Handler, p Problem) {
	if p.Grant != "" && l.excused["grant"] {
		return // it is written, in a wrong form
	}
	arg, file := n.val("source"), h.Path
	if p.Module >= 0 && p.Module < len(h.Modules) {
		arg, file = n.val("modules"), h.Modules[p.Module].Path
	}
	if p.Function != "" {
		l.noFunction(n, h, p)
		return
	}
	key := fmt.Sprint(file, "\x00", p.Line, "\x00", p.Column, "\x00", p.Message, "\x00", p.Remedy)
	if l.built.told[key] {
		return // of another handler of the same script
	}
	l.built.told[key] = true
	at, related := arg.rng, diag.Range{}
	if rng, ok := l.inScript(file, p.Line, p.Column); ok {
		at, related = rng, arg.rng
	}
	d := l.add(p.severity(), p.code(), at, p.Message, p.Remedy)
	d.Suggest(p.Meant)
	if p.Unknown != "" && p.Meant == "" {
		d.Suggest(diag.Nearest(p.Unknown, p.Known))
	}
	d.Relate(related, fmt.Sprintf("handler %q uses the script here", n.label))
	switch later := laterGrant(p.Unknown); {
	case later != "":
		d.Code, d.Summary, d.Detail, d.Suggestion = diag.GrantUnavailable, fmt.Sprintf("%s is not in this version", later), "It comes later. Only log can be granted now.", ""
	case p.Grant != "":
		l.addGrant(d, n, p.Grant)
	case p.Unknown != "" && p.Remedy == "" && d.Suggestion == "":
		d.Detail = l.definedIn(n, h, p.Unknown)
	}
}

// definedIn says how a script comes to a name that it has not: by a module of
// that name, where there is a file.
func (l *loader) definedIn(n *node, h *spec.Handler, name string) string {
	root, _, _ := strings.Cut(name, ".")
	if found := l.below(path.Dir(n.file.name), root+".lua"); found != "" && path.Join(path.Dir(n.file.name), found) != h.Path {
		return fmt.Sprintf("What a module defines can be used once the handler names it: modules = [%q].", found)
	}
	return "Define it in the script, or name the Lua file that does in modules of the handler."
}

func (p *Problem) severity() diag.Severity {
	if p.Warning {
		return diag.Warning
	}
	return diag.Error
}

func (p *Problem) code() diag.Code {
	switch {
	case p.Grant != "":
		return diag.MissingGrant
	case p.Unknown != "":
		return diag.ScriptUnknownName
	case p.Unreturned != "":
		return diag.OutcomeNotReturned
	}
	return diag.ScriptInvalid
}

// laterGrant is the capability of a later version that a script's name is, or
// "".
func laterGrant(name string) string {
	root, _, _ := strings.Cut(name, ".")
	if root == "" {
		return ""
	}
	if g := schema.Pipeline.Block("handler", "").Block("grant", root); g != nil && g.Variant == root && g.Later() {
		return root
	}
	return ""
}

// inScript is the word at a place in a script.
func (l *loader) inScript(file string, line, column int) (diag.Range, bool) {
	src := l.report.Source(file)
	if src == nil || line <= 0 {
		return diag.Range{}, false
	}
	from := src.Offset(line, column)
	if column <= 0 {
		from += len(src.Text[from:]) - len(bytes.TrimLeft(src.Text[from:], " \t"))
	}
	return src.Range(from, wordEnd(src.Text, from)), true
}

// addGrant adds the block to the handler's, when that ends on a line of its own.
func (l *loader) addGrant(d *diag.Diagnostic, n *node, kind string) {
	text, brace := n.file.src.Text, n.block.CloseBraceRange.Start.Byte
	if brace <= 0 || brace >= len(text) || len(n.file.poison) > 0 {
		return
	}
	line := bytes.LastIndexByte(text[:brace], '\n') + 1
	if indent := text[line:brace]; len(bytes.Trim(indent, " \t")) == 0 && line > 0 {
		d.Edit(n.file.src.Range(line, line), fmt.Sprintf("%s  grant %q {}\n", indent, kind))
	}
}

// noFunction reports a function that the script does not define.
func (l *loader) noFunction(n *node, h *spec.Handler, p Problem) {
	v := n.val("function")
	at := v.rng
	if !v.set {
		at = n.val("source").rng
	}
	d := l.add(p.severity(), diag.FunctionMissing, at, p.Message, p.Remedy)
	if here, ok := l.inScript(h.Path, p.Line, p.Column); ok {
		d.Relate(here, "it stands here")
		return
	}
	if len(p.Available) > 0 {
		d.Detail = h.Source + " has " + list(slices.Sorted(slices.Values(p.Available))) + "."
	}
	near := diag.Nearest(p.Function, p.Available)
	if near == "" && len(p.Available) == 1 && !v.set {
		near = p.Available[0]
	}
	if near == "" {
		return
	}
	d.Suggest(near)
	if there, ok := l.inScript(h.Path, p.Lines[near], 0); ok {
		d.Relate(there, near+" is defined here")
	}
	if v.set && isConstant(v.expr) {
		d.Edit(v.rng, fmt.Sprintf("%q", near))
	}
}
