package lang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// operatorHelp lists the operators of the language.
const operatorHelp = "Conditions are joined with &&, || and !, and compared with == != < <= > >=."

// operators finds, in the values of arguments, what other languages write for
// operators, types and calls.
func (r *repairer) operators() {
	for i := 0; i < len(r.tokens) && !r.broken; i++ {
		if r.kind(i) == hclsyntax.TokenIdent && r.kind(i+1) == hclsyntax.TokenEqual && (r.startsLineAt(i) || r.kind(max(i-1, 0)) == hclsyntax.TokenOBrace) {
			v := &valueScan{repairer: r, name: i, i: i + 2}
			v.scan()
			i = v.i - 1
		}
	}
	if !r.broken && r.dirty {
		r.mended()
	}
}

// startsLineAt reports whether a token is the first of its line.
func (r *repairer) startsLineAt(i int) bool {
	return i == 0 || r.kind(i-1) == hclsyntax.TokenNewline || r.kind(i-1) == hclsyntax.TokenComment || r.line(i-1) < r.line(i)
}

// valueScan walks over the tokens of one value.
type valueScan struct {
	*repairer
	name, i int
	// open are the brackets around the token.
	open []int
	// semicolons is the problem of the first one in the value.
	semicolons *diag.Diagnostic
}

func (v *valueScan) scan() {
	for ; v.kind(v.i) != hclsyntax.TokenEOF && !v.broken; v.i++ {
		kind := v.kind(v.i)
		if len(v.open) == 0 && v.ends(kind) || v.statementBelow() {
			return
		}
		if v.habit() {
			continue
		}
		if _, opens := closers[kind]; opens {
			v.open = append(v.open, v.i)
		} else if isCloser(kind) && len(v.open) > 0 {
			v.open = v.open[:len(v.open)-1]
		}
	}
}

// statementBelow reports whether the next argument begins although a bracket of
// the value is open.
func (v *valueScan) statementBelow() bool {
	return (v.inside(hclsyntax.TokenOBrack) || v.inside(hclsyntax.TokenOParen)) && v.kind(v.i) == hclsyntax.TokenIdent && v.kind(v.i+1) == hclsyntax.TokenEqual &&
		v.startsLineAt(v.i) && endsOperand(v.kind(v.i-1-v.breaks()))
}

// breaks is how many line breaks stand before the token.
func (v *valueScan) breaks() int {
	n := 0
	for v.kind(v.i-1-n) == hclsyntax.TokenNewline || v.kind(v.i-1-n) == hclsyntax.TokenComment {
		n++
	}
	return n
}

// ends reports whether a token outside of all brackets lies behind the value.
func (v *valueScan) ends(kind hclsyntax.TokenType) bool {
	switch kind {
	case hclsyntax.TokenNewline, hclsyntax.TokenComment, hclsyntax.TokenCBrace, hclsyntax.TokenComma, hclsyntax.TokenSemicolon:
		return true
	case hclsyntax.TokenIdent:
		return v.kind(v.i+1) == hclsyntax.TokenEqual && endsOperand(v.kind(v.i-1))
	}
	return false
}

// habit handles what begins at the token; false when it is in order.
func (v *valueScan) habit() bool {
	if v.inside(hclsyntax.TokenOHeredoc) && !v.inside(hclsyntax.TokenTemplateInterp) {
		return false
	}
	v.missingComma()
	switch v.kind(v.i) {
	case hclsyntax.TokenMinus:
		return v.dashComment() || v.sign()
	case hclsyntax.TokenSemicolon:
		return v.semicolon()
	case hclsyntax.TokenIdent:
		return v.word()
	case hclsyntax.TokenInvalid:
		return v.dollar()
	case hclsyntax.TokenOBrack, hclsyntax.TokenLessThan, hclsyntax.TokenQuestion:
		return v.typeHabit() || v.sign()
	case hclsyntax.TokenOParen:
		return v.call()
	}
	return v.sign()
}

// inside reports whether the innermost bracket is of a kind.
func (v *valueScan) inside(kind hclsyntax.TokenType) bool {
	return len(v.open) > 0 && v.kind(v.open[len(v.open)-1]) == kind
}

// inFor reports whether the innermost bracket holds a for expression.
func (v *valueScan) inFor() bool {
	return len(v.open) > 0 && v.kind(v.open[len(v.open)-1]+1) == hclsyntax.TokenIdent && v.source(v.open[len(v.open)-1]+1, v.open[len(v.open)-1]+1) == "for"
}

// joined is the text of the token and those that touch it, of a number.
func (v *valueScan) joined(n int) string {
	for k := v.i; k < v.i+n-1; k++ {
		if k+1 >= len(v.tokens) || to(v.tokens[k]) != from(v.tokens[k+1]) {
			return ""
		}
	}
	return v.source(v.i, min(v.i+n-1, len(v.tokens)-1))
}

// signs are operators of other languages and ours.
var signs = map[string]string{
	"===": "==", "!==": "!=", "<>": "!=", "=>": ">=", "=<": "<=", "=": "==", "&": "&&", "|": "||", "::": ".", "?.": ".", "=~": "", "!~": "", "??": "",
}

// signHelp says what to do where we have no such operator at all.
var signHelp = map[string]string{
	"=~": "Patterns are left to handlers: over entries, values are compared only. In constants, regex() matches.",
	"!~": "Patterns are left to handlers: over entries, values are compared only. In constants, regex() matches.",
	"??": "A field that may be missing gets its default where it is declared: optional(string, \"none\"). In constants, coalesce() takes the first value.",
	"::": "Names are joined by dots.",
	"?.": "A member is read with a dot alone; where it is missing, the value is null.",
}

// sign handles operators that are written with other signs.
func (v *valueScan) sign() bool {
	if !endsOperand(v.kind(v.i - 1)) {
		return false
	}
	for n := 3; n > 0; n-- {
		text := v.joined(n)
		ours, foreign := signs[text]
		if !foreign || n > 1 && text == "=" {
			continue
		}
		if (text == "=" || text == "=>") && (v.inside(hclsyntax.TokenOBrace) || v.inFor()) || text == "=" && v.objectCall() {
			return false
		}
		return v.wrongSign(n, text, ours)
	}
	if v.kind(v.i) == hclsyntax.TokenColon && len(v.open) == 0 {
		return v.colonForDot()
	}
	return false
}

func (v *valueScan) wrongSign(n int, text, ours string) bool {
	help := signHelp[text]
	if help == "" {
		help = operatorHelp
	}
	shown := text
	if strings.HasSuffix(text, ".") {
		shown = strconv.Quote(text)
	}
	d := v.fail(diag.Syntax, v.i, v.i+n-1, "there is no operator "+shown, help)
	end := to(v.tokens[v.i+n-1])
	if ours == "" {
		v.broken = true
		return true
	}
	d.Suggest(ours).Edit(d.Range, ours)
	start := from(v.tokens[v.i])
	switch {
	case len(ours) <= end-start:
		v.blank(start, end)
		v.put(end-len(ours), ours)
	case end < len(v.text) && v.text[end] == ' ':
		v.put(start, ours)
	default:
		v.broken = true
	}
	v.i += n - 1
	return true
}

// maxEdits is how many places one problem mends.
const maxEdits = 100

// semicolon handles one between elements of a list, or arguments of a call.
func (v *valueScan) semicolon() bool {
	if !v.inside(hclsyntax.TokenOBrack) && !v.inside(hclsyntax.TokenOParen) {
		return false
	}
	v.put(from(v.tokens[v.i]), ",")
	if v.semicolons == nil {
		v.semicolons = v.fail(diag.WrongSeparator, v.i, v.i, "a semicolon stands between two elements", "Elements of a list, and arguments of a function, are separated by commas.").Suggest(",")
	}
	if len(v.semicolons.Edits) < maxEdits {
		v.semicolons.Edit(v.span(v.i, v.i), ",")
	}
	return true
}

// dashComment handles a comment in the style of SQL and Lua behind a value.
func (v *valueScan) dashComment() bool {
	if v.joined(2) != "--" || len(v.open) > 0 || !endsOperand(v.kind(v.i-1)) {
		return false
	}
	d := v.fail(diag.InvalidCharacter, v.i, v.i+1, "-- begins no comment", "Comments begin with # or //.")
	d.Suggest("#").Edit(d.Range, "#")
	v.put(from(v.tokens[v.i]), "//")
	for v.kind(v.i+1) != hclsyntax.TokenNewline && v.kind(v.i+1) != hclsyntax.TokenEOF {
		v.i++
	}
	return true
}

// colonForDot handles stream:orders.
func (v *valueScan) colonForDot() bool {
	for k := v.name; k < v.i; k++ {
		if v.kind(k) == hclsyntax.TokenQuestion {
			return false
		}
	}
	if v.kind(v.i-1) != hclsyntax.TokenIdent || v.kind(v.i+1) != hclsyntax.TokenIdent || to(v.tokens[v.i]) != from(v.tokens[v.i+1]) {
		return false
	}
	d := v.fail(diag.Syntax, v.i, v.i, "a colon joins no names", "Names are joined by dots.")
	d.Suggest(".").Edit(d.Range, ".")
	v.put(from(v.tokens[v.i]), ".")
	return true
}

// missingComma handles two elements of a list, or arguments of a call, that
// have nothing between them.
func (v *valueScan) missingComma() {
	if !v.inside(hclsyntax.TokenOBrack) && !v.inside(hclsyntax.TokenOParen) || v.inFor() {
		return
	}
	before := v.i - 1
	for v.kind(before) == hclsyntax.TokenNewline || v.kind(before) == hclsyntax.TokenComment {
		before--
	}
	end := v.i
	switch v.kind(v.i) {
	case hclsyntax.TokenOQuote:
		for v.kind(end) != hclsyntax.TokenCQuote && v.kind(end) != hclsyntax.TokenEOF {
			end++
		}
	case hclsyntax.TokenNumberLit:
	default:
		return
	}
	at := to(v.tokens[before])
	if !endsOperand(v.kind(before)) || v.text[at] != ' ' && v.text[at] != '\n' {
		return
	}
	d := v.fail(diag.Syntax, v.i, end, "no comma stands before this", "Elements of a list, and arguments of a function, are separated by commas.")
	d.Edit(v.f.src.Range(at, at), ",")
	if v.text[at] == ' ' {
		v.put(at, ",")
		return
	}
	v.broken = true
}

// dollar handles names as shells and JSON paths write them: $url, $.account.
func (v *valueScan) dollar() bool {
	if v.source(v.i, v.i) != "$" {
		return false
	}
	v.broken = true
	d := v.fail(diag.InvalidCharacter, v.i, v.i, "names are written without $", "Outside of a string, write entry.name or var.name; inside, ${var.name}.")
	next := v.source(v.i+1, v.i+1)
	switch {
	case v.kind(v.i+1) == hclsyntax.TokenDot && v.kind(v.i+2) == hclsyntax.TokenIdent:
		d.Suggest("entry."+v.source(v.i+2, v.i+2)).Edit(d.Range, "entry")
	case slices.Contains([]string{"var", "local", "entry", "headers", "reply"}, next) || slices.Contains(referable, next):
		d.Edit(d.Range, "")
	case v.kind(v.i+1) == hclsyntax.TokenIdent:
		d.Suggest("var."+strings.ToLower(next)).Edit(v.span(v.i, v.i+1), "var."+strings.ToLower(next))
	}
	return true
}

// wordSigns are operators that are words.
var wordSigns = map[string]string{"and": "&&", "or": "||", "is": "==", "not": "!", "in": "", "like": "", "matches": "", "contains": "", "xor": "!=", "eq": "==", "ne": "!=", "gt": ">", "lt": "<", "ge": ">=", "le": "<="}

// word handles operators that are words, and if.
func (v *valueScan) word() bool {
	text := v.source(v.i, v.i)
	lower := strings.ToLower(text)
	ours, known := wordSigns[lower]
	if lower != "if" && !known || v.kind(v.i-1) == hclsyntax.TokenDot || v.kind(v.i+1) == hclsyntax.TokenDot || v.inFor() || v.inside(hclsyntax.TokenTemplateControl) {
		return false
	}
	behind := endsOperand(v.kind(v.i-1)) && v.line(v.i-1) == v.line(v.i) && v.i > v.name+2
	before := v.beginsOperand(v.i + 1)
	switch {
	case lower == "if" && before:
		return v.ifWord(behind)
	case lower == "not" && before && !behind, known && lower != "not" && behind && before:
	default:
		return false
	}
	help := operatorHelp
	if ours == "" {
		help = "Compare with each value, joined with ||: entry.a == \"x\" || entry.a == \"y\"."
	}
	d := v.fail(diag.Syntax, v.i, v.i, fmt.Sprintf("there is no operator %s", text), help)
	if ours == "" {
		v.broken = true
		return true
	}
	d.Suggest(ours).Edit(d.Range, ours)
	v.blank(from(v.tokens[v.i]), to(v.tokens[v.i]))
	v.put(from(v.tokens[v.i]), ours)
	return true
}

// beginsOperand reports whether a value can begin with a token.
func (v *valueScan) beginsOperand(i int) bool {
	switch v.kind(i) {
	case hclsyntax.TokenIdent, hclsyntax.TokenNumberLit, hclsyntax.TokenOQuote, hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOBrace, hclsyntax.TokenBang, hclsyntax.TokenMinus:
		return true
	}
	return false
}

// ifWord handles if C then A else B, and A if C else B.
func (v *valueScan) ifWord(behind bool) bool {
	v.broken = true
	end, then, other := v.i, -1, -1
	for v.kind(end+1) != hclsyntax.TokenNewline && v.kind(end+1) != hclsyntax.TokenEOF {
		end++
		if v.kind(end) != hclsyntax.TokenIdent {
			continue
		}
		switch v.source(end, end) {
		case "then":
			then = end
		case "else":
			other = end
		}
	}
	d := v.fail(diag.Syntax, v.i, v.i, "there is no if in expressions", "Write condition ? one : other.")
	start := v.i
	var shape string
	switch {
	case behind && other > v.i+1 && end > other:
		start = v.name + 2
		shape = fmt.Sprintf("%s ? %s : %s", v.source(v.i+1, other-1), v.source(start, v.i-1), v.source(other+1, end))
	case !behind && then > v.i+1 && other > then+1 && end > other:
		shape = fmt.Sprintf("%s ? %s : %s", v.source(v.i+1, then-1), v.source(then+1, other-1), v.source(other+1, end))
	default:
		return true
	}
	d.Suggest(shape).Edit(v.span(start, end), shape)
	return true
}

// typeHabit handles string[], list<string> and string?.
func (v *valueScan) typeHabit() bool {
	name := v.source(v.name, v.name)
	if v.kind(v.i-1) != hclsyntax.TokenIdent || to(v.tokens[v.i-1]) != from(v.tokens[v.i]) || name != "type" && name != "entry" {
		return false
	}
	word := v.source(v.i-1, v.i-1)
	end := v.i
	var shape string
	switch {
	case v.joined(2) == "[]":
		shape, end = "list("+word+")", v.i+1
	case v.kind(v.i) == hclsyntax.TokenLessThan && v.kind(v.i+1) == hclsyntax.TokenIdent && v.kind(v.i+2) == hclsyntax.TokenGreaterThan:
		shape, end = fmt.Sprintf("%s(%s)", eval.MeantType(word), v.source(v.i+1, v.i+1)), v.i+2
	case v.kind(v.i) == hclsyntax.TokenQuestion && slices.Contains([]hclsyntax.TokenType{hclsyntax.TokenNewline, hclsyntax.TokenComma, hclsyntax.TokenCBrace, hclsyntax.TokenComment}, v.kind(v.i+1)):
		shape = "optional(" + word + ")"
	default:
		return false
	}
	v.broken = true
	d := v.fail(diag.InvalidType, v.i-1, end, v.source(v.i-1, end)+" is no type of the language", eval.TypeHelp)
	d.Suggest(shape).Edit(d.Range, shape)
	return true
}

// objectCall handles object(name = type); the token is the equals sign.
func (v *valueScan) objectCall() bool {
	if !v.inside(hclsyntax.TokenOParen) {
		return false
	}
	open := v.open[len(v.open)-1]
	if v.kind(open-1) != hclsyntax.TokenIdent || v.source(open-1, open-1) != "object" {
		return false
	}
	end, depth := open, 0
	for ; v.kind(end) != hclsyntax.TokenEOF; end++ {
		if v.kind(end) == hclsyntax.TokenOParen {
			depth++
		}
		if v.kind(end) == hclsyntax.TokenCParen {
			if depth--; depth == 0 {
				break
			}
		}
	}
	if v.kind(end) != hclsyntax.TokenCParen {
		return false
	}
	v.broken = true
	shape := fmt.Sprintf("object({ %s })", strings.TrimSpace(v.source(open+1, end-1)))
	d := v.fail(diag.InvalidType, open-1, end, "object takes its members in braces", "Write object({ name = type }).")
	d.Suggest(shape).Edit(d.Range, shape)
	return true
}

// call handles a call on a dotted name: methods, packages, and references that
// are called.
func (v *valueScan) call() bool {
	if v.kind(v.i-1) != hclsyntax.TokenIdent || v.kind(v.i-2) != hclsyntax.TokenDot || to(v.tokens[v.i-1]) != from(v.tokens[v.i]) {
		return false
	}
	first := v.i - 1
	for v.kind(first-1) == hclsyntax.TokenDot && first-2 > v.name && v.kind(first-2) == hclsyntax.TokenIdent {
		first -= 2
	}
	end := v.i
	for v.kind(end) != hclsyntax.TokenCParen && v.kind(end) != hclsyntax.TokenNewline && v.kind(end) != hclsyntax.TokenEOF {
		end++
	}
	if v.kind(end) != hclsyntax.TokenCParen {
		return false
	}
	v.broken = true
	if slices.Contains(referable, v.source(first, first)) {
		name := v.source(first, v.i-1)
		d := v.fail(diag.WrongReference, first, end, "a reference is not called", "Write "+name+", without parentheses.")
		d.Suggest(name).Edit(d.Range, name)
		return true
	}
	method := v.source(v.i-1, v.i-1)
	d := v.fail(diag.UnknownFunction, first, end, fmt.Sprintf("there is no function %s", v.source(first, v.i-1)), "Values have no methods, and functions no packages: "+eval.FunctionHelp)
	d.Suggest(eval.MeantFunction(method))
	return true
}
