package lang

import (
	"fmt"
	"regexp"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
)

// otherLanguage reports a file that is written in JSON, YAML or TOML, with one
// problem for all of it.
func (r *repairer) otherLanguage() {
	first := r.firstToken(0)
	switch r.kind(first) {
	case hclsyntax.TokenOBrace:
		r.broken = true
		r.fail(diag.Syntax, first, first, "this file is JSON, a pipeline is written in HCL", "Names stand without quotes, = in place of :, and a line ends an argument: pipeline \"name\" { version = \"1.0.0\" }.")
	case hclsyntax.TokenMinus:
		r.documentMark(first)
	case hclsyntax.TokenIdent:
		if r.kind(first+1) == hclsyntax.TokenColon && r.kind(first+2) == hclsyntax.TokenNewline {
			r.yaml(first)
		}
	case hclsyntax.TokenOBrack:
		r.section(first, "this file is TOML, a pipeline is written in HCL")
	}
}

// firstToken is the first token at or behind one that is neither a comment nor
// a line break.
func (r *repairer) firstToken(i int) int {
	for r.kind(i) == hclsyntax.TokenNewline || r.kind(i) == hclsyntax.TokenComment {
		i++
	}
	return i
}

func (r *repairer) yaml(first int) {
	r.broken = true
	r.fail(diag.Syntax, first, first+1, "this file is YAML, a pipeline is written in HCL", "Blocks stand in braces and arguments take an equals sign: pipeline \"name\" { version = \"1.0.0\" }.")
}

// documentMark reports the --- in front of a document of YAML.
func (r *repairer) documentMark(first int) {
	if r.kind(first+1) != hclsyntax.TokenMinus || r.kind(first+2) != hclsyntax.TokenMinus || r.kind(first+3) != hclsyntax.TokenNewline {
		return
	}
	next := r.firstToken(first + 3)
	if r.kind(next) == hclsyntax.TokenIdent && r.kind(next+1) == hclsyntax.TokenColon {
		r.yaml(next)
		return
	}
	d := r.fail(diag.Syntax, first, first+2, "--- begins nothing here", "Documents are separated in YAML; a pipeline file is one.")
	d.Edit(r.f.src.Range(from(r.tokens[first]), to(r.tokens[first+3])), "")
	r.blank(from(r.tokens[first]), to(r.tokens[first+2]))
	r.mended()
}

// section reports a header in brackets, as TOML and INI have them, that stands
// alone on its line; false when it is none.
func (r *repairer) section(first int, summary string) bool {
	end := first
	for r.kind(end) == hclsyntax.TokenOBrack || r.kind(end) == hclsyntax.TokenIdent || r.kind(end) == hclsyntax.TokenDot || r.kind(end) == hclsyntax.TokenCBrack {
		end++
	}
	if end < first+3 || r.kind(end) != hclsyntax.TokenNewline && r.kind(end) != hclsyntax.TokenEOF {
		return false
	}
	r.broken = true
	d := r.fail(diag.Syntax, first, end-1, summary, "A block stands in braces: type \"name\" { … }.")
	if m := sectionName.FindStringSubmatch(r.source(first, end-1)); m != nil {
		d.Suggest(fmt.Sprintf("%s %q {", m[1], m[2]))
	}
	return true
}

var sectionName = regexp.MustCompile(`^\[+(\w+)\.([\w.-]+)\]+$`)

// shellDefault finds what shells and other tools write for an environment
// variable with a default.
var shellDefault = regexp.MustCompile(`"?\$\{([A-Za-z_]\w*):[-=?]?([^}"\n]*)\}"?`)

// benthosPath finds how Benthos reads a field of a message in a string.
var benthosPath = regexp.MustCompile(`"\$\{!\s*(?:json\(\\?"([\w.]+)\\?"\)|this\.([\w.]+))[^}\n]*\}"`)

// benthosPaths reports "${! json("field") }".
func (r *repairer) benthosPaths() {
	m := benthosPath.FindSubmatchIndex(r.f.src.Text)
	if m == nil {
		return
	}
	field := ""
	for _, g := range []int{2, 4} {
		if m[g] >= 0 {
			field = string(r.f.src.Text[m[g]:m[g+1]])
		}
	}
	r.broken = true
	at := r.f.src.Range(m[0], m[1])
	r.l.fail(diag.Syntax, at, "this is how Benthos reads a field", "Here a path does: entry.name, without quotes.").
		Suggest("entry."+field).Edit(at, "entry."+field)
}

// shellDefaults reports ${NAME:-default}, which hcl's lexer reads as a string
// that is never closed. All after it is read inside out.
func (r *repairer) shellDefaults() {
	for i, tok := range r.tokens {
		if tok.Type != hclsyntax.TokenTemplateInterp || r.kind(i+1) != hclsyntax.TokenIdent || r.kind(i+2) != hclsyntax.TokenColon {
			continue
		}
		start := from(tok)
		if start > 0 && r.text[start-1] == '"' {
			start--
		}
		m := shellDefault.FindSubmatchIndex(r.f.src.Text[start:])
		if m == nil || m[0] != 0 {
			continue
		}
		name, value := string(r.f.src.Text[start+m[2]:start+m[3]]), string(r.f.src.Text[start+m[4]:start+m[5]])
		r.broken = true
		call := fmt.Sprintf("env(%q, %q)", name, value)
		at := r.f.src.Range(start, start+m[1])
		r.l.fail(diag.Syntax, at, "this is how a shell names an environment variable", "In the default of a variable, and only there, env() reads one: default = "+call+".").
			Suggest(call).Edit(at, call)
		return
	}
}
