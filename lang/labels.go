package lang

import (
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// Label is a block's type and name, as they stand in a file.
type Label struct {
	// Block is the type: "stream".
	Block string
	// Name is the first label.
	Name string
	// Given is the constant text of the argument that gives the block another
	// name on the server, "" without one: name of a stream or group, consumer of
	// a subscription.
	Given string
}

// maxLabelText bounds how much of a pipeline is looked through for labels, in
// bytes: a tenth of a second's work.
const maxLabelText = 2 << 20

// Labels finds the named blocks of the pipeline at path without reading what it
// means, for completion: in files that hold mistakes it finds what can be
// recognised, and where there is no file, nothing. It looks at the first 2 MiB
// and never fails.
func Labels(fsys fs.FS, at string) []Label {
	names := []string{at}
	if entries, err := fs.ReadDir(fsys, at); err == nil {
		names = names[:0]
		for _, e := range entries {
			name := e.Name()
			if strings.HasSuffix(name, ".hcl") && !strings.HasSuffix(name, "_test.hcl") {
				names = append(names, path.Join(at, name))
			}
		}
	}
	var out []Label
	left := maxLabelText
	for _, name := range names {
		if left == 0 {
			break
		}
		text := labelText(fsys, name, left)
		left -= len(text)
		s := labelScan{tokens: lex(text, name)}
		out = append(out, s.scan()...)
	}
	return out
}

// labelText is the beginning of a file, nothing where it cannot be read.
func labelText(fsys fs.FS, name string, limit int) []byte {
	info, err := fs.Stat(fsys, name)
	if err != nil || !info.Mode().IsRegular() {
		return nil // a pipe would be waited for
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, int64(min(limit, maxFile))))
	if err != nil {
		return nil
	}
	return text
}

// labelScan goes through the tokens of a file, which can be any, and notices
// blocks by their first line.
type labelScan struct {
	tokens hclsyntax.Tokens
	found  []Label
	// open are the indexes into found of the blocks that are open; -1 is any
	// other brace.
	open []int
}

// givenBy are the arguments that give a block its name on the server.
var givenBy = map[string]string{"stream": "name", "group": "name", "subscription": "consumer"}

func (s *labelScan) scan() []Label {
	for i := 0; i < len(s.tokens); i++ {
		switch s.tokens[i].Type {
		case hclsyntax.TokenIdent:
			if i == 0 || s.tokens[i-1].Type == hclsyntax.TokenNewline || s.tokens[i-1].Type == hclsyntax.TokenComment || s.tokens[i-1].Type == hclsyntax.TokenOBrace {
				i = s.statement(i)
			}
		case hclsyntax.TokenOBrace:
			s.open = append(s.open, -1)
		case hclsyntax.TokenCBrace:
			s.open = s.open[:max(0, len(s.open)-1)]
		}
	}
	return s.found
}

// statement reads what begins with the word at i, and returns the index of the
// last token that it has taken.
func (s *labelScan) statement(i int) int {
	word := string(s.tokens[i].Bytes)
	if s.kind(i+1) == hclsyntax.TokenEqual {
		if text, ok := s.quoted(i + 2); ok && len(s.open) > 0 {
			if at := s.open[len(s.open)-1]; at >= 0 && givenBy[s.found[at].Block] == word {
				s.found[at].Given = text
			}
		}
		return i + 1
	}
	name, ok := s.quoted(i + 1)
	if !ok {
		return i
	}
	s.found = append(s.found, Label{Block: word, Name: name})
	if s.kind(i+4) != hclsyntax.TokenOBrace {
		return i + 3
	}
	s.open = append(s.open, len(s.found)-1)
	return i + 4
}

func (s *labelScan) kind(i int) hclsyntax.TokenType {
	if i >= len(s.tokens) {
		return hclsyntax.TokenEOF
	}
	return s.tokens[i].Type
}

// quoted is the text of the constant string at i, which is three tokens.
func (s *labelScan) quoted(i int) (string, bool) {
	if s.kind(i) != hclsyntax.TokenOQuote || s.kind(i+1) != hclsyntax.TokenQuotedLit || s.kind(i+2) != hclsyntax.TokenCQuote {
		return "", false
	}
	return string(s.tokens[i+1].Bytes), true
}
