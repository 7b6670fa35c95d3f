package build

import (
	"errors"

	"pipeline/engine/spec"
	"pipeline/lang"
	"pipeline/sandbox"
	"pipeline/sandbox/lua"
)

// checker tells the language what is wrong with the handlers of one pipeline.
type checker struct{ lua lua.Checker }

// check compiles one handler.
func (c *checker) check(h *spec.Handler, source []byte, modules [][]byte) []lang.Problem {
	s, err := handlerSpec(h, source, modules, discard{})
	if err != nil {
		return []lang.Problem{{Module: -1, Message: err.Error()}}
	}
	if isModule(h.Source) {
		return checkModule(h, s)
	}
	findings, err := c.lua.Check(s)
	if err != nil {
		return []lang.Problem{problem(h, err)}
	}
	problems := make([]lang.Problem, len(findings))
	for i, f := range findings {
		problems[i] = warning(h, f)
	}
	return problems
}

// problem is an error of a handler's files in the words of the language.
func problem(h *spec.Handler, err error) lang.Problem {
	load, ok := errors.AsType[*sandbox.LoadError](err)
	if !ok {
		return lang.Problem{Module: -1, Message: err.Error()}
	}
	return lang.Problem{
		Module: module(h, load.Source), Line: load.Line, Column: load.Column, Message: load.Problem, Remedy: sentence(load.Remedy),
		Function: load.Missing, Available: load.Functions, Lines: load.Lines, Grant: load.Grant,
	}
}

// warning is a finding in the words of the language. What every run comes to
// and what only the pipeline file can mend is an error.
func warning(h *spec.Handler, f sandbox.Finding) lang.Problem {
	p := lang.Problem{
		Module: module(h, f.Source), Line: f.Line, Column: f.Column, Message: f.Problem, Remedy: sentence(f.Remedy), Warning: true,
		Meant: f.Meant, Known: f.Known,
	}
	switch f.Kind {
	case sandbox.FindingGrant:
		p.Grant, p.Warning = f.Name, !f.Certain
	case sandbox.FindingName:
		p.Unknown = f.Name
	case sandbox.FindingResult:
		p.Unreturned = f.Name
	}
	return p
}

// module is the number of a handler's module, or -1.
func module(h *spec.Handler, source string) int {
	for i, m := range h.Modules {
		if m.Source == source {
			return i
		}
	}
	return -1
}

// sentence makes a remedy, which continues a line of an error, stand alone.
func sentence(s string) string {
	if s == "" {
		return ""
	}
	if c := s[0]; c >= 'a' && c <= 'z' {
		s = string(c-'a'+'A') + s[1:]
	}
	if last := s[len(s)-1]; last != '.' && last != '`' && last != '?' {
		s += "."
	}
	return s
}

// discard is the host of a script that is only checked.
type discard struct{}

func (discard) Log(*sandbox.Delivery, sandbox.LogLine) {}
