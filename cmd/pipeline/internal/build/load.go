// Package build turns a pipeline file and flags into the parts that an engine
// is made of: it is the only place where the language, the sandboxes, the
// brokers and the engine meet.
package build

import (
	"errors"
	"strings"

	"pipeline/cmd/pipeline/internal/input"
	"pipeline/engine"
	"pipeline/engine/spec"
	"pipeline/lang"
	"pipeline/lang/diag"
	"pipeline/lang/testspec"
	"pipeline/sandbox"
)

// Vars are the values for a pipeline's variables.
type Vars struct {
	// Values are those of --var, Files those of --var-file.
	Values map[string]string
	Files  []string
	// Elsewhere are variables of another pipeline that is loaded with the same
	// values: this one need not declare them.
	Elsewhere []string
	// Env serves env() and PIPELINE_VAR_name.
	Env func(string) (string, bool)
	// Hostname serves hostname().
	Hostname string
}

// Load reads the pipeline at a path of the operating system and compiles every
// handler. The pipeline is nil when the report has errors.
func Load(at string, v Vars) (*spec.Pipeline, *diag.Report) {
	return lang.Load(lang.OS(), at, v.options())
}

func (v Vars) options() lang.Options {
	return lang.Options{
		Vars: v.Values, VarFiles: v.Files, Elsewhere: v.Elsewhere, LookupEnv: v.Env, Hostname: v.Hostname, CheckHandler: new(checker).check,
	}
}

// Supported says why the engine of this version cannot run a valid pipeline;
// nil when it can.
func Supported(p *spec.Pipeline) error {
	handlers := map[string]sandbox.Handler{}
	for _, h := range p.Handlers {
		handlers[h.Label] = neverRun{}
	}
	if _, err := engine.NewDryRun(engine.Config{Pipeline: p, Handlers: handlers}); err != nil {
		return errors.New(strings.TrimPrefix(err.Error(), "engine: "))
	}
	return nil
}

// neverRun stands for a handler of which only its being there matters.
type neverRun struct{ sandbox.Handler }

// Stream finds a stream by what a user calls it: its label, or its key on the
// server. Without one, near is what was probably meant.
func Stream(p *spec.Pipeline, name string) (s *spec.Stream, near string) {
	if s := input.FindStream(p, name); s != nil {
		return s, ""
	}
	return nil, diag.Nearest(name, input.StreamNames(p))
}

// LoadTests reads the tests of the pipeline at a path of the operating system,
// and the pipeline with the variables of each. The suite is nil when the report
// has errors.
func LoadTests(at string, v Vars) (*testspec.Suite, *diag.Report) {
	return lang.LoadTests(lang.OS(), at, v.options())
}
