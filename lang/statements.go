package lang

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
)

// openBlock is a block whose closing brace has not come yet.
type openBlock struct {
	// name is the token of its type, brace that of its opening brace.
	name, brace int
	indent      int
	// second: another statement on the block's own line was reported.
	second bool
	// count is how many statements it holds so far.
	count int
}

// statements walks the bodies of blocks, statement by statement, and reports
// what is written in a way that hcl's parser answers with a riddle.
type statements struct {
	*repairer
	open []openBlock
	i    int
	// strayed is the first block of which indentation says that its brace is
	// missing, and where that shows; early is the first brace that closes a
	// block of another indentation.
	strayed *stray
	early   int
	// lastClose is the brace that closed the last block of the top level,
	// tooEarly one behind which lost seems to belong into the block; -1 is none.
	lastClose, tooEarly, lost int
	// needless is a comma that was reported with what stands before it.
	needless int
	changed  bool
}

// stray is a block that seems to lack its closing brace.
type stray struct {
	block openBlock
	at    int
}

func (r *repairer) statements() {
	s := &statements{repairer: r, early: -1, lastClose: -1, tooEarly: -1, needless: -1}
	for !s.broken && s.statement() {
	}
	if !s.broken && s.changed {
		r.mended()
	}
}

// top is the innermost open block, or nil.
func (s *statements) top() *openBlock {
	if len(s.open) == 0 {
		return nil
	}
	return &s.open[len(s.open)-1]
}

// indent is the column of the first token of a token's line, in bytes.
func (s *statements) indent(token int) int {
	text := s.text[:from(s.tokens[token])]
	line := text[bytes.LastIndexByte(text, '\n')+1:]
	return len(line) - len(bytes.TrimLeft(line, " \t"))
}

// startsLine reports whether a token is the first of its line.
func (s *statements) startsLine(token int) bool {
	at := from(s.tokens[token])
	for at > 0 && (s.text[at-1] == ' ' || s.text[at-1] == '\t') {
		at--
	}
	return at == 0 || s.text[at-1] == '\n'
}

// statement handles one statement; false at the end of the file.
func (s *statements) statement() bool {
	switch s.kind(s.i) {
	case hclsyntax.TokenEOF:
		s.end()
		return false
	case hclsyntax.TokenNewline, hclsyntax.TokenComment:
		s.i++
	case hclsyntax.TokenCBrace:
		s.close()
	case hclsyntax.TokenIdent:
		s.noteIndent()
		s.noteOutside()
		if !s.strayWord() {
			s.sameLine()
			s.named(s.i, s.i+1)
		}
	case hclsyntax.TokenOQuote:
		s.noteIndent()
		s.quotedName()
	case hclsyntax.TokenMinus:
		s.dashes()
	case hclsyntax.TokenComma, hclsyntax.TokenSemicolon:
		if s.i == s.needless {
			s.i++
		} else if !s.otherComment() {
			s.separator()
		}
	case hclsyntax.TokenOBrack:
		if !s.startsLine(s.i) || !s.section(s.i, "a section in brackets is no block") {
			s.i++
		}
	case hclsyntax.TokenPlus:
		if !s.differenceSign() {
			s.i++
		}
	default:
		if !s.otherComment() {
			s.i++ // the parser's own message fits
		}
	}
	return true
}

// noteIndent remembers the first statement that its indentation puts outside
// of the block it is read in.
func (s *statements) noteIndent() {
	b := s.top()
	if b != nil && s.strayed == nil && s.startsLine(s.i) && s.line(s.i) > s.line(b.brace) && s.indent(s.i) <= b.indent {
		s.strayed = &stray{*b, s.i}
	}
}

// sameLine reports a second statement on the line of a block's brace, or of the
// statement before it, and breaks the line.
func (s *statements) sameLine() {
	b := s.top()
	if b != nil {
		b.count++
	}
	before := s.i - 1
	for before >= 0 && s.inlineComment(before) {
		before--
	}
	if before < 0 || s.startsLine(s.i) || s.kind(before) == hclsyntax.TokenNewline || s.kind(before) == hclsyntax.TokenComment {
		return
	}
	if b != nil && s.i == b.brace+1 {
		return // the first of a block on one line
	}
	s.changed = true
	s.broken = s.broken || !s.breakLine(s.i)
	if b == nil || s.line(b.brace) != s.line(s.i) {
		d := s.fail(diag.MissingNewline, s.i, s.i, fmt.Sprintf("%s does not begin on its own line", s.source(s.i, s.i)), "Each argument and each block begins on its own line.")
		d.Edit(s.gap(s.i), "\n"+strings.Repeat(" ", s.indent(s.i)))
		return
	}
	if b.second {
		return
	}
	b.second = true
	s.broken = s.broken || !s.breakLine(b.brace+1)
	d := s.fail(diag.SingleLineBlock, b.name, b.brace, "a block on one line holds one argument at most", "Put each argument on a line of its own.")
	s.breakUp(d, b)
}

// gap is the white space before a token.
func (s *statements) gap(token int) diag.Range {
	end := from(s.tokens[token])
	start := end
	for start > 0 && strings.IndexByte(" \t,;", s.f.src.Text[start-1]) >= 0 {
		start--
	}
	return s.f.src.Range(start, end)
}

// close ends the innermost block.
func (s *statements) close() {
	b := s.top()
	if b == nil {
		s.broken = true
		at := s.i
		if s.early < 0 && s.closedTooEarly() {
			return
		}
		if s.early >= 0 {
			at = s.early
		}
		d := s.fail(diag.UnexpectedClose, at, at, "this brace closes nothing", "Remove it, or add the block that it should close.")
		if s.startsLine(at) && (s.kind(at+1) == hclsyntax.TokenNewline || s.kind(at+1) == hclsyntax.TokenEOF) {
			d.Edit(d.Range, "")
		}
		return
	}
	if b.second {
		s.broken = s.broken || s.line(s.i) == s.line(b.brace) && !s.breakLine(s.i)
	}
	if s.startsLine(s.i) && s.line(s.i) > s.line(b.brace) {
		switch indent := s.indent(s.i); {
		case indent < b.indent && s.strayed == nil:
			s.strayed = &stray{*b, s.i}
		case indent > b.indent && s.early < 0:
			s.early = s.i
		}
	}
	s.open = s.open[:len(s.open)-1]
	if len(s.open) == 0 {
		s.lastClose = s.i
	}
	s.i++
}

// end reports a block that is open at the end of the file.
func (s *statements) end() {
	b := s.top()
	if b == nil {
		return
	}
	s.broken = true
	if s.strayed == nil {
		d := s.fail(diag.UnclosedBlock, b.name, b.brace, fmt.Sprintf("this %s block is never closed", s.source(b.name, b.name)), "Add the closing brace at the end of the file.")
		s.closeBlock(d, b, -1)
		return
	}
	b = &s.strayed.block
	d := s.fail(diag.UnclosedBlock, b.name, b.brace, fmt.Sprintf("this %s block is never closed", s.source(b.name, b.name)), "Add the closing brace: the indentation says where.")
	d.Relate(s.span(s.strayed.at, s.strayed.at), "by its indentation this lies outside of it")
	s.closeBlock(d, b, s.strayed.at)
}

// quotedName handles a statement whose name stands in quotes.
func (s *statements) quotedName() {
	end := s.i
	for s.kind(end) != hclsyntax.TokenCQuote && s.kind(end) != hclsyntax.TokenEOF {
		end++
	}
	name := s.source(s.i+1, max(s.i+1, end-1))
	next := s.kind(end + 1)
	if !hclsyntax.ValidIdentifier(name) || end != s.i+2 || next != hclsyntax.TokenEqual && next != hclsyntax.TokenColon && next != hclsyntax.TokenOBrace {
		s.i = end + 1
		s.skipLine()
		return
	}
	d := s.fail(diag.QuotedName, s.i, end, fmt.Sprintf("the name %s stands in quotes", name), "Names of arguments and blocks are written without quotes.")
	d.Edit(d.Range, name)
	s.blank(from(s.tokens[s.i]), to(s.tokens[s.i]))
	s.blank(from(s.tokens[end]), to(s.tokens[end]))
	s.changed = true
	if next == hclsyntax.TokenColon && s.kind(end+2) == hclsyntax.TokenOBrace && s.l.isBlock(name) && !s.l.isArgument(name) {
		d.Edit(s.span(end+1, end+1), "")
		s.blank(from(s.tokens[end+1]), to(s.tokens[end+1]))
		s.openBlock(s.i+1, end+2)
		return
	}
	if next == hclsyntax.TokenColon {
		d.Edit(s.span(end+1, end+1), " =")
		s.commaOfJSON(d, end+2)
	}
	s.named(s.i+1, end+1)
}

// skipLine moves to the end of the line.
func (s *statements) skipLine() {
	for s.kind(s.i) != hclsyntax.TokenNewline && s.kind(s.i) != hclsyntax.TokenEOF {
		s.i++
	}
}

// dashes handles a comment in the style of SQL and Lua.
func (s *statements) dashes() {
	if s.kind(s.i+1) == hclsyntax.TokenMinus && s.startsLine(s.i) {
		d := s.fail(diag.InvalidCharacter, s.i, s.i+1, "-- begins no comment", "Comments begin with # or //.")
		d.Suggest("#").Edit(d.Range, "#")
		s.put(from(s.tokens[s.i]), "//")
		s.changed = true
		s.skipLine()
		return
	}
	if !s.differenceSign() {
		s.i++
	}
}

// separator handles a comma or semicolon after a statement.
func (s *statements) separator() {
	b := s.top()
	inLine := b != nil && s.line(b.brace) == s.line(s.i) && s.kind(s.i+1) == hclsyntax.TokenIdent
	if !inLine {
		d := s.fail(diag.WrongSeparator, s.i, s.i, fmt.Sprintf("a %s stands after an argument", separatorName(s.tokens[s.i])), "Remove it: the end of the line ends an argument.")
		d.Edit(d.Range, "")
	}
	s.blank(from(s.tokens[s.i]), to(s.tokens[s.i]))
	s.changed = true
	s.i++
	if !inLine && s.kind(s.i) == hclsyntax.TokenIdent && !s.startsLine(s.i) {
		s.broken = !s.breakLine(s.i)
		s.named(s.i, s.i+1)
	}
}

func separatorName(t hclsyntax.Token) string {
	if t.Type == hclsyntax.TokenComma {
		return "comma"
	}
	return "semicolon"
}

// named handles a statement: its name is one token, next is what follows.
func (s *statements) named(name, next int) {
	switch s.kind(next) {
	case hclsyntax.TokenEqual:
		s.argument(name, next+1)
	case hclsyntax.TokenColon, hclsyntax.TokenEqualOp, hclsyntax.TokenFatArrow:
		s.assignment(name, next)
	case hclsyntax.TokenOBrace:
		s.openBlock(name, next)
	case hclsyntax.TokenOQuote, hclsyntax.TokenIdent:
		s.labels(name, next)
	case hclsyntax.TokenNumberLit, hclsyntax.TokenOBrack:
		s.missingEquals(name, next)
	case hclsyntax.TokenNewline, hclsyntax.TokenEOF, hclsyntax.TokenComment:
		s.alone(name, next)
	case hclsyntax.TokenDot:
		s.dotted(name, next)
	default:
		s.i = next
		s.skipLine()
	}
}

// assignment handles name: value, name == value, name => value, name := value.
func (s *statements) assignment(name, op int) {
	if s.colon(name, op) {
		return
	}
	end := op
	if s.kind(op) == hclsyntax.TokenColon && s.kind(op+1) == hclsyntax.TokenEqual {
		end = op + 1
	}
	if s.kind(name) == hclsyntax.TokenIdent && (name == 0 || s.kind(name-1) != hclsyntax.TokenOQuote) {
		d := s.fail(diag.WrongAssignment, op, end, fmt.Sprintf("%s is set with %s", s.source(name, name), s.source(op, end)), "Arguments are set with one equals sign.")
		text := "="
		if s.kind(op) == hclsyntax.TokenColon && from(s.tokens[op]) == to(s.tokens[name]) {
			text = " ="
		}
		d.Suggest("=").Edit(d.Range, text)
	}
	s.blank(from(s.tokens[op]), to(s.tokens[end]))
	s.put(from(s.tokens[op]), "=")
	s.changed = true
	s.argument(name, end+1)
}

// labels handles a name followed by labels: a block, or an argument that lacks
// its equals sign.
func (s *statements) labels(name, next int) {
	at, labels := next, 0
	for s.kind(at) == hclsyntax.TokenOQuote || s.kind(at) == hclsyntax.TokenIdent {
		if s.kind(at) == hclsyntax.TokenOQuote {
			open := at
			for s.kind(at) != hclsyntax.TokenCQuote && s.kind(at) != hclsyntax.TokenEOF {
				if s.kind(at) == hclsyntax.TokenTemplateInterp {
					s.computedLabel(open)
					return
				}
				at++
			}
		}
		at++
		labels++
	}
	switch {
	case s.noise(name, next), s.prose(name, at):
	case s.kind(at) == hclsyntax.TokenOBrace:
		s.openBlock(name, at)
	case s.kind(at) == hclsyntax.TokenNewline && s.braceBelow(at) >= 0:
		s.braceOnNextLine(name, at)
	case s.kind(next) == hclsyntax.TokenOQuote && s.kind(at) != hclsyntax.TokenEqual && s.bracelessBlock(name, at):
	case labels == 1 && (s.kind(at) != hclsyntax.TokenEqual):
		s.missingEquals(name, next)
	case s.kind(at) == hclsyntax.TokenEqual && s.kind(next) == hclsyntax.TokenOQuote:
		s.fail(diag.BlockAsArgument, at, at, fmt.Sprintf("the block %s has an equals sign", s.source(name, name)), "Blocks are written without one.").Edit(s.span(at, at), "")
		s.broken = true
	default:
		s.i = at
		s.skipLine()
	}
}

// computedLabel reports a label with a template.
func (s *statements) computedLabel(open int) {
	s.broken = true
	end := open
	for s.kind(end+1) != hclsyntax.TokenEOF && s.kind(end+1) != hclsyntax.TokenOBrace && s.kind(end+1) != hclsyntax.TokenNewline && s.line(end+1) == s.line(open) {
		end++
	}
	s.fail(diag.InvalidName, open, end, "a label is not computed", "References name it as it stands: use letters, digits and underscores. The name on the server can be computed: name = \"${…}\".")
}

// braceBelow is the opening brace that is the next token on a later line, or
// -1.
func (s *statements) braceBelow(newline int) int {
	at := newline
	for s.kind(at) == hclsyntax.TokenNewline || s.kind(at) == hclsyntax.TokenComment {
		at++
	}
	if s.kind(at) == hclsyntax.TokenOBrace {
		return at
	}
	return -1
}

func (s *statements) braceOnNextLine(name, newline int) {
	brace := s.braceBelow(newline)
	d := s.fail(diag.BraceOnNextLine, brace, brace, fmt.Sprintf("the brace of this %s block stands on the next line", s.source(name, name)), "A block's brace stands at the end of its first line.")
	d.Edit(s.f.src.Range(to(s.tokens[newline-1]), to(s.tokens[brace])), " {")
	s.blank(to(s.tokens[newline-1]), from(s.tokens[brace]))
	s.changed = true
	s.openBlock(name, brace)
}

// missingEquals handles name value.
func (s *statements) missingEquals(name, value int) {
	start, end := to(s.tokens[name]), from(s.tokens[value])
	d := s.fail(diag.MissingEquals, name, name, fmt.Sprintf("%s has no equals sign", s.source(name, name)), fmt.Sprintf("Write %s = value.", s.source(name, name)))
	d.Edit(s.f.src.Range(start, end), " = ")
	if end > start {
		s.put(start, "=")
		s.changed = true
	} else {
		s.broken = true
	}
	s.argument(name, value)
}

// alone handles a name with nothing behind it.
func (s *statements) alone(name, next int) {
	if s.kind(next) == hclsyntax.TokenNewline && s.braceBelow(next) >= 0 {
		s.braceOnNextLine(name, next)
		return
	}
	if s.bodyBelow(name, next) {
		return
	}
	s.fail(diag.Syntax, name, name, fmt.Sprintf("%s has neither a value nor a body", s.source(name, name)), fmt.Sprintf("Write %s = value, or %s { … }.", s.source(name, name), s.source(name, name)))
	s.drop(name, next)
	s.i = next
}

// bodyBelow handles a block without its opening brace: deeper lines follow.
func (s *statements) bodyBelow(name, next int) bool {
	below := s.firstToken(next)
	word := s.source(name, name)
	if !s.l.isBlock(word) || s.kind(below) != hclsyntax.TokenIdent || s.kind(below+1) != hclsyntax.TokenEqual || s.indent(below) <= s.indent(name) {
		return false
	}
	s.broken = true
	end := to(s.tokens[next-1])
	s.fail(diag.Syntax, name, name, fmt.Sprintf("this %s block has no opening brace", word), fmt.Sprintf("Write %s {.", word)).
		Edit(s.f.src.Range(end, end), " {")
	return true
}

// drop takes an unfinished argument out of the text; it is not missed again.
func (s *statements) drop(name, next int) {
	s.blank(from(s.tokens[name]), from(s.tokens[next]))
	s.changed = true
	if b := s.top(); b != nil {
		s.l.excused[s.source(b.name, b.name)+"."+s.source(name, name)] = true
		s.l.excused[s.source(name, name)] = true
	}
}

// dotted handles claim.min_idle = "30s".
func (s *statements) dotted(name, next int) {
	end := next
	for s.kind(end) == hclsyntax.TokenDot || s.kind(end) == hclsyntax.TokenIdent {
		end++
	}
	if s.kind(end) != hclsyntax.TokenEqual || end-next < 2 {
		s.i = next
		s.skipLine()
		return
	}
	parts := strings.Split(s.source(name, end-1), ".")
	if parts[0] == "var" || parts[0] == "local" {
		s.qualified(name, end, strings.Join(parts[1:], "."))
		return
	}
	shape := parts[len(parts)-1] + " = …"
	for i := len(parts) - 2; i >= 0; i-- {
		shape = parts[i] + " { " + shape + " }"
	}
	d := s.fail(diag.Syntax, name, end-1, "the name of an argument has no dots", "Arguments of a nested block stand in its braces: "+shape+".")
	s.i = end + 1
	s.value(name)
	if last := s.i - 1; last > end {
		whole := strings.Replace(shape, "…", s.source(end+1, last), 1)
		d.Suggest(whole)
	}
	s.drop(name, s.i)
	if b := s.top(); b != nil {
		s.l.excused[parts[len(parts)-2]+"."+parts[len(parts)-1]] = true
	}
}

// qualified handles var.name = value: where a name is defined it stands alone.
func (s *statements) qualified(name, equals int, bare string) {
	d := s.fail(diag.Syntax, name, equals-1, fmt.Sprintf("%s is defined by its own name", bare), fmt.Sprintf("Write %s = value; %s stands where it is used.", bare, s.source(name, equals-1)))
	d.Suggest(bare).Edit(d.Range, bare)
	s.blank(from(s.tokens[name]), to(s.tokens[name+1]))
	s.changed = true
	s.argument(name+2, equals+1)
}

// openBlock enters a block's body.
func (s *statements) openBlock(name, brace int) {
	s.open = append(s.open, openBlock{name: name, brace: brace, indent: s.indent(name)})
	s.i = brace + 1
}

// yamlList reports a list whose elements stand on lines of their own, each
// after a dash.
func (s *statements) yamlList(name, value int) bool {
	for s.kind(value) == hclsyntax.TokenNewline || s.kind(value) == hclsyntax.TokenComment {
		value++
	}
	if s.kind(value) != hclsyntax.TokenMinus {
		return false
	}
	s.broken = true
	s.fail(diag.Syntax, value, value, "a list is not written with dashes", fmt.Sprintf("Write %s = [\"one\", \"two\"].", s.source(name, name)))
	return true
}

// inlineComment reports whether a token is a comment that does not end the
// line: /* … */.
func (s *statements) inlineComment(token int) bool {
	return s.kind(token) == hclsyntax.TokenComment && bytes.HasPrefix(s.tokens[token].Bytes, []byte("/*"))
}

// argument handles a value that begins at a token.
func (s *statements) argument(name, value int) {
	for s.inlineComment(value) {
		value++
	}
	s.i = value
	switch s.kind(value) {
	case hclsyntax.TokenNewline, hclsyntax.TokenEOF, hclsyntax.TokenComment, hclsyntax.TokenCBrace:
		if s.yamlList(name, value) {
			return
		}
		s.fail(diag.Syntax, name, value-1, fmt.Sprintf("%s has no value", s.source(name, name)), "Write one after the equals sign, or remove the argument.")
		s.drop(name, value)
		return
	}
	s.value(name)
}
