package bench

import (
	"encoding/json"
	"time"
)

// Side is one of the two that are compared.
type Side string

// The sides.
const (
	Product   Side = "pipeline"
	Reference Side = "reference"
)

// Job is what a process of one side is to do. It travels as one line of JSON on
// its standard input, because it holds the address of the server, which an
// argument would show to everybody on the machine.
type Job struct {
	URL  string `json:"url"`
	Side Side   `json:"side"`
	// Dir holds the pipeline file of the product and its handlers.
	Dir string `json:"dir"`
	// Handler is one of Handlers. The reference has its own.
	Handler string `json:"handler"`
	// Streams are read through Group; Reply is where replies go, empty to
	// acknowledge only.
	Streams []string `json:"streams"`
	Group   string   `json:"group"`
	Reply   string   `json:"reply"`
	Workers int      `json:"workers"`
	Batch   int      `json:"batch"`
	// MinIdle is how long an entry must have been idle to be taken over.
	MinIdle time.Duration `json:"min_idle"`
	// Warm is how many entries are settled before the process says that it is
	// ready, and Total how many from then on until it is done. Total 0 goes on
	// until it is told to stop.
	Warm  int64 `json:"warm"`
	Total int64 `json:"total"`
	// Cold does not consume before the go: what is measured includes the start.
	Cold bool `json:"cold"`
	// Held lets entries be read from the go on and none be handled: the process is
	// done when it holds Total of them, or takes no more.
	Held bool `json:"held"`
	// Profile is a folder for a CPU profile and an allocation profile of what is
	// measured; empty for none.
	Profile string `json:"profile"`
}

// Orders of the parent to a process, a line each, after the job. The end of its
// standard input ends the process at once, so that none outlives its parent.
const (
	orderGo     = "go"
	orderSample = "sample"
	orderStop   = "stop"
)

// Said is what a line from a process says.
type Said string

// What processes say.
const (
	// saidReady: warmed up, and waiting for entries.
	saidReady Said = "ready"
	// saidGoing: the measurement has begun.
	saidGoing Said = "going"
	// saidAlive comes every second, with how many entries were settled.
	saidAlive Said = "alive"
	// saidSample answers orderSample with what was used since the go.
	saidSample Said = "sample"
	// saidDone: Total was reached, or the stop; with what was used since the go.
	saidDone Said = "done"
	// saidFailed: the process cannot go on, and says why.
	saidFailed Said = "failed"
)

// Message is one line from a process.
type Message struct {
	Said    Said  `json:"said"`
	Settled int64 `json:"settled"`
	// Held is how many entries it has in its hands, with saidDone of a job that
	// holds them.
	Held int64 `json:"held,omitempty"`
	Use  Use   `json:"use"`
	// Events are the warnings of the product\'s engine so far, by name, with
	// saidDone.
	Events map[string]int `json:"events,omitempty"`
	Error  string         `json:"error,omitempty"`
}

// Use is what a process has used since its go.
type Use struct {
	Elapsed time.Duration `json:"elapsed"`
	// CPU is user and system time together.
	CPU time.Duration `json:"cpu"`
	// Bytes and Objects were allocated on the heap.
	Bytes   uint64 `json:"bytes"`
	Objects uint64 `json:"objects"`
	// RSS is the memory of the process now, in bytes; 0 where the system does not
	// tell.
	RSS int64 `json:"rss"`
}

// line is v as one line of JSON.
func line(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only a type that JSON lacks could fail; tests encode both
	}
	return append(b, '\n')
}
