package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// Recorded is what an earlier run printed with --json.
type Recorded struct {
	Environment Environment
	Results     []Result
}

// ReadRecorded reads the output of a run. Lines that are no results are passed
// over: a run says more than figures. A text without the line of the environment
// or without a result is an error, because a comparison with nothing would find
// nothing.
func ReadRecorded(text []byte) (*Recorded, error) {
	var r Recorded
	begun := false
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		var event struct {
			Event string `json:"event"`
		}
		if err := json.Unmarshal(lines.Bytes(), &event); err != nil {
			return nil, fmt.Errorf("line %d is no JSON object", n)
		}
		var err error
		switch event.Event {
		case "environment":
			err, begun = json.Unmarshal(lines.Bytes(), &r.Environment), true
		case "result":
			r.Results = append(r.Results, Result{})
			err = json.Unmarshal(lines.Bytes(), &r.Results[len(r.Results)-1])
		}
		if err != nil {
			return nil, fmt.Errorf("line %d is not what bench prints: %w", n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if !begun || len(r.Results) == 0 {
		return nil, fmt.Errorf("it holds no results of `pipeline bench --json`")
	}
	return &r, nil
}

// Differs says in which setting an earlier run differs from this one, "" when in
// none: such figures cannot be compared. Rounds may differ.
func (s *Settings) Differs(before *Settings) string {
	for _, d := range []struct {
		flag        string
		now, before any
	}{
		{"entries", s.Entries, before.Entries}, {"workers", s.Workers, before.Workers},
		{"batch", s.Batch, before.Batch}, {"handler", s.Handler, before.Handler},
		{"pending", s.Pending, before.Pending}, {"idle", s.Idle, before.Idle},
	} {
		if d.now != d.before {
			return fmt.Sprintf("--%s was %v and is %v", d.flag, d.before, d.now)
		}
	}
	return ""
}

// Comparison is a figure of two runs.
type Comparison struct {
	Scenario string `json:"scenario"`
	Case     string `json:"case"`
	Figure
	// Of says what is compared: the ratio to the reference where both runs have one,
	// since that depends least on the machine; else the product's own value.
	Of     string  `json:"of"`
	Before float64 `json:"before"`
	Now    float64 `json:"now"`
	// Change is how much worse it is, 0.1 for a tenth, below 0 for better. Worse than
	// nothing is 1.
	Change float64 `json:"change"`
	// Beyond: it is worse by more than the tolerance.
	Beyond bool `json:"beyond"`
}

// What Comparison.Of says.
const (
	OfRatio = "ratio"
	OfValue = "value"
)

// Compare compares the figures that both runs have. tolerance is a share: 0.1
// for a tenth. A figure that is better by any amount is never beyond it.
func Compare(before, now []Result, tolerance float64) []Comparison {
	type place struct{ scenario, name, figure string }
	known := map[place]Result{}
	for _, r := range before {
		known[place{r.Scenario, r.Case, r.Name}] = r
	}
	var out []Comparison
	for _, r := range now {
		old, ok := known[place{r.Scenario, r.Case, r.Name}]
		if !ok || r.Better == Neither || r.Product == nil || old.Product == nil {
			continue
		}
		c := Comparison{Scenario: r.Scenario, Case: r.Case, Figure: r.Figure, Of: OfValue, Before: old.Product.Median, Now: r.Product.Median}
		if r.Ratio != nil && old.Ratio != nil {
			c.Of, c.Before, c.Now = OfRatio, old.Ratio.Median, r.Ratio.Median
		}
		c.Change = worse(r.Better, c.Before, c.Now)
		c.Beyond = c.Change > tolerance+1e-9 // what is beyond by rounding alone is not
		out = append(out, c)
	}
	return out
}

// worse is by which share a figure got worse. Of one that is better when it is
// higher, half as much is worse by 1: it takes twice as long.
func worse(better Better, before, now float64) float64 {
	if better == Higher {
		before, now = now, before
	}
	switch before {
	case now:
		return 0
	case 0:
		return math.Copysign(1, now)
	}
	return now/before - 1
}
