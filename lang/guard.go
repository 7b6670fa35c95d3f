package lang

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// The limits of what hcl's recursive parser and evaluator are given. Beyond
// some tens of thousands either overflows the stack, which ends the process.
const (
	maxOpen      = 200
	maxOperators = 1000
	maxPrefix    = 8
	// maxText is in pieces of constant text that follow each other: hcl's parser
	// joins them one by one, each time moving all that come after.
	maxText = 2000
)

// start is where every file begins.
var start = hcl.Pos{Line: 1, Column: 1}

// lex splits a text into tokens. The lexer is a state machine: it can be given
// anything.
func lex(text []byte, name string) hclsyntax.Tokens {
	tokens, _ := hclsyntax.LexConfig(text, name, start)
	return tokens
}

// guard refuses texts that would overflow hcl's parser.
func (l *loader) guard(src *diag.Source, tokens hclsyntax.Tokens) bool {
	if !utf8.Valid(src.Text) {
		at := invalidUTF8(src.Text)
		l.fail(diag.NotUTF8, src.Range(at, at+1), "the file is not encoded in UTF-8", "Save it as UTF-8.")
		return false
	}
	g := guardian{}
	for _, tok := range tokens {
		code, summary := g.next(tok)
		if summary != "" {
			detail := "Split it with locals."
			if tok.Type == hclsyntax.TokenNumberLit {
				detail = "Write fewer digits, or a string."
			}
			l.fail(code, src.Range(tok.Range.Start.Byte, tok.Range.End.Byte), summary, detail)
			return false
		}
	}
	return true
}

// invalidUTF8 is the offset of the first byte that is not UTF-8.
func invalidUTF8(text []byte) int {
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRune(text[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return 0
}

// guardian counts what can nest or chain, token by token.
type guardian struct {
	open, operators, prefix int
	// text counts the pieces of text in one argument that follow another; inText
	// is set behind one.
	text   int
	inText bool
	// brackets are the open ones; true is a brace, within which a newline ends
	// an argument.
	brackets []bool
}

// next counts a token; summary is set when a limit is passed.
func (g *guardian) next(tok hclsyntax.Token) (code diag.Code, summary string) {
	if g.longText(tok) {
		return diag.TooComplex, fmt.Sprintf("one text has more than %d pieces: lines, or places where $ or %% stands", maxText)
	}
	switch tok.Type {
	case hclsyntax.TokenOBrace, hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOQuote,
		hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		g.open++
		g.brackets = append(g.brackets, tok.Type == hclsyntax.TokenOBrace)
		if g.open > maxOpen {
			return diag.TooNested, fmt.Sprintf("more than %d brackets, braces, templates and blocks are open here", maxOpen)
		}
	case hclsyntax.TokenCBrace, hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCQuote,
		hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		g.open = max(0, g.open-1)
		g.brackets = g.brackets[:g.open]
	case hclsyntax.TokenNumberLit:
		if !eval.PlainNumber(string(tok.Bytes)) {
			return diag.TooComplex, "this number is too large"
		}
	}
	return g.chain(tok)
}

// longText counts pieces of text that follow each other. The lexer begins a new
// one with every line of a heredoc and around every $ and % that stands alone.
func (g *guardian) longText(tok hclsyntax.Token) bool {
	text := tok.Type == hclsyntax.TokenQuotedLit || tok.Type == hclsyntax.TokenStringLit
	if text && g.inText {
		g.text++
	}
	g.inText = text
	return g.text > maxText
}

// chain counts operators and index steps of one argument, and operators that
// stand in a row before an operand.
func (g *guardian) chain(tok hclsyntax.Token) (code diag.Code, summary string) {
	switch tok.Type {
	case hclsyntax.TokenNewline:
		g.prefix = 0
		if g.atStatement() {
			g.operators, g.text = 0, 0
		}
		return "", ""
	case hclsyntax.TokenComment:
		if bytes.HasSuffix(tok.Bytes, []byte("\n")) && g.atStatement() {
			g.operators, g.prefix, g.text = 0, 0, 0
		}
		return "", ""
	case hclsyntax.TokenBang, hclsyntax.TokenMinus:
		g.prefix++
		g.operators++
	case hclsyntax.TokenPlus, hclsyntax.TokenStar, hclsyntax.TokenSlash, hclsyntax.TokenPercent, hclsyntax.TokenAnd, hclsyntax.TokenOr,
		hclsyntax.TokenEqualOp, hclsyntax.TokenNotEqual, hclsyntax.TokenLessThan, hclsyntax.TokenLessThanEq,
		hclsyntax.TokenGreaterThan, hclsyntax.TokenGreaterThanEq, hclsyntax.TokenQuestion, hclsyntax.TokenColon, hclsyntax.TokenDot, hclsyntax.TokenOBrack,
		hclsyntax.TokenTemplateInterp, hclsyntax.TokenTemplateControl:
		g.prefix = 0
		g.operators++
	default:
		g.prefix = 0
	}
	switch {
	case g.prefix > maxPrefix:
		return diag.TooNested, fmt.Sprintf("more than %d prefix operators stand in a row", maxPrefix)
	case g.operators > maxOperators:
		return diag.TooComplex, fmt.Sprintf("one argument has more than %d operators and index steps", maxOperators)
	}
	return "", ""
}

// atStatement reports whether only braces are open: a newline there ends an
// argument, or a member of an object.
func (g *guardian) atStatement() bool {
	for _, brace := range g.brackets {
		if !brace {
			return false
		}
	}
	return true
}
