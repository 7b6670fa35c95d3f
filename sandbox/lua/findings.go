package lua

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	glua "github.com/yuin/gopher-lua"

	"pipeline/sandbox"
	"pipeline/sandbox/capability"
)

// judge is what knows which names exist: a state with everything loaded, and
// what its files say.
type judge struct {
	v        *vm
	outlines []*outline
	// functions and tables are the names of the globals that exist, once asked
	// for.
	functions, tables []string
	// found counts what was found.
	found int
}

// maxFindings bounds what is told of the files of a handler.
const maxFindings = 200

// verdictNames are the functions that make an outcome.
var verdictNames = []string{"ack", "retry", "dead", "drop", "reply"}

// absent says what stands here for what other Luas have. A key is a global, or
// a global and its member.
var absent = map[string]struct{ meant, remedy string }{
	"require":        {"", "name the file in modules of the handler's block: what it defines and returns is there before the script is loaded"},
	"module":         {"", "a file of modules defines globals, or returns a table that gets the file's name"},
	"package":        {"", "name the files to load in modules of the handler's block"},
	"dofile":         {"", "name the file in modules of the handler's block"},
	"loadfile":       {"", "name the file in modules of the handler's block"},
	"load":           {"", "a handler runs only the code of its files"},
	"loadstring":     {"", "a handler runs only the code of its files"},
	"print":          {"", "grant the handler log, and write log.info(message, fields)"},
	"io":             {"", "a handler reaches no files; what it logs goes through log, which its block can grant"},
	"os":             {"", "a handler reaches nothing of its host; ctx.now_ms is the time of the delivery"},
	"os.time":        {"", "write ctx.now_ms, the time of the delivery in milliseconds"},
	"os.clock":       {"", "time stands still during a call; ctx.now_ms is the time of the delivery"},
	"os.date":        {"time.format", "write time.format: ctx.now_ms is the time of the delivery"},
	"os.getenv":      {"", "a handler reads nothing of its host; put the value into the script, or into the entry"},
	"debug":          {"", "a handler cannot look into the engine"},
	"coroutine":      {"", "a handler has no coroutines"},
	"collectgarbage": {"", "memory is looked after by the runner"},
	"setfenv":        {"", "globals cannot be exchanged"},
	"getfenv":        {"", "globals cannot be exchanged"},
	"_G":             {"", "name the global itself"},
	"newproxy":       {"", "use a table"},
	"nack":           {"retry", ""},
	"nak":            {"retry", ""},
	"reject":         {"dead", ""},
	"dead_letter":    {"dead", ""},
	"dlq":            {"dead", ""},
	"skip":           {"drop", ""},
	"ignore":         {"drop", ""},
	"discard":        {"drop", ""},
	"publish":        {"reply", ""},
	"emit":           {"reply", ""},
	"send":           {"reply", ""},
	"fail":           {"error", ""},
	"throw":          {"error", ""},
	"cjson":          {"json", ""},
	"redis":          {"", "a handler does not talk to the server: it returns an outcome, and the runner writes it"},
	"table.getn":     {"", "write #list"},
	"table.foreach":  {"pairs", ""},
	"string.gfind":   {"string.gmatch", ""},
}

// findings are what is wrong with the uses of a unit.
func (j *judge) findings(o *outline, u *unit) []sandbox.Finding {
	var out []sandbox.Finding
	told := map[use]int{}
	for _, use := range u.uses {
		key := use
		key.line, key.certain = 0, false
		if i, ok := told[key]; ok && out[i].Kind != sandbox.FindingResult {
			out[i].Certain = out[i].Certain || use.certain
			continue
		}
		f, ok := j.look(use)
		if !ok || j.found == maxFindings {
			continue
		}
		j.found++
		told[key] = len(out)
		f.Source, f.Line, f.Column, f.Certain = o.source, use.line, column(o.code, use.line, use.root), use.certain
		out = append(out, f)
	}
	return out
}

// look judges one use.
func (j *judge) look(u use) (f sandbox.Finding, found bool) {
	value := j.v.globals.table.RawGetString(u.root)
	table, isTable := value.(*glua.LTable)
	switch {
	case value == glua.LNil:
		return j.unknown(u)
	case j.v.globals.owner[u.root] != "":
		return f, false // the script's own
	case u.call && u.statement && u.member == "" && slices.Contains(verdictNames, u.root):
		return sandbox.Finding{
			Kind: sandbox.FindingResult, Name: u.root,
			Problem: fmt.Sprintf("%s() makes an outcome, and it is not returned", u.root), Remedy: fmt.Sprintf("write `return %s(...)`", u.root),
		}, true
	case isTable:
		return j.library(u, table)
	}
	return f, false
}

// unknown judges the use of a global that does not exist, unless the script
// sets it somewhere or asks whether it exists.
func (j *judge) unknown(u use) (f sandbox.Finding, found bool) {
	for _, o := range j.outlines {
		if o.assigned[u.root] || o.asked[u.root] {
			return f, false
		}
	}
	path, what := u.root, "nothing called"
	if u.call && u.member == "" {
		what = "no function"
	}
	if u.member != "" {
		path += "." + u.member
	}
	help, ok := absent[path]
	if !ok {
		help = absent[u.root]
	}
	if meant := constants[u.root]; meant != "" {
		help.meant = meant
	}
	f = sandbox.Finding{
		Kind: sandbox.FindingName, Name: u.root, Meant: help.meant, Remedy: help.remedy,
		Problem: fmt.Sprintf("there is %s `%s` here", what, u.root), Known: j.names(u.call && u.member == ""),
	}
	if help.remedy != "" {
		f.Known = nil // a name that is close by chance would mislead
	}
	if u.call && u.member != "" && help == absent[path] && ok {
		f.Name, f.Problem = path, fmt.Sprintf("there is no function `%s` here", path)
	}
	return f, true
}

// names are the globals that can be called, or those that have members.
func (j *judge) names(functions bool) []string {
	if j.functions == nil {
		j.v.globals.table.ForEach(func(key, value glua.LValue) {
			name, _ := key.(glua.LString)
			switch value.Type() {
			case glua.LTFunction:
				j.functions = append(j.functions, string(name))
			case glua.LTTable:
				j.tables = append(j.tables, string(name))
			}
		})
		slices.Sort(j.functions)
		slices.Sort(j.tables)
	}
	if functions {
		return j.functions
	}
	return j.tables
}

// library judges the use of a table that is built in, or that stands in the
// place of a capability which was not granted.
func (j *judge) library(u use, front *glua.LTable) (f sandbox.Finding, found bool) {
	if _, ok := capability.Lookup(u.root); ok {
		if _, granted := j.v.h.granted[u.root]; !granted {
			what := u.root
			if u.member != "" {
				what += "." + u.member
			}
			return sandbox.Finding{
				Kind: sandbox.FindingGrant, Name: u.root, Problem: what + " needs a grant",
				Remedy: fmt.Sprintf("add `grant %q {}` to handler %q in the pipeline file", u.root, j.v.h.spec.Label),
			}, true
		}
	}
	held := j.v.frozen[front]
	if held == nil || !u.call || u.member == "" || held.RawGetString(u.member) != glua.LNil {
		return f, false
	}
	path := u.root + "." + u.member
	f = sandbox.Finding{
		Kind: sandbox.FindingName, Name: path, Meant: absent[path].meant, Remedy: absent[path].remedy,
		Problem: fmt.Sprintf("there is no function `%s` here", path),
	}
	held.ForEach(func(key, value glua.LValue) {
		if name, ok := key.(glua.LString); ok && value.Type() == glua.LTFunction && !strings.HasPrefix(string(name), "__") {
			f.Known = append(f.Known, u.root+"."+string(name))
		}
	})
	slices.Sort(f.Known)
	return f, true
}

// column is where a word stands on a line, in characters from 1; 0 when it is
// not there.
func column(code []byte, line int, word string) int {
	for range line - 1 {
		_, code = cutLine(code)
	}
	text, _ := cutLine(code)
	for from := 0; ; {
		i := bytes.Index(text[from:], []byte(word))
		if i < 0 {
			return 0
		}
		at := from + i
		if end := at + len(word); (at == 0 || !wordByte(text[at-1])) && (end == len(text) || !wordByte(text[end])) {
			return 1 + utf8.RuneCount(text[:at])
		}
		from = at + 1
	}
}

func wordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
}

// missing is the error for a handler's function that is not there.
func missing(name string, o *outline, all map[string]definition) *sandbox.LoadError {
	err := &sandbox.LoadError{Source: o.source, Missing: name, Problem: fmt.Sprintf("there is no function %q", name), Lines: map[string]int{}}
	for _, defined := range slices.Sorted(maps.Keys(all)) {
		if all[defined].file == o.source {
			err.Functions, err.Lines[defined] = append(err.Functions, defined), all[defined].line
		}
	}
	switch {
	case o.locals[name] > 0:
		err.Line = o.locals[name]
		err.Problem = fmt.Sprintf("the function %q is local to the script", name)
		err.Remedy = "write it without `local`"
	case o.members[name] > 0:
		err.Line = o.members[name]
		err.Problem = fmt.Sprintf("the function %q stands in a table", name)
		if table := o.tables[name]; table != "" {
			err.Problem += fmt.Sprintf(", %q", table)
		}
		err.Remedy = fmt.Sprintf("a handler is a global function: begin it with `function %s(`", name)
	case len(err.Functions) > 0:
	case o.returns > 0:
		err.Line = o.returns
		err.Remedy = fmt.Sprintf("what a script returns is not looked at; define a global `function %s(entry, ctx)`", name)
	default:
		err.Remedy = fmt.Sprintf("the script defines no functions; begin with `function %s(entry, ctx)`", name)
	}
	return err
}
