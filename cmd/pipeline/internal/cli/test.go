package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/source"
	"pipeline/cmd/pipeline/internal/testrun"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker/redis"
	"pipeline/engine/broker/redis/aging"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/lang/testspec"
)

// testFlags are the flags of test.
type testFlags struct {
	run, junit, redis string
	parallel          int
}

func (a *app) testCommand() *cobra.Command {
	var flags testFlags
	cmd := &cobra.Command{
		Use:   "test PATH",
		Short: "Run the tests of a pipeline, each with streams, workers and a stopped clock of its own",
		Long: "test runs the *_test.hcl files beside a pipeline. No server is needed and no time passes: each test has a server in\n" +
			"memory, workers and a clock that moves where the test says so, and the same files give the same output in every run.\n" +
			"A test that fails shows the assert with both its sides, and the deliveries that led there.\n\n" +
			"With --redis the same tests run on a real server: on keys of their own, which begin with pipeline-test: and are removed,\n" +
			"and in the same stopped time, for which pending entries, records and leases are aged. A test that the server is too\n" +
			"old for, or that is about another version, is not run and says so.\n\n" +
			"The exit code is 1 when a test failed or could not be carried out, 2 when there is no test to run,\n" +
			"and 4 when the server of --redis cannot be used, or none of the tests can be run on it.",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.test(cmd, args[0], flags) },
	}
	cmd.Flags().StringVar(&flags.run, "run", "", "run only tests whose name matches the `REGEX`")
	cmd.Flags().StringVar(&flags.junit, "junit", "", "write a report for continuous integration to a `FILE`, as JUnit's XML, with real times")
	cmd.Flags().StringVar(&flags.redis, "redis", "", "run on the server at a `URL` instead of one in memory")
	cmd.Flags().IntVar(&flags.parallel, "parallel", 0, "run `N` tests at once (default one for each processor)")
	return cmd
}

func (a *app) test(cmd *cobra.Command, path string, flags testFlags) error {
	only, err := checkTestFlags(cmd, flags)
	if err != nil {
		return err
	}
	vars, err := a.variables(cmd)
	if err != nil {
		return err
	}
	vars.Hostname = testHost
	suite, report := build.LoadTests(path, vars)
	if suite != nil {
		refuseUnsupported(report, suite.Tests)
	}
	if report.HasErrors() {
		a.view.Report(report)
		return said(exitUsage)
	}
	a.view.Warnings(report)
	// What a look at the scripts finds often is why a test fails. What else is
	// wrong with the pipeline was reported where a test needs it.
	_, own := build.Load(suite.Pipeline, vars)
	a.view.Warnings(own)
	tests := selected(suite.Tests, only)
	if len(tests) == 0 {
		return fail(exitUsage, "no_test_matches", fmt.Sprintf("no test has a name that --run %q matches; there are %s", flags.run, names(suite.Tests)))
	}
	t := &testRun{a: a, suite: suite, parallel: flags.parallel, unselected: len(suite.Tests) - len(tests)}
	if flags.redis == "" {
		return t.run(cmd.Context(), tests, flags.junit)
	}
	return t.on(cmd.Context(), flags.redis, func() error { return t.run(cmd.Context(), tests, flags.junit) })
}

// on runs tests on a real server.
func (t *testRun) on(ctx context.Context, url string, run func() error) error {
	ctx, cancel := context.WithTimeout(ctx, redis.DefaultTimeout)
	defer cancel()
	server, err := aging.Open(ctx, url, t.a.clock)
	if err != nil {
		if exit, word := classify(err); exit == exitServer {
			return fail(exit, word, "--redis: "+err.Error())
		}
		return fail(exitUsage, "invalid_broker", "--redis: "+err.Error())
	}
	t.redis = server
	return errors.Join(run(), server.Close())
}

// testHost is what hostname() is in tests: the same on every machine, as all of
// what they print.
const testHost = "host"

// checkTestFlags returns what --run selects; nil is all.
func checkTestFlags(cmd *cobra.Command, flags testFlags) (*regexp.Regexp, error) {
	if cmd.Flags().Changed("redis") && flags.redis == "" {
		return nil, usage(cmd, "--redis is empty; it is the server to run on, as redis://HOST:PORT/DB")
	}
	if cmd.Flags().Changed("parallel") && flags.parallel < 1 {
		return nil, usage(cmd, "--parallel is %d; it is the number of tests that run at once, from 1", flags.parallel)
	}
	if cmd.Flags().Changed("junit") && flags.junit == "" {
		return nil, usage(cmd, "--junit is empty; it is the file to write")
	}
	if flags.run == "" {
		return nil, nil //nolint:nilnil // without --run every test is selected
	}
	only, err := regexp.Compile(flags.run)
	if err != nil {
		return nil, usage(cmd, "--run: %v", err)
	}
	return only, nil
}

// refuseUnsupported reports what this version cannot run, once for each
// pipeline that tests make of the files by their variables. A test may expect
// just that.
func refuseUnsupported(report *diag.Report, tests []*testspec.Test) {
	seen := map[*spec.Pipeline]bool{}
	for _, t := range tests {
		if t.Pipeline == nil || t.Expect != nil || seen[t.Pipeline] {
			continue
		}
		seen[t.Pipeline] = true
		if err := build.Supported(t.Pipeline); err != nil {
			report.Add(diag.Diagnostic{Severity: diag.Error, Code: codeNotAvailable, Summary: err.Error()})
		}
	}
}

func selected(tests []*testspec.Test, only *regexp.Regexp) []*testspec.Test {
	if only == nil {
		return tests
	}
	var chosen []*testspec.Test
	for _, t := range tests {
		if only.MatchString(t.Name) {
			chosen = append(chosen, t)
		}
	}
	return chosen
}

// names are the names of the first tests.
func names(tests []*testspec.Test) string {
	const most = 5
	text := ""
	for i, t := range tests {
		if i == most {
			return text + ", …"
		}
		if i > 0 {
			text += ", "
		}
		text += "\"" + t.Name + "\""
	}
	return text
}

// testRun is one run of tests.
type testRun struct {
	a          *app
	suite      *testspec.Suite
	parallel   int
	unselected int
	// redis is the server to run on, nil for memory.
	redis *aging.Redis
}

// run runs tests, prints what comes of them in file order, and ends early on a
// signal with what was done until then.
func (t *testRun) run(ctx context.Context, tests []*testspec.Test, junit string) error {
	var signaled os.Signal
	ctx, stop := t.a.untilSignal(ctx, func(s os.Signal) { signaled = s })
	defer stop()
	t.a.view.Live()
	var results []*testrun.Result
	var sum testrun.Summary
	out := t.a.view.Tests(t.where())
	for r := range testrun.Run(ctx, tests, testrun.Options{Parallel: t.parallel, Clock: t.a.clock, Redis: t.redis}) {
		results = append(results, r)
		sum.Add(r)
		out.Result(r)
	}
	out.Summary(sum, t.unselected)
	if err := t.report(junit, results); err != nil {
		return err
	}
	switch {
	case ctx.Err() != nil && sum.Skipped > 0:
		return fail(signalExit(signaled), "tests_interrupted", "a signal ("+signaled.String()+") stopped the tests before all were run")
	case sum.Skipped == sum.Tests:
		return fail(exitServer, "server_unsuitable", "none of the tests can be run on this server; run them on another, or without --redis")
	case !sum.OK():
		return fail(exitFailed, "tests_failed", fmt.Sprintf("%d of %d tests did not pass", sum.Failed+sum.Errors, sum.Tests))
	}
	return nil
}

// where is the server in words; empty for memory.
func (t *testRun) where() string {
	if t.redis == nil {
		return ""
	}
	return t.redis.Server.Software + " " + t.redis.Server.Version
}

// report writes the report for continuous integration, if one is asked for.
func (t *testRun) report(file string, results []*testrun.Result) error {
	if file == "" {
		return nil
	}
	text, err := view.JUnit(t.suite.Pipeline, results)
	if err == nil {
		err = source.Write(file, text)
	}
	if err != nil {
		return fail(exitFailed, "not_written", err.Error())
	}
	return nil
}
