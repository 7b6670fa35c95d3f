package bench

import "time"

// Better says which way a figure is better.
type Better string

// The directions. A figure without one is told and never compared.
const (
	Higher  Better = "higher"
	Lower   Better = "lower"
	Neither Better = ""
)

// Figure is something that is measured.
type Figure struct {
	// Name is stable; Unit stands behind the number.
	Name   string `json:"figure"`
	Unit   string `json:"unit"`
	Better Better `json:"better"`
	// Title is what people read.
	Title string `json:"-"`
}

// The figures of all scenarios.
var (
	perSecond  = Figure{"entries_per_second", "entries/s", Higher, "entries a second"}
	clientCPU  = Figure{"cpu_us_per_entry", "µs", Lower, "CPU an entry, of the process"}
	serverCPU  = Figure{"server_cpu_us_per_entry", "µs", Lower, "CPU an entry, of the server"}
	allocBytes = Figure{"allocated_bytes_per_entry", "B", Lower, "allocated an entry"}
	seconds    = Figure{"seconds", "s", Lower, "from the start to the last entry"}
	slowest    = Figure{"slowest_command_ms", "ms", Lower, "slowest command, by the server"}
)

// throughput are the figures of a round that settles a number of entries.
var throughput = []Figure{perSecond, clientCPU, serverCPU, allocBytes}

// Sample is what one round of one side came to, by the names of figures.
type Sample map[string]float64

// throughputSample makes the figures of a round of n entries.
func throughputSample(n int64, u Use, server time.Duration) Sample {
	entries := float64(n)
	s := Sample{
		serverCPU.Name:  micros(server) / entries,
		allocBytes.Name: float64(u.Bytes) / entries,
	}
	if u.Elapsed > 0 {
		s[perSecond.Name] = entries / u.Elapsed.Seconds()
	}
	if u.CPU > 0 { // not known on every system
		s[clientCPU.Name] = micros(u.CPU) / entries
	}
	return s
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// Result is a figure of a case, over all rounds. Ratio is product by reference;
// it and a side are nil where there is none.
type Result struct {
	Scenario string `json:"scenario"`
	// Case tells the measurements of a scenario apart; empty where there is one.
	Case string `json:"case"`
	Figure
	Rounds    int     `json:"rounds"`
	Product   *Spread `json:"pipeline"`
	Reference *Spread `json:"reference"`
	Ratio     *Spread `json:"ratio"`
}

// results are those of the rounds of both sides, of the figures that were
// measured. Round n of one side is the pair of round n of the other.
func results(scenario, name string, figures []Figure, rounds map[Side][]Sample) []Result {
	var out []Result
	for _, f := range figures {
		r := Result{Scenario: scenario, Case: name, Figure: f}
		product, reference := column(rounds[Product], f.Name), column(rounds[Reference], f.Name)
		r.Rounds = max(len(product), len(reference))
		if len(product) > 0 {
			s := spread(product)
			r.Product = &s
		}
		if len(reference) > 0 {
			s := spread(reference)
			r.Reference = &s
		}
		if s, ok := ratios(product, reference); ok && f.Better != Neither {
			r.Ratio = &s
		}
		if r.Rounds > 0 {
			out = append(out, r)
		}
	}
	return out
}

// column is one figure of all rounds that have it.
func column(rounds []Sample, name string) []float64 {
	var out []float64
	for _, s := range rounds {
		if v, ok := s[name]; ok {
			out = append(out, v)
		}
	}
	return out
}
