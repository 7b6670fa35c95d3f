package lua

import (
	"bytes"
	"fmt"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"pipeline/sandbox"
)

// Bounds of a script that are checked before it is parsed: the parser keeps a
// few hundred bytes for each word and sign that it cannot reduce yet, and for
// each node of its tree.
const (
	maxTokens = 200_000
	// maxChain is how many operators, calls and indexes one expression may
	// have, and maxJoins how many `..`.
	maxChain = 2_000
	maxJoins = 20_000
)

// prescan reads the words of a script and refuses what would take the parser
// too much memory. Faults of spelling are left to the parser.
func prescan(src sandbox.Source) error {
	s := parse.NewScanner(bytes.NewReader(src.Code), src.Name)
	var lexer parse.Lexer
	c := counter{source: src.Name}
	for {
		token, err := s.Scan(&lexer)
		if err != nil || token.Type == parse.EOF {
			return nil //nolint:nilerr // the parser tells of faults of spelling, and better
		}
		lexer.PrevTokenType = token.Type
		if err := c.token(token); err != nil {
			return err
		}
	}
}

// counter is where prescan stands.
type counter struct {
	source                        string
	tokens, chain, joins, bracket int
	// operand is set after a word that can end an expression.
	operand bool
}

func (c *counter) token(t ast.Token) error {
	c.tokens++
	if t.Type == parse.TIdent && c.operand {
		// Two operands in a row: a new statement begins.
		c.chain, c.joins = 0, 0
	}
	switch t.Type {
	case parse.TIdent, parse.TString, parse.TNumber, parse.TNil, parse.TTrue, parse.TFalse, parse.T3Comma, ')', ']', '}':
		c.operand = true
	default:
		c.operand = false
	}
	switch t.Type {
	case parse.T2Comma:
		c.joins++
		c.chain = 0
	case '(', '[', '{':
		c.bracket++
		c.chain++
	case ')', ']', '}':
		c.bracket--
	case '+', '-', '*', '/', '%', '^', '#', '.', ':', '<', '>', parse.TAnd, parse.TOr, parse.TNot,
		parse.TEqeq, parse.TNeq, parse.TLte, parse.TGte, parse.TString:
		c.chain++
	case parse.TIdent, parse.TNumber, parse.TNil, parse.TTrue, parse.TFalse, parse.T3Comma:
	default:
		c.chain, c.joins = 0, 0
	}
	switch {
	case c.tokens > maxTokens:
		return c.refuse(t, fmt.Sprintf("the script has more than %d words and signs", maxTokens), "move data out of the script")
	case c.bracket > maxDepth:
		return c.refuse(t, fmt.Sprintf("brackets are nested more than %d levels deep", maxDepth), "take parts out into locals or functions")
	case c.chain > maxChain:
		return c.refuse(t, fmt.Sprintf("an expression has more than %d operators", maxChain), "take parts out into locals")
	case c.joins > maxJoins:
		return c.refuse(t, fmt.Sprintf("an expression joins more than %d parts", maxJoins), "use table.concat")
	}
	return nil
}

func (c *counter) refuse(t ast.Token, problem, remedy string) error {
	return &sandbox.LoadError{Source: c.source, Line: max(0, t.Pos.Line), Problem: problem, Remedy: remedy}
}
