package lua

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	glua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"pipeline/sandbox"
	"pipeline/sandbox/lua/internal/mend"
)

// maxSource is the largest script.
const maxSource = 1 << 20

// maxUpvalues is how many outer locals one function may use: the engine counts
// them in a byte.
const maxUpvalues = 250

// maxCode is how many instructions a function may have: the engine's compiler
// does not look whether a jump back is too far.
const maxCode = 131_000

// program is one compiled source file.
type program struct {
	name    string
	proto   *glua.FunctionProto
	outline *outline
}

// compileSource parses, rewrites and compiles one file. What r looks for in it,
// if r is not nil, becomes records. Every error is a *sandbox.LoadError.
func compileSource(src sandbox.Source, r *recorder) (p *program, err error) {
	if len(src.Code) > maxSource {
		return nil, &sandbox.LoadError{
			Source: src.Name, Problem: fmt.Sprintf("is %d bytes long; a script may have %d", len(src.Code), maxSource),
			Remedy: "move data out of the script",
		}
	}
	// The parser and the compiler are not ours; whatever they do with a
	// hostile source must not pass.
	defer func() {
		if v := recover(); v != nil {
			problem := "the script cannot be compiled"
			if _, bug := v.(runtime.Error); !bug { // whose words are for nobody who writes scripts
				problem += ": " + short(fmt.Sprint(v))
			}
			p, err = nil, &sandbox.LoadError{Source: src.Name, Problem: problem}
		}
	}()
	if err := prescan(src); err != nil {
		return nil, err
	}
	chunk, err := parse.Parse(bytes.NewReader(src.Code), src.Name)
	if err != nil {
		return nil, syntaxError(src, err)
	}
	outline := outlineOf(src.Name, src.Code, chunk)
	if r != nil {
		r.definition(chunk)
	}
	if chunk, err = rewrite(src.Name, chunk); err != nil {
		return nil, err
	}
	if chunk, err = mended(src, chunk); err != nil {
		return nil, err
	}
	proto, err := glua.Compile(chunk, src.Name)
	if err != nil {
		return nil, compileError(src, err)
	}
	if err := harden(src, proto); err != nil {
		return nil, err
	}
	return &program{src.Name, proto, outline}, nil
}

// mended goes around what the engine's compiler does wrong.
func mended(src sandbox.Source, chunk []ast.Stmt) ([]ast.Stmt, error) {
	out, err := mend.Chunk(chunk)
	if r, ok := errors.AsType[*mend.RefusalError](err); ok {
		return nil, &sandbox.LoadError{Source: src.Name, Line: r.Line, Problem: r.Problem, Remedy: r.Remedy}
	}
	return out, err
}

// harden turns tail calls into calls, here and in the functions inside. For
// each call that a tail call has replaced, the engine's traceback gets a line,
// so that an endless tail recursion makes an error allocate without bound; as
// calls they end at the call depth.
func harden(src sandbox.Source, p *glua.FunctionProto) error {
	if len(p.DbgUpvalues) > maxUpvalues {
		return &sandbox.LoadError{
			Source: src.Name, Line: p.LineDefined,
			Problem: fmt.Sprintf("a function uses more than %d locals of the functions around it", maxUpvalues),
			Remedy:  "put them into a table",
		}
	}
	if len(p.Code) > maxCode {
		return &sandbox.LoadError{
			Source: src.Name, Line: p.LineDefined,
			Problem: fmt.Sprintf("a function has more than %d instructions", maxCode), Remedy: "split it",
		}
	}
	const opShift, shiftA, maskA = 26, 18, 0xff
	closesNothing := takesFirst(p)
	for i, in := range p.Code {
		// CLOSURE is followed by words that are data, but they look like moves.
		switch op := int(in >> opShift); {
		case op == glua.OP_TAILCALL:
			p.Code[i] = in&(1<<opShift-1) | uint32(glua.OP_CALL)<<opShift
		case op == glua.OP_CLOSE && closesNothing && in>>shiftA&maskA == 0:
			p.Code[i] = uint32(glua.OP_NOP) << opShift
		}
	}
	for _, inner := range p.FunctionPrototypes {
		if err := harden(src, inner); err != nil {
			return err
		}
	}
	return nil
}

// takesFirst reports whether a function's first register holds no local of a
// block, so that an instruction to close locals from there on, which comes with
// each goto that has nothing to close, is wrong.
func takesFirst(p *glua.FunctionProto) bool {
	return p.NumParameters > 0 || p.IsVarArg != 0 || len(p.DbgLocals) > 0 && p.DbgLocals[0].Name == mend.Pad
}

// syntaxError words an error of the parser.
func syntaxError(src sandbox.Source, err error) *sandbox.LoadError {
	out := &sandbox.LoadError{Source: src.Name, Problem: "the script cannot be read"}
	e, ok := errors.AsType[*parse.Error](err)
	if !ok {
		return out
	}
	if e.Pos.Line == parse.EOF {
		out.Line = max(len(splitLines(bytes.TrimRight(src.Code, "\r\n"))), 1)
		out.Problem = "the script ends too early"
		if e.Message != "syntax error" {
			out.Problem += ": " + parserWords(e.Message)
		} else {
			out.Remedy = "an `end`, a bracket or the rest of an expression is missing"
			hint(src, out, e)
		}
		return out
	}
	out.Line, out.Column = e.Pos.Line, wordStart(e)
	out.Problem = parserWords(e.Message)
	if e.Token != "" {
		out.Problem += " near `" + short(e.Token) + "`"
	}
	if e.Message == "unterminated string" {
		// The parser is behind the line break by then.
		out.Line, out.Column = brokenString(src.Code, e.Pos.Line)
		out.Problem, out.Remedy = "a string is not closed on its line", "add the quote that closes it"
		return out
	}
	hint(src, out, e)
	return out
}

// wordStart is the column of the word that the parser stopped at, of which it
// tells the last one.
func wordStart(e *parse.Error) int {
	return max(0, e.Pos.Column-max(0, len(e.Token)-1))
}

func parserWords(message string) string {
	if message == "syntax error" {
		return "this is not Lua"
	}
	return strings.ToLower(message[:1]) + message[1:]
}

// compileError words an error of the compiler, which knows its line only in
// its text.
func compileError(src sandbox.Source, err error) *sandbox.LoadError {
	out := &sandbox.LoadError{Source: src.Name, Problem: short(err.Error())}
	e, ok := errors.AsType[*glua.CompileError](err)
	if !ok {
		return out
	}
	out.Line, out.Problem = e.Line, short(e.Message)
	// For a jump the compiler names the line of the goto in its message only.
	if _, rest, ok := strings.Cut(e.Message, "<goto> at line "); ok {
		if line, err := strconv.Atoi(rest); err == nil {
			out.Line, out.Problem = line, strings.TrimSuffix(e.Message, " for <goto> at line "+rest)
		}
	}
	switch {
	case strings.HasPrefix(e.Message, "register overflow"), strings.HasPrefix(e.Message, "too many local"):
		out.Problem = "a function has too many locals or an expression too many parts"
		out.Remedy = "split it"
	case strings.HasPrefix(e.Message, "too many constants"):
		out.Problem = "the script has too many constants"
		out.Remedy = "move data out of the script"
	}
	return out
}

// short makes a piece of someone's text fit for a message.
func short(s string) string {
	const most = 120
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return s
}
