package lang

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
)

// headSize is how much of a large file is guarded first: splitting a mebibyte
// of brackets into tokens takes a second, and what is hostile shows early.
const (
	largeFile = 256 << 10
	headSize  = 64 << 10
)

// parse parses one file; what is not plain and right is guarded and repaired
// first. ok is false when a problem of syntax is left that makes what was
// parsed unreliable.
func (l *loader) parse(src *diag.Source) (*file, bool) {
	f := &file{name: src.Name, src: src}
	if f.body = quick(src.Name, src.Text, quickPiece); f.body != nil {
		return f, true
	}
	if len(src.Text) > largeFile && !l.guard(src, lex(src.Text[:headSize], src.Name)) {
		return nil, false
	}
	tokens := lex(src.Text, src.Name)
	if !l.guard(src, tokens) {
		return nil, false
	}
	text, ok := l.repair(f, tokens)
	if !ok {
		return nil, false
	}
	parsed, diags := hclsyntax.ParseConfig(text, src.Name, start)
	if parsed != nil {
		f.body, _ = parsed.Body.(*hclsyntax.Body)
	}
	return f, l.syntaxProblems(f, diags) && f.body != nil
}
