package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// read loads a pipeline with the variables of the command line. It need not
// declare those that another one declares, elsewhere.
func (a *app) read(cmd *cobra.Command, path string, elsewhere ...string) (*spec.Pipeline, *diag.Report, error) {
	vars, err := a.variables(cmd)
	if err != nil {
		return nil, nil, err
	}
	vars.Elsewhere = elsewhere
	p, report := build.Load(path, vars)
	if p != nil {
		if err := build.Supported(p); err != nil {
			report.Add(diag.Diagnostic{Severity: diag.Error, Code: codeNotAvailable, Summary: err.Error()})
		}
	}
	return p, report, nil
}

// variables are those of the command line and its surroundings.
func (a *app) variables(cmd *cobra.Command) (build.Vars, error) {
	vars := build.Vars{Values: map[string]string{}, Files: a.varFiles, Env: a.process.Env}
	for _, text := range a.vars {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			// The text is not repeated: it may be a secret in the wrong place.
			return vars, usage(cmd, "--var wants NAME=VALUE")
		}
		vars.Values[name] = value
	}
	if host, err := os.Hostname(); err == nil {
		vars.Hostname = host
	}
	return vars, nil
}

// load loads a pipeline that is to be used. Errors are printed in full and end
// the command; of the rest only warnings, for validate shows everything.
func (a *app) load(cmd *cobra.Command, path string, elsewhere ...string) (*spec.Pipeline, error) {
	p, report, err := a.read(cmd, path, elsewhere...)
	if err != nil {
		return nil, err
	}
	if report.HasErrors() {
		a.view.Report(report)
		return nil, said(exitUsage)
	}
	a.view.Warnings(report)
	return p, nil
}

// findStream finds the stream that a flag names.
func findStream(cmd *cobra.Command, p *spec.Pipeline, flag, name string) (*spec.Stream, error) {
	s, near := build.Stream(p, name)
	if s == nil {
		return nil, usage(cmd, "--%s: the pipeline has no stream %q", flag, name).near(near)
	}
	return s, nil
}

// loadServed is load for commands that need the server of the pipeline.
func (a *app) loadServed(cmd *cobra.Command, path string) (*spec.Pipeline, error) {
	p, err := a.load(cmd, path)
	if err == nil {
		err = needsServer(cmd, p)
	}
	return p, err
}

// needsServer refuses a pipeline on the broker that lives in the process.
func needsServer(cmd *cobra.Command, p *spec.Pipeline) error {
	if p.Broker.Kind != spec.BrokerMemory {
		return nil
	}
	return fail(exitUsage, "memory_broker", cmd.CommandPath()+" needs a server, and broker \"memory\" is gone when the process ends; "+
		"declare broker \"redis\", or use dev, which runs without one")
}
