package lang

import (
	"bytes"
	"regexp"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
)

// What other tools leave in a file: marks of a merge conflict, fences of
// Markdown, actions of templates that nobody has filled in.
var (
	conflictMark = regexp.MustCompile(`(?m)^(<{7}|\|{7}|={7}|>{7})(?:[ \t][^\r\n]*|\r)?$`)
	fence        = regexp.MustCompile("(?m)^[ \t]*(?:`{3,}|~{3,})[\\w-]*[ \t]*\r?$")
	action       = regexp.MustCompile(`\{\{[^{}\n]*\}\}|\{%[^{}\n]*%\}|<%[^\n]*?%>`)
	hunk         = regexp.MustCompile(`(?m)^(?:@@ [^\n]*@@[^\n]*|diff --git [^\n]*|index [0-9a-f]{7,}\.\.[^\n]*|(?:\+\+\+|---) [ab]/[^\n]*)$`)
)

// leftovers reports each of them once and takes it out of the text.
func (r *repairer) leftovers() {
	for _, find := range []func(){r.conflicts, r.fences, r.hunks, r.actions} {
		find()
		if r.dirty && !r.broken {
			r.mended()
		}
	}
}

// isText reports whether an offset lies in a comment or in constant text, where
// everything may stand.
func (r *repairer) isText(offset int) bool {
	i, _ := slices.BinarySearchFunc(r.tokens, offset, func(t hclsyntax.Token, at int) int {
		if to(t) <= at {
			return -1
		}
		return 1
	})
	switch r.kind(i) {
	case hclsyntax.TokenComment, hclsyntax.TokenStringLit, hclsyntax.TokenQuotedLit:
		return from(r.tokens[i]) <= offset
	}
	return false
}

// found are the matches of a pattern in the code of the file.
func (r *repairer) found(pattern *regexp.Regexp, sign string) [][]int {
	if !bytes.Contains(r.text, []byte(sign)) {
		return nil
	}
	return slices.DeleteFunc(pattern.FindAllIndex(r.text, -1), func(m []int) bool { return r.isText(m[0]) })
}

// clear writes spaces over a piece of the text; its lines stay.
func (r *repairer) clear(start, end int) {
	r.dirty = true
	for i := start; i < end; i++ {
		if c := r.text[i]; c != '\n' && c != '\r' {
			r.text[i] = ' '
		}
	}
}

// conflicts reports conflicts that were not resolved, and reads on with the
// first side of each.
func (r *repairer) conflicts() {
	marks := r.found(conflictMark, "<<<<<<<")
	if len(marks) == 0 {
		marks = r.found(conflictMark, ">>>>>>>")
	}
	const help = "Keep one side, and remove the lines of <<<<<<<, ======= and >>>>>>>."
	for len(marks) > 0 {
		first := marks[0]
		end := slices.IndexFunc(marks, func(m []int) bool { return r.text[m[0]] == '>' })
		if r.text[first[0]] != '<' || end < 0 {
			for _, m := range marks {
				r.clear(m[0], m[1])
			}
			r.l.fail(diag.Syntax, r.mark(first), "a mark of a merge conflict is left here", help).Edit(r.wholeLine(first), "")
			return
		}
		d := r.l.fail(diag.Syntax, r.mark(first), "here a merge conflict was not resolved", help)
		if end > 1 {
			d.Relate(r.mark(marks[end-1]), "the other side begins here")
		}
		d.Relate(r.mark(marks[end]), "it ends here")
		r.clear(first[0], first[1])
		r.clear(marks[min(1, end)][0], marks[end][1])
		marks = marks[end+1:]
	}
}

// mark is the range of a match without the space around it.
func (r *repairer) mark(m []int) diag.Range {
	text := r.f.src.Text[m[0]:m[1]]
	start := m[0] + len(text) - len(bytes.TrimLeft(text, " \t"))
	return r.f.src.Range(start, m[0]+len(bytes.TrimRight(text, " \t\r")))
}

// wholeLine is the range of a match and the line break behind it.
func (r *repairer) wholeLine(m []int) diag.Range {
	end := m[1]
	if end < len(r.text) {
		end++
	}
	return r.f.src.Range(m[0], end)
}

// fences reports the lines that begin and end code in Markdown.
func (r *repairer) fences() {
	marks := r.found(fence, "```")
	if len(marks) == 0 {
		marks = r.found(fence, "~~~")
	}
	if len(marks) == 0 {
		return
	}
	d := r.l.fail(diag.Syntax, r.mark(marks[0]), "this line is of Markdown", "It begins or ends a piece of code there. Remove it.")
	for _, m := range marks {
		d.Edit(r.wholeLine(m), "")
		r.clear(m[0], m[1])
	}
}

// hunks reports the lines of a difference that say what it is about.
func (r *repairer) hunks() {
	marks := r.found(hunk, "")
	if len(marks) == 0 {
		return
	}
	d := r.l.fail(diag.Syntax, r.mark(marks[0]), "this line is of a difference", "It tells where lines were changed. Remove it.")
	for _, m := range marks {
		d.Edit(r.wholeLine(m), "")
		r.clear(m[0], m[1])
	}
}

// actions reports {{ … }}, {% … %} and <% … %>, which Helm, Jinja and others
// replace by a value.
func (r *repairer) actions() {
	told := false
	for _, m := range append(append(r.found(action, "{{"), r.found(action, "{%")...), r.found(action, "<%")...) {
		if r.text[m[0]] == ' ' {
			continue // found by another sign before
		}
		if sign := string(r.text[m[0] : m[0]+2]); (!told || sign == "{{") && !r.l.report.Full() {
			r.l.fail(diag.Syntax, r.f.src.Range(m[0], m[1]), sign+" … "+string(r.text[m[1]-2:m[1]])+" is of another language", "No tool has filled it in, and a pipeline file is no template. Declare a variable, write var.name, and give it by --var, --var-file or PIPELINE_VAR_name.")
			told = true
		}
		r.clear(m[0], m[1])
		if at := r.before(m[0]); at >= 0 && r.text[at] != '\n' {
			r.put(m[0], "1")
			r.poison(m[0], m[1])
		}
	}
}

// before is the offset of what stands before another one on its line, or of the
// line break; -1 is the beginning of the file.
func (r *repairer) before(offset int) int {
	for offset--; offset >= 0 && (r.text[offset] == ' ' || r.text[offset] == '\t'); offset-- {
	}
	return offset
}
