package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/bench"
)

func TestQuantity(t *testing.T) {
	t.Parallel()
	for f, want := range map[float64]string{
		0: "0.00", 0.004: "0.00", 1.005: "1.00", 9.994: "9.99", 9.996: "10.0", 99.94: "99.9", 99.96: "100", 1234567.5: "1,234,568", -3.5: "-3.50", -250.4: "-250",
	} {
		if got := quantity(f); got != want {
			t.Errorf("%v is %q, want %q", f, got, want)
		}
	}
}

// benchCase is a case with a figure that has both sides, and one that has not.
func benchCase() []bench.Result {
	s := func(median, least, most float64) *bench.Spread {
		return &bench.Spread{Median: median, Min: least, Max: most}
	}
	return []bench.Result{
		{
			Scenario: "reply", Case: "c", Figure: bench.Figure{Name: "entries_per_second", Unit: "entries/s", Better: bench.Higher, Title: "entries a second"},
			Rounds: 3, Product: s(1200, 1100, 1300), Reference: s(1000, 1000, 1000), Ratio: s(1.2, 1.1, 1.3),
		},
		{
			Scenario: "reply", Case: "c", Figure: bench.Figure{Name: "rss_mib", Unit: "MiB", Better: bench.Lower, Title: "RSS"},
			Rounds: 3, Product: s(12.34, 12.34, 12.34),
		},
	}
}

func TestBenchText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := New(Options{Out: &out, Err: &out})
	load := 0.25
	b := v.Bench(3)
	b.Start(bench.Environment{
		CPU: "Abacus", CPUs: 2, Platform: "linux/amd64", Go: "go1", Pipeline: "0.1.0", Server: "redis", ServerVersion: "8.6.3", Load: &load,
		Settings: bench.Settings{Entries: 1000, Rounds: 3, Workers: 1, Batch: 10, Handler: "lua"},
	}, "pipeline-bench-{x}:", 3<<20)
	b.Case("reply", "c", benchCase())
	b.Note("recovery", "so slow")
	b.Memory(bench.Product, 61*time.Second, 5<<20)
	v.BenchComparison([]bench.Comparison{
		{Scenario: "reply", Case: "c", Figure: benchCase()[0].Figure, Of: bench.OfRatio, Before: 2, Now: 1.6, Change: .25, Beyond: true},
		{Scenario: "ack", Figure: benchCase()[1].Figure, Of: bench.OfValue, Before: 20, Now: 10, Change: -.5},
	})
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	want := `machine   Abacus, 2 processors, linux/amd64, load 0.25
software  pipeline 0.1.0, go1, redis 8.6.3
settings  1,000 entries, 3 rounds of each side in turns, 1 worker, batch 10, handler lua
writes    up to 3 MiB under pipeline-bench-{x}:*, removed at the end

reply, c                     pipeline  reference             ratio
entries a second  1,200 (1,100–1,300)      1,000  1.20 (1.10–1.30)  entries/s
RSS                              12.3                               MiB

so slow
pipeline after 1m1s: RSS 5 MiB
compared                           before   now
reply, c  entries a second  ratio    2.00  1.60  25.0 % worse
ack       RSS               value    20.0  10.0  50.0 % better
`
	if got := out.String(); strings.ReplaceAll(got, " \n", "\n") != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// A ratio is coloured only where its whole spread is on one side.
func TestRatioTone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		better     bench.Better
		least, max float64
		want       style
	}{
		{bench.Higher, 1.1, 1.2, green},
		{bench.Higher, .8, .9, yellow},
		{bench.Higher, .9, 1.1, plain},
		{bench.Lower, .8, .9, green},
		{bench.Lower, 1.1, 1.2, yellow},
	} {
		r := bench.Result{Figure: bench.Figure{Better: c.better}, Ratio: &bench.Spread{Min: c.least, Max: c.max}}
		if got := ratioTone(&r); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

func TestBenchChange(t *testing.T) {
	t.Parallel()
	f := bench.Figure{Name: "p50_us", Unit: "µs"}
	for want, c := range map[string]bench.Comparison{
		"the ratio of p50_us of latency, 1000 entries/s was 1.00 and is 1.50, 50.0 % worse": {
			Scenario: "latency", Case: "1000 entries/s", Figure: f, Of: bench.OfRatio, Before: 1, Now: 1.5, Change: .5,
		},
		"p50_us of latency was 300 µs and is 300 µs, the same": {Scenario: "latency", Figure: f, Of: bench.OfValue, Before: 300, Now: 300},
	} {
		if got := BenchChange(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
