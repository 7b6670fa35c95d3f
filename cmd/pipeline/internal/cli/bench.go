package cli

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/bench"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/lang/diag"
)

// benchFlags are the flags of bench.
type benchFlags struct {
	bench.Settings
	redis, compare, tolerance string
	scenarios                 []string
	profile                   string
}

// startHint says how to come by a server.
const startHint = "a server to measure on, as redis://HOST:PORT/DB; `redis-server --port 6380 --save ''` starts one"

func (a *app) benchCommand() *cobra.Command {
	var flags benchFlags
	cmd := &cobra.Command{
		Use:   "bench --redis URL",
		Short: "Measure the product beside a consumer written by hand",
		Long: "bench measures on a real server what an entry costs: once by this program, once by a consumer as a senior engineer\n" +
			"writes it by hand with go-redis, which is part of this program. Both run in processes of their own, in turns, and\n" +
			"what counts is the ratio. It writes streams of its own, which begin with pipeline-bench-, says before how much that\n" +
			"is, and removes them at the end, also after a signal. Give it a server and a machine that have nothing else to do.\n\n" +
			"Scenarios:\n\n" + scenarioLines() + "\n" +
			"With --compare it measures what FILE, the --json output of an earlier run, has measured, and exits with 3 when a\n" +
			"figure is worse by more than --tolerance: the ratio where there is one, for that depends least on the machine.",
		Example: "  pipeline bench --redis redis://localhost:6380\n" +
			"  pipeline bench --redis redis://localhost:6380 --scenario reply --json >before.json\n" +
			"  pipeline bench --redis redis://localhost:6380 --scenario reply --compare before.json --tolerance 15%",
		Args: noArgument,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.bench(cmd, &flags) },
	}
	f := cmd.Flags()
	f.StringVar(&flags.redis, "redis", "", "measure on the server at a `URL`; required")
	f.StringSliceVar(&flags.scenarios, "scenario", []string{"all"}, "run these scenarios: `NAMES` with commas between, or all")
	f.Int64Var(&flags.Entries, "entries", 100_000, "settle `N` entries in a round")
	f.IntVar(&flags.Rounds, "rounds", 5, "measure each side `N` times")
	f.IntVar(&flags.Workers, "workers", 8, "run `N` handlers at once")
	f.IntVar(&flags.Batch, "batch", 1000, "read at most `N` entries at once")
	f.StringVar(&flags.Handler, "handler", "lua", "reply with the handler of a `LANGUAGE`: "+strings.Join(bench.Handlers(), ", ")+"; none is Go in the process")
	f.Int64Var(&flags.Pending, "pending", 0, "leave `N` entries pending in recovery and memory; 0 is ten times --entries")
	f.DurationVar(&flags.Idle, "idle", 20*time.Second, "be idle for a `TIME` before the first entry of latency, and in growth")
	f.DurationVar(&flags.Soak, "soak", 0, "in memory: go on for a `TIME` and show the memory of each side all the while")
	f.BoolVar(&flags.Full, "full", false, "in growth: go on to 10,000,000 entries, 1,000 streams, 64 workers and 16 processes")
	f.StringVar(&flags.compare, "compare", "", "compare with what an earlier run has printed with --json into a `FILE`")
	f.StringVar(&flags.tolerance, "tolerance", "10%", "with --compare: how much worse a figure may be, `PERCENT`")
	f.StringVar(&flags.profile, "profile", "", "write profiles of the product's last round of reply into the folder `DIR`")
	// It is for those who work on this program; `make profile` uses it.
	_ = f.MarkHidden("profile") // it fails for a flag that does not exist
	complete(cmd, "scenario", words(append([]string{"all"}, scenarioNames()...)...))
	complete(cmd, "handler", words(bench.Handlers()...))
	return cmd
}

// benchJobCommand is what bench starts for each side.
func (a *app) benchJobCommand() *cobra.Command {
	return &cobra.Command{
		Use: bench.Command, Short: "Do a job of bench", Hidden: true, Args: noArgument,
		Long:    "bench-job is what bench starts for each side of a round. It reads what to do from standard input, and ends with it.",
		Example: "  pipeline bench --redis redis://localhost:6380",
		RunE: func(*cobra.Command, []string) error {
			// A signal from the terminal reaches parent and children at once; the parent
			// decides, and children end with it.
			ignoreSignals()
			if code := bench.Serve(a.process.Stdin, a.process.Stdout, a.clock, a.exit); code != exitDone {
				return said(code)
			}
			return nil
		},
	}
}

func scenarioNames() []string {
	var names []string
	for _, s := range bench.Scenarios() {
		names = append(names, s.Name)
	}
	return names
}

func scenarioLines() string {
	var b strings.Builder
	for _, s := range bench.Scenarios() {
		fmt.Fprintf(&b, "  %-10s %s\n", s.Name, s.Does)
	}
	return b.String()
}

func (a *app) bench(cmd *cobra.Command, flags *benchFlags) error {
	scenarios, err := flags.check(cmd)
	if err != nil {
		return err
	}
	tolerance, err := percent(flags.tolerance)
	if err != nil {
		return usage(cmd, "--tolerance is %q; it is a share such as 10%%", flags.tolerance)
	}
	var before *bench.Recorded
	if flags.compare != "" {
		if before, err = readRecorded(cmd, flags); err != nil {
			return err
		}
	} else if cmd.Flags().Changed("tolerance") {
		return usage(cmd, "--tolerance is for --compare, which is not there")
	}
	a.view.Live()
	results, err := a.measure(cmd.Context(), flags, scenarios)
	if err != nil || before == nil {
		return err
	}
	return a.compared(flags.compare, bench.Compare(before.Results, results, tolerance))
}

// check refuses what cannot be measured, and finds the scenarios.
func (f *benchFlags) check(cmd *cobra.Command) ([]bench.Scenario, error) {
	if f.redis == "" {
		return nil, usage(cmd, "bench needs --redis URL: %s", startHint)
	}
	for _, n := range []struct {
		flag      string
		given     int64
		least, at int64
	}{
		{"entries", f.Entries, 100, 100_000_000}, {"rounds", int64(f.Rounds), 1, 1000},
		{"workers", int64(f.Workers), 1, 1024}, {"batch", int64(f.Batch), 1, 10_000},
	} {
		if n.given < n.least || n.given > n.at {
			return nil, usage(cmd, "--%s is %d; it is %d to %d", n.flag, n.given, n.least, n.at)
		}
	}
	if f.Pending == 0 {
		f.Pending = 10 * f.Entries
	}
	if f.Pending < f.Entries {
		return nil, usage(cmd, "--pending is %d; it is at least --entries, %d", f.Pending, f.Entries)
	}
	if f.Idle < 0 || f.Soak < 0 {
		return nil, usage(cmd, "--idle and --soak are times, 0 or more")
	}
	if err := oneOf(cmd, "handler", f.Handler, bench.Handlers()...); err != nil {
		return nil, err
	}
	if slices.Contains(f.scenarios, "all") {
		return bench.Scenarios(), nil
	}
	for _, name := range f.scenarios {
		if err := oneOf(cmd, "scenario", name, append([]string{"all"}, scenarioNames()...)...); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(bench.Scenarios(), func(s bench.Scenario) bool { return !slices.Contains(f.scenarios, s.Name) }), nil
}

// percent reads "10%" as 0.1.
func percent(text string) (float64, error) {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || !strings.HasSuffix(text, "%") || !(n >= 0 && n <= 1e6) { // also not a number
		return 0, errors.New("not a share")
	}
	return n / 100, nil
}

func readRecorded(cmd *cobra.Command, f *benchFlags) (*bench.Recorded, error) {
	text, err := os.ReadFile(f.compare)
	if err != nil {
		return nil, usage(cmd, "--compare: %s: %s", f.compare, systemReason(err))
	}
	before, err := bench.ReadRecorded(text)
	if err != nil {
		return nil, usage(cmd, "--compare: %s: %v", f.compare, err)
	}
	if why := f.Differs(&before.Environment.Settings); why != "" {
		return nil, usage(cmd, "--compare: %s was measured with other settings: %s; measure with the same", f.compare, why)
	}
	return before, nil
}

// measure runs the scenarios, and removes what they have left whatever happens.
func (a *app) measure(ctx context.Context, f *benchFlags, scenarios []bench.Scenario) (results []bench.Result, err error) {
	var signaled os.Signal
	ctx, stop := a.untilSignal(ctx, func(s os.Signal) { signaled = s })
	defer stop()
	prefix, err := benchPrefix()
	if err != nil {
		return nil, err
	}
	server, err := a.openBench(ctx, f.redis, prefix)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, server.Close(ctx)) }()
	bytes := bench.Bytes(scenarios, &f.Settings)
	if err := server.Fits(bytes); err != nil {
		return nil, fail(exitServer, "server_unsuitable", err.Error())
	}
	dir, err := os.MkdirTemp("", "pipeline-bench-")
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := bench.WriteHandlers(dir); err != nil {
		return nil, err
	}
	environment := bench.Look(server, version, &f.Settings)
	a.warnBusy(&environment)
	out := a.view.Bench(f.Rounds)
	out.Start(environment, prefix, bytes)
	runner := bench.Runner{
		Clock: a.clock, URL: f.redis, Server: server, Settings: f.Settings, Dir: dir, Profile: f.profile, Report: out,
	}
	results, err = runner.Run(ctx, scenarios)
	if ctx.Err() != nil && signaled != nil {
		return nil, fail(signalExit(signaled), "bench_interrupted",
			"a signal ("+signaled.String()+") stopped the measurement; what it had written is removed")
	}
	return results, err
}

// openBench opens the server. Its own timeout bounds that: nothing has been
// started that would have to wait for it.
func (a *app) openBench(ctx context.Context, url, prefix string) (*bench.Server, error) {
	ctx, cancel := context.WithTimeout(ctx, redis.DefaultTimeout)
	defer cancel()
	server, err := bench.Open(ctx, url, prefix, a.clock)
	if err == nil {
		return server, nil
	}
	if unfit, ok := errors.AsType[*bench.UnfitError](err); ok {
		return nil, fail(exitServer, "server_unsuitable", unfit.Error())
	}
	exit, word := classify(err)
	if _, ok := errors.AsType[*broker.Error](err); !ok {
		exit, word = exitUsage, "invalid_broker"
	}
	return nil, fail(exit, word, "--redis: "+err.Error())
}

// benchPrefix is how the keys of this run begin, as no other's do.
func benchPrefix() (string, error) {
	var token [6]byte
	if _, err := rand.Read(token[:]); err != nil {
		return "", fmt.Errorf("bench: %w", err)
	}
	return bench.Prefix(hex.EncodeToString(token[:])), nil
}

// warnBusy says when something else will be measured, too.
func (a *app) warnBusy(e *bench.Environment) {
	if e.Load != nil && *e.Load > bench.BusyLoad {
		a.view.Diagnostic(diag.Diagnostic{
			Severity: diag.Warning, Code: "machine_busy",
			Summary: fmt.Sprintf("the machine is not idle: its load average is %.2f, with %d processors", *e.Load, e.CPUs),
			Detail:  "Both sides share it with what else runs; the ratios waver, and the figures mean little.",
		})
	}
	if e.Clients > 0 {
		a.view.Diagnostic(diag.Diagnostic{
			Severity: diag.Warning, Code: "server_shared",
			Summary: fmt.Sprintf("%d other connections to the server are open", e.Clients),
			Detail:  "What they ask for counts as the server's cost of an entry.",
		})
	}
}

// compared prints a comparison and makes the exit code of it.
func (a *app) compared(file string, all []bench.Comparison) error {
	if len(all) == 0 {
		return fail(exitUsage, "bench_incomparable", file+" and this run have no figure in common; run the scenarios that it has")
	}
	a.view.BenchComparison(all)
	var beyond []string
	for _, c := range all {
		if c.Beyond {
			beyond = append(beyond, view.BenchChange(c))
		}
	}
	if len(beyond) > 0 {
		return fail(exitDifference, "bench_worse", strings.Join(beyond, "; "))
	}
	return nil
}
