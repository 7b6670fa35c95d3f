package lua

import (
	"bytes"
	"slices"
	"strings"

	glua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"pipeline/engine/value"
	"pipeline/sandbox"
)

// A reply is most often a table that the handler's function makes in its return
// statement. Nothing but the engine can see that table, as long as the script
// does not call the function itself, so none is made: the values go straight
// from the stack into the reply. A Lua table costs several allocations for each
// field.

// maxRecord is how many fields a record may have: each takes a register.
const maxRecord = 40

// maxRead is up to what size a script is read for nothing but this.
const maxRead = 64 << 10

// guardRecord is the name of the function that takes a record: its number and
// its values.
const guardRecord = "\x00record"

// record is a table that the handler's function returns, whose keys are names.
type record struct {
	names []string
	// sorted are the fields in the byte order of their names, which is that of
	// a reply.
	sorted []int
}

// recorder turns the tables that a global function returns into records.
type recorder struct {
	function string
	records  []record
}

// mentions is how often a name stands in a script, as a word of its own: never
// less than that.
func mentions(src sandbox.Source, name string) (n int) {
	if n = bytes.Count(src.Code, []byte(name)); n <= 1 || len(src.Code) > maxRead {
		return n
	}
	n = 0
	s := parse.NewScanner(bytes.NewReader(src.Code), src.Name)
	var lexer parse.Lexer
	for {
		token, err := s.Scan(&lexer)
		if err != nil || token.Type == parse.EOF {
			return n
		}
		if lexer.PrevTokenType = token.Type; token.Type == parse.TIdent && token.Str == name {
			n++
		}
	}
}

// definition looks for the function at the top of a file. It must come before
// the tree is rewritten.
func (r *recorder) definition(chunk []ast.Stmt) {
	for _, s := range chunk {
		def, ok := s.(*ast.FuncDefStmt)
		if !ok || def.Name.Receiver != nil {
			continue
		}
		if name, ok := def.Name.Func.(*ast.IdentExpr); ok && name.Value == r.function {
			r.block(def.Func.Stmts)
		}
	}
}

// block walks the statements of the function, not of functions inside.
func (r *recorder) block(list []ast.Stmt) {
	for _, s := range list {
		switch x := s.(type) {
		case *ast.ReturnStmt:
			if len(x.Exprs) == 1 {
				if t, ok := x.Exprs[0].(*ast.TableExpr); ok {
					x.Exprs[0] = r.table(t)
				}
			}
		case *ast.IfStmt:
			r.block(x.Then)
			r.block(x.Else)
		case *ast.DoBlockStmt:
			r.block(x.Stmts)
		case *ast.WhileStmt:
			r.block(x.Stmts)
		case *ast.RepeatStmt:
			r.block(x.Stmts)
		case *ast.NumberForStmt:
			r.block(x.Stmts)
		case *ast.GenericForStmt:
			r.block(x.Stmts)
		}
	}
}

// table is the call that takes a record, or the table itself when its keys are
// not all different names.
func (r *recorder) table(t *ast.TableExpr) ast.Expr {
	if len(t.Fields) == 0 || len(t.Fields) > maxRecord {
		return t
	}
	out := record{names: make([]string, len(t.Fields)), sorted: make([]int, len(t.Fields))}
	args := []ast.Expr{&ast.NumberExpr{Value: numberText(float64(len(r.records)))}}
	place(args[0], t)
	for i, f := range t.Fields {
		key, ok := f.Key.(*ast.StringExpr)
		if !ok || slices.Contains(out.names[:i], key.Value) {
			return t
		}
		out.names[i], out.sorted[i] = key.Value, i
		args = append(args, f.Value)
	}
	slices.SortFunc(out.sorted, func(a, b int) int { return strings.Compare(out.names[a], out.names[b]) })
	r.records = append(r.records, out)
	return guard(guardRecord, t, args...)
}

// recorded is the record of the current call.
type recorded struct {
	mark   *glua.LUserData
	record *record
	values []glua.LValue
}

func (v *vm) openRecords() {
	v.recorded.mark = &glua.LUserData{Value: &v.recorded, Metatable: glua.LNil}
}

// takeRecord is what a function calls that returns a record.
func (v *vm) takeRecord(l *glua.LState) int {
	r := &v.recorded
	r.record = &v.h.records[int(l.Get(1).(glua.LNumber))]
	r.values = r.values[:0]
	for i := range r.record.names {
		r.values = append(r.values, l.Get(2+i))
	}
	l.Push(r.mark)
	return 1
}

// fromRecord is the value of the current record.
func (v *vm) fromRecord() (value.Value, error) {
	r := &v.recorded
	defer clear(r.values)
	start := len(v.scratch)
	defer func() { v.scratch = v.scratch[:start] }()
	v.use(1, bytesPerTable)
	for _, i := range r.record.sorted {
		if r.values[i] == glua.LNil {
			continue
		}
		out, err := v.fromLuaAt(r.values[i], 1)
		if err != nil {
			return value.Value{}, err.in(r.record.names[i])
		}
		v.scratch = append(v.scratch, out.Named(r.record.names[i]))
	}
	return value.NewObject(v.take(start)), nil
}
