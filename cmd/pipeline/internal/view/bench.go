package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/bench"
)

// Bench prints a measurement while it runs.
type Bench struct {
	v      *View
	rounds int
}

// Bench begins the output of a measurement of that many rounds.
func (v *View) Bench(rounds int) *Bench { return &Bench{v, rounds} }

// Start prints what is measured where, and what will be written, before it is.
func (b *Bench) Start(e bench.Environment, prefix string, bytes int64) {
	if b.v.o.JSON {
		b.v.event(struct {
			Event string `json:"event"`
			bench.Environment
		}{"environment", e})
		b.v.event(struct {
			Event  string `json:"event"`
			Prefix string `json:"prefix"`
			Bytes  int64  `json:"bytes"`
		}{"writes", prefix, bytes})
		return
	}
	tab := &table{head: []string{"", ""}, headless: true}
	tab.row(cell{"machine", dim}, cell{machineWords(&e), plain})
	tab.row(cell{"software", dim}, cell{"pipeline " + e.Pipeline + ", " + e.Go + ", " + e.Server + " " + e.ServerVersion, plain})
	tab.row(cell{"settings", dim}, cell{fmt.Sprintf("%s, %s of each side in turns, %s, batch %s, handler %s",
		count(e.Entries, "entry", "entries"), count(int64(e.Rounds), "round", "rounds"), count(int64(e.Workers), "worker", "workers"),
		number(int64(e.Batch)), e.Handler), plain})
	tab.row(cell{"writes", dim}, cell{"up to " + size(bytes) + " under " + prefix + "*, removed at the end", plain})
	b.v.write(append(tab.append(nil, paint(b.v.o.Color), b.v.o.Width), '\n'))
}

func machineWords(e *bench.Environment) string {
	name := e.CPU
	if name == "" {
		name = "processor not known"
	}
	words := name + ", " + count(int64(e.CPUs), "processor", "processors") + ", " + e.Platform
	if e.Load != nil {
		words += ", load " + strconv.FormatFloat(*e.Load, 'f', 2, 64)
	}
	return words
}

// Begin implements bench.Reporter.
func (b *Bench) Begin(scenario, name string) {
	b.progress(caseName(scenario, name) + ": preparing")
}

// Round implements bench.Reporter.
func (b *Bench) Round(scenario, name string, round int, side bench.Side, s bench.Sample) {
	if b.v.o.JSON {
		b.v.event(struct {
			Event    string       `json:"event"`
			Scenario string       `json:"scenario"`
			Case     string       `json:"case"`
			Round    int          `json:"round"`
			Side     bench.Side   `json:"side"`
			Figures  bench.Sample `json:"figures"`
		}{"round", scenario, name, round, side, s})
		return
	}
	b.progress(fmt.Sprintf("%s: round %d of %d, %s done", caseName(scenario, name), round, b.rounds, side))
}

// Memory implements bench.Reporter.
func (b *Bench) Memory(side bench.Side, after time.Duration, rss int64) {
	if b.v.o.JSON {
		b.v.event(struct {
			Event   string     `json:"event"`
			Side    bench.Side `json:"side"`
			Seconds float64    `json:"seconds"`
			RSS     int64      `json:"rss_bytes"`
		}{"memory", side, after.Seconds(), rss})
		return
	}
	b.v.write([]byte(string(side) + " after " + Duration(after.Round(time.Second)) + ": RSS " + size(rss) + "\n"))
}

// Note implements bench.Reporter.
func (b *Bench) Note(scenario, text string) {
	if b.v.o.JSON {
		b.v.event(struct {
			Event    string `json:"event"`
			Scenario string `json:"scenario"`
			Text     string `json:"text"`
		}{"note", scenario, text})
		return
	}
	b.v.write([]byte(clean(text) + "\n"))
}

func (b *Bench) progress(text string) { b.v.showProgress(text) }

// Case implements bench.Reporter.
func (b *Bench) Case(scenario, name string, results []bench.Result) {
	if b.v.o.JSON {
		for _, r := range results {
			b.v.event(struct {
				Event string `json:"event"`
				bench.Result
			}{"result", r})
		}
		return
	}
	tab := &table{
		head:  []string{caseName(scenario, name), string(bench.Product), string(bench.Reference), "ratio", ""},
		right: map[int]bool{1: true, 2: true, 3: true},
	}
	for _, r := range results {
		ratio, tone := "", plain
		if r.Ratio != nil {
			ratio, tone = spreadText(r.Ratio), ratioTone(&r)
		}
		tab.row(cell{r.Title, plain}, cell{spreadText(r.Product), plain}, cell{spreadText(r.Reference), plain}, cell{ratio, tone}, cell{r.Unit, dim})
	}
	b.v.write(append(tab.append(nil, paint(b.v.o.Color), b.v.o.Width), '\n'))
}

// ratioTone colours a ratio whose spread lies on one side of 1.
func ratioTone(r *bench.Result) style {
	below, above := r.Ratio.Max < 1, r.Ratio.Min > 1
	switch {
	case r.Better == bench.Higher && above, r.Better == bench.Lower && below:
		return green
	case r.Better == bench.Higher && below, r.Better == bench.Lower && above:
		return yellow
	}
	return plain
}

func caseName(scenario, name string) string {
	if name == "" {
		return scenario
	}
	return scenario + ", " + name
}

// spreadText is "1,234 (1,200–1,300)", without the ends where there is one value,
// and empty for none.
func spreadText(s *bench.Spread) string {
	if s == nil {
		return ""
	}
	if s.Min == s.Max {
		return quantity(s.Median)
	}
	return quantity(s.Median) + " (" + quantity(s.Min) + "–" + quantity(s.Max) + ")"
}

// quantity writes a number to three digits or so.
func quantity(f float64) string {
	abs := math.Abs(f)
	switch {
	case abs >= 99.95:
		return number(int64(math.Round(f)))
	case abs >= 9.995:
		return strconv.FormatFloat(f, 'f', 1, 64)
	}
	return strconv.FormatFloat(f, 'f', 2, 64)
}

// BenchComparison prints what became of the figures of an earlier run.
func (v *View) BenchComparison(all []bench.Comparison) {
	if v.o.JSON {
		for _, c := range all {
			v.event(struct {
				Event string `json:"event"`
				bench.Comparison
			}{"comparison", c})
		}
		return
	}
	tab := &table{head: []string{"compared", "", "", "before", "now", ""}, right: map[int]bool{3: true, 4: true}}
	for _, c := range all {
		tone := plain
		if c.Beyond {
			tone = red
		}
		tab.row(cell{caseName(c.Scenario, c.Case), plain}, cell{c.Title, plain}, cell{c.Of, dim},
			cell{quantity(c.Before), plain}, cell{quantity(c.Now), plain}, cell{changeText(&c), tone})
	}
	v.write(tab.append(nil, paint(v.o.Color), v.o.Width))
}

// BenchChange says of one figure what it was and is.
func BenchChange(c bench.Comparison) string {
	what := strings.TrimSpace(c.Name + " of " + caseName(c.Scenario, c.Case))
	unit := " " + c.Unit
	if c.Of == bench.OfRatio {
		what, unit = "the ratio of "+what, ""
	}
	return what + " was " + quantity(c.Before) + unit + " and is " + quantity(c.Now) + unit + ", " + changeText(&c)
}

func changeText(c *bench.Comparison) string {
	share := strconv.FormatFloat(100*max(c.Change, -c.Change), 'f', 1, 64) + " %"
	switch {
	case c.Change > 0:
		return share + " worse"
	case c.Change < 0:
		return share + " better"
	}
	return "the same"
}
