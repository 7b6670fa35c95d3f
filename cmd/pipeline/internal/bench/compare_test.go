package bench

import (
	"strings"
	"testing"
)

func one(v float64) *Spread { return &Spread{v, v, v} }

func TestCompare(t *testing.T) {
	t.Parallel()
	result := func(f Figure, product, ratio float64) Result {
		r := Result{Scenario: "reply", Figure: f, Product: one(product)}
		if ratio != 0 {
			r.Ratio = one(ratio)
		}
		return r
	}
	for name, c := range map[string]struct {
		before, now Result
		tolerance   float64
		of          string
		change      float64
		beyond      bool
	}{
		"the same":                         {result(perSecond, 1, 1), result(perSecond, 1, 1), 0, OfRatio, 0, false},
		"slower than allowed":              {result(perSecond, 9, 1), result(perSecond, 9, .8), .1, OfRatio, .25, true},
		"slower by what is allowed":        {result(perSecond, 9, 1.1), result(perSecond, 9, 1), .1, OfRatio, .1, false},
		"faster":                           {result(perSecond, 9, 1), result(perSecond, 9, 2), 0, OfRatio, -.5, false},
		"dearer than allowed":              {result(clientCPU, 9, 1), result(clientCPU, 9, 1.2), .1, OfRatio, .2, true},
		"cheaper":                          {result(clientCPU, 9, 1), result(clientCPU, 9, .5), 0, OfRatio, -.5, false},
		"the ratio counts, not the value":  {result(clientCPU, 1, 1), result(clientCPU, 100, 1), .1, OfRatio, 0, false},
		"the value where there is none":    {result(slowest, 10, 0), result(slowest, 15, 0), .1, OfValue, .5, true},
		"the value where one has none":     {result(slowest, 10, 7), result(slowest, 15, 0), .1, OfValue, .5, true},
		"something where nothing was":      {result(slowest, 0, 0), result(slowest, 3, 0), .5, OfValue, 1, true},
		"nothing where something was":      {result(slowest, 3, 0), result(slowest, 0, 0), 0, OfValue, -1, false},
		"nothing a second, after all that": {result(perSecond, 3, 0), result(perSecond, 0, 0), .5, OfValue, 1, true},
	} {
		got := Compare([]Result{c.before}, []Result{c.now}, c.tolerance)
		if len(got) != 1 {
			t.Errorf("%s: %d comparisons", name, len(got))
			continue
		}
		g := got[0]
		if d := g.Change - c.change; g.Of != c.of || g.Beyond != c.beyond || d > 1e-9 || d < -1e-9 {
			t.Errorf("%s: %+v, want %s %v %v", name, g, c.of, c.change, c.beyond)
		}
	}
}

// plainFigure has no better side.
var plainFigure = Figure{Name: "plain"}

// Only what both runs have, and what has a better side, is compared.
func TestCompareInCommon(t *testing.T) {
	t.Parallel()
	of := func(scenario, name string, f Figure) Result {
		return Result{Scenario: scenario, Case: name, Figure: f, Product: one(1)}
	}
	before := []Result{of("a", "", clientCPU), of("b", "1", clientCPU), of("b", "1", plainFigure), {Scenario: "c", Figure: clientCPU, Reference: one(1)}}
	now := []Result{of("a", "", serverCPU), of("b", "1", plainFigure), of("b", "1", clientCPU), of("b", "2", clientCPU), of("c", "", clientCPU)}
	got := Compare(before, now, 0)
	if len(got) != 1 || got[0].Scenario != "b" || got[0].Case != "1" || got[0].Name != clientCPU.Name {
		t.Errorf("compared %+v", got)
	}
}

// What a run prints is what a comparison reads, whatever else it prints.
func TestReadRecorded(t *testing.T) {
	t.Parallel()
	environment := `{"event":"environment","entries":7,"workers":2,"batch":3,"handler":"c"}` + "\n"
	r := `{"event":"result","scenario":"s","case":"k","figure":"f","unit":"u","better":"lower","pipeline":{"median":2,"min":1,"max":3},"reference":null,"ratio":null}` + "\n"
	rec, err := ReadRecorded([]byte(environment + `{"event":"later","x":[]}` + "\n" + r))
	if err != nil {
		t.Fatal(err)
	}
	if s := rec.Environment.Settings; s != (Settings{Entries: 7, Workers: 2, Batch: 3, Handler: "c"}) {
		t.Errorf("settings %+v", s)
	}
	if len(rec.Results) != 1 || rec.Results[0].Name != "f" || *rec.Results[0].Product != (Spread{2, 1, 3}) || rec.Results[0].Ratio != nil {
		t.Errorf("results %+v", rec.Results)
	}
	for text, want := range map[string]string{
		"":                   "no results",
		environment:          "no results",
		r:                    "no results",
		environment + "{]\n": "line 2 is no JSON",
		environment + `{"event":"result","rounds":"many"}` + "\n": "line 2 is not what bench prints",
	} {
		if _, err := ReadRecorded([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestDiffers(t *testing.T) {
	t.Parallel()
	s := Settings{Entries: 1, Rounds: 2, Workers: 3, Batch: 4, Handler: "lua"}
	for want, change := range map[string]func(*Settings){
		"":                           func(s *Settings) { s.Rounds = 9 },
		"--entries was 9 and is 1":   func(s *Settings) { s.Entries = 9 },
		"--workers was 9 and is 3":   func(s *Settings) { s.Workers = 9 },
		"--batch was 9 and is 4":     func(s *Settings) { s.Batch = 9 },
		"--handler was c and is lua": func(s *Settings) { s.Handler = "c" },
	} {
		before := s
		change(&before)
		if got := s.Differs(&before); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
