package lang

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// message is how a problem that hcl reports is said in our words.
type message struct {
	code            diag.Code
	summary, detail string
}

// messages translate hcl's summaries. What is not listed keeps hcl's words.
var messages = map[string]message{
	"Unclosed configuration block":                    {diag.UnclosedBlock, "this block is never closed", "Add the closing brace."},
	"Unclosed configuration body":                     {diag.UnclosedBlock, "a block is never closed", "Add the closing brace."},
	"Argument or block definition required":           {diag.Syntax, "an argument or a block is expected here", "Write name = value, or name { … }."},
	"Argument definition required":                    {diag.Syntax, "an argument is expected here", "Write name = value."},
	"Invalid argument name":                           {diag.QuotedName, "the name of an argument stands in quotes", "Write it without quotes."},
	"Invalid block definition":                        {diag.Syntax, "this is neither an argument nor a block", "Write name = value, or name \"label\" { … }."},
	"Invalid single-argument block definition":        {diag.SingleLineBlock, "a block on one line holds one argument at most", "Put each argument on a line of its own."},
	"Invalid expression":                              {diag.Syntax, "a value is expected here", "Write a constant, a name such as var.name, or an expression."},
	"Missing expression":                              {diag.Syntax, "a value is missing", "Write one after the equals sign."},
	"Missing newline after argument":                  {diag.MissingNewline, "something stands between the value and the end of the line", "Put each argument on its own line."},
	"Missing newline after block definition":          {diag.MissingNewline, "something stands between the block and the end of the line", "Put each block on its own line."},
	"Invalid number literal":                          {diag.Syntax, "this is not a number", ""},
	"Invalid character encoding":                      {diag.NotUTF8, "this is not UTF-8", "Save the file as UTF-8."},
	"Invalid multi-line string":                       {diag.UnclosedString, "this string is not closed on its line", "Add the closing quote; \\n writes a line break."},
	"Unterminated string literal":                     {diag.UnclosedString, "this string is never closed", "Add the closing quote."},
	"Unterminated template string":                    {diag.UnclosedString, "this string is never closed", "Add the closing quote."},
	"Unclosed template interpolation sequence":        {diag.UnclosedString, "this ${ is never closed", "Add the closing brace; $${ writes the two characters themselves."},
	"Extra characters after interpolation expression": {diag.Syntax, "something stands between the expression and the brace that ends it", "A template holds one expression: ${var.name}."},
	"Unbalanced parentheses":                          {diag.UnclosedBracket, "this parenthesis is never closed", "Add the closing one."},
	"Missing closing parenthesis":                     {diag.UnclosedBracket, "a parenthesis is never closed", "Add the closing one."},
	"Unterminated function call":                      {diag.UnclosedBracket, "this call is never closed", "Add the closing parenthesis."},
	"Unterminated tuple constructor expression":       {diag.UnclosedBracket, "this list is never closed", "Add the closing bracket."},
	"Unterminated object constructor expression":      {diag.UnclosedBracket, "this object is never closed", "Add the closing brace."},
	"Missing close bracket on index":                  {diag.UnclosedBracket, "this index is never closed", "Add the closing bracket."},
	"Unclosed index brackets":                         {diag.UnclosedBracket, "this index is never closed", "Add the closing bracket."},
	"Missing item separator":                          {diag.Syntax, "two items of a list have no comma between them", "Separate items with commas."},
	"Missing argument separator":                      {diag.Syntax, "two arguments of a call have no comma between them", "Separate arguments with commas."},
	"Missing attribute separator":                     {diag.Syntax, "two members of an object have neither a comma nor a new line between them", "Separate members with commas or new lines."},
	"Missing attribute value":                         {diag.Syntax, "a member of an object has no value", "Write name = value."},
	"Missing key/value separator":                     {diag.Syntax, "a member of an object has no value", "Write name = value."},
	"Missing false expression in conditional":         {diag.Syntax, "a condition has no second result", "Write condition ? one : other."},
	"Attribute name required":                         {diag.Syntax, nameExpected, ""},
	"Invalid attribute name":                          {diag.Syntax, nameExpected, ""},
	"Unsupported operator":                            {diag.Syntax, "there is no such operator", "Use && and || for conditions; arithmetic is + - * / %."},
	"Invalid character":                               {diag.InvalidCharacter, "this character is not part of the language", "Replace or remove it."},
}

const nameExpected = "a name is expected after the dot"

var (
	wordAndDot   = regexp.MustCompile(`([A-Za-z_][\w-]*)\.\s*$`)
	labelledLine = regexp.MustCompile(`(?m)^[ \t]*([a-z_]+)[ \t]+"([\w-]+)"[ \t]*\{`)
)

// namesBehind says what a reference that breaks off at a place may go on with:
// the blocks of its type that the file declares. The range is then that of the
// reference.
func namesBehind(f *file, at diag.Range) (diag.Range, string) {
	first := max(0, at.Start.Byte-200)
	text := f.src.Text[first:min(at.Start.Byte+1, len(f.src.Text))]
	m := wordAndDot.FindSubmatchIndex(text) // up to the dot itself, or to what stands behind it
	if m == nil {
		m = wordAndDot.FindSubmatchIndex(text[:max(0, len(text)-1)])
	}
	if m == nil {
		return at, ""
	}
	root := string(text[m[2]:m[3]])
	at = f.src.Range(first+m[2], first+m[3]+1)
	kind := root
	if root == "var" {
		kind = "variable"
	}
	var names []string
	for _, block := range labelledLine.FindAllSubmatch(f.src.Text, -1) {
		if string(block[1]) == kind && len(names) < 12 {
			names = append(names, root+"."+string(block[2]))
		}
	}
	if len(names) == 0 {
		return at, fmt.Sprintf("Write %s.name.", root)
	}
	return at, "Write one of " + list(names) + "."
}

// syntaxProblems reports what hcl's parser found. hcl reports follow-on errors
// after some, so only the first of each line is kept.
func (l *loader) syntaxProblems(f *file, diags hcl.Diagnostics) bool {
	lines := map[int]bool{}
	ok := true
	for _, d := range diags {
		if d.Severity != hcl.DiagError || d.Subject == nil {
			continue
		}
		rng := eval.Range(l.report, *d.Subject)
		if d.Summary == "Attribute redefined" {
			l.redefined(f, d, rng)
			continue
		}
		if lines[rng.Start.Line] || !ok && rng.Start.Line > 0 && isFollowOn(d) {
			continue
		}
		lines[rng.Start.Line], ok = true, false
		m, known := messages[d.Summary]
		if !known {
			m = message{diag.Syntax, lowerFirst(d.Summary), d.Detail}
		}
		if d.Summary == "Missing false expression in conditional" {
			if at := bytes.LastIndexByte(f.src.Text[:rng.Start.Byte], '?'); at >= 0 {
				rng = f.src.Range(at, at+1)
			}
		}
		if m.summary == nameExpected {
			rng, m.detail = namesBehind(f, rng)
		}
		if !l.wordOperator(f, rng) {
			l.fail(m.code, rng, m.summary, m.detail)
		}
	}
	return ok
}

// wordOperators are operators of other languages, and ours.
var wordOperators = map[string]string{"and": "&&", "or": "||", "AND": "&&", "OR": "||", "not": "!", "is": "==", "=": "==", "<>": "!=", "&": "&&", "|": "||"}

// wordOperator reports an operator of another language, where hcl sees only
// that a line goes on.
func (l *loader) wordOperator(f *file, rng diag.Range) bool {
	word := string(f.src.Text[rng.Start.Byte:rng.End.Byte])
	ours, ok := wordOperators[word]
	switch {
	case ok:
		l.fail(diag.Syntax, rng, fmt.Sprintf("there is no operator %s", word), "Conditions are joined with &&, || and !, and compared with == and !=.").Suggest(ours).Edit(rng, ours)
	case word == "$":
		l.fail(diag.InvalidCharacter, rng, "names are written without $", "Outside of a string, write entry.name or var.name; inside, ${var.name}.").Edit(rng, "")
	default:
		return false
	}
	return true
}

// isFollowOn reports whether a problem is often the echo of an earlier one.
func isFollowOn(d *hcl.Diagnostic) bool {
	return strings.HasPrefix(d.Summary, "Unclosed configuration") || d.Summary == "Argument or block definition required"
}

// redefined reports an argument that is set twice; hcl keeps the first.
func (l *loader) redefined(f *file, d *hcl.Diagnostic, rng diag.Range) {
	name := string(d.Subject.SliceBytes(f.src.Text))
	p := l.fail(diag.DuplicateArgument, rng, name+" is set twice in this block", "Remove one.")
	if first := firstAttribute(f.body, name, d.Subject.Start.Byte); first != nil {
		p.Relate(eval.Range(l.report, first.NameRange), "it is first set here")
	}
}

func lowerFirst(s string) string {
	for i, r := range s {
		return string(unicode.ToLower(r)) + strings.TrimSuffix(s[i+len(string(r)):], ".")
	}
	return s
}
