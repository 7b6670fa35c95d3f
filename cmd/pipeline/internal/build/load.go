// Package build turns a pipeline file and flags into the parts that an engine
// is made of: it is the only place where the language, the sandboxes, the
// brokers and the engine meet.
package build

import (
	"errors"
	"path"
	"strings"

	"pipeline/cmd/pipeline/internal/input"
	"pipeline/engine"
	"pipeline/engine/spec"
	"pipeline/lang"
	"pipeline/lang/diag"
	"pipeline/sandbox"
)

// Vars are the values for a pipeline's variables.
type Vars struct {
	// Values are those of --var, Files those of --var-file.
	Values map[string]string
	Files  []string
	// Env serves env() and PIPELINE_VAR_name.
	Env func(string) (string, bool)
	// Hostname serves hostname().
	Hostname string
}

// Load reads the pipeline at a path of the operating system and compiles every
// handler. The pipeline is nil when the report has errors.
func Load(at string, v Vars) (*spec.Pipeline, *diag.Report) {
	return lang.Load(lang.OS(), at, lang.Options{
		Vars: v.Values, VarFiles: v.Files, LookupEnv: v.Env, Hostname: v.Hostname, CheckHandler: checkHandler,
	})
}

// Supported says why the engine of this version cannot run a valid pipeline;
// nil when it can.
func Supported(p *spec.Pipeline) error {
	handlers, err := Compile(p, discard{})
	if err != nil {
		return err
	}
	_, err = engine.NewDryRun(engine.Config{Pipeline: p, Handlers: handlers.ByLabel()})
	err = errors.Join(err, handlers.Close())
	if err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "engine: "))
	}
	return nil
}

// checkHandler compiles a handler and tells the language what is wrong with it.
func checkHandler(h *spec.Handler, source []byte, modules [][]byte) []lang.Problem {
	if path.Ext(h.Source) == ".wasm" {
		return []lang.Problem{{
			Module: -1, Message: "WASM handlers are not in this version",
			Remedy: "Lua handlers are; WASM modules come with a later version of pipeline.",
		}}
	}
	s, err := handlerSpec(h, source, modules, discard{})
	if err != nil {
		return []lang.Problem{{Module: -1, Message: err.Error()}}
	}
	compiled, err := compile(s)
	if err != nil {
		return []lang.Problem{problem(h, err)}
	}
	// Nothing was instantiated: there is nothing that could fail to close.
	_ = compiled.Close()
	return nil
}

func problem(h *spec.Handler, err error) lang.Problem {
	load, ok := errors.AsType[*sandbox.LoadError](err)
	if !ok {
		return lang.Problem{Module: -1, Message: err.Error()}
	}
	p := lang.Problem{
		Module: -1, Line: load.Line, Column: load.Column, Message: load.Problem, Remedy: sentence(load.Remedy),
		Function: load.Missing, Available: load.Functions,
	}
	for i, m := range h.Modules {
		if m.Source == load.Source {
			p.Module = i
		}
	}
	return p
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

// Stream finds a stream by what a user calls it: its label, or its key on the
// server. Without one, near is what was probably meant.
func Stream(p *spec.Pipeline, name string) (s *spec.Stream, near string) {
	if s := input.FindStream(p, name); s != nil {
		return s, ""
	}
	return nil, diag.Nearest(name, input.StreamNames(p))
}
