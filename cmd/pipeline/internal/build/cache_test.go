package build_test

import (
	"sync"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// What is the same is compiled once, also by many at a time; what differs in
// anything that matters is not taken for the same.
func TestCache(t *testing.T) {
	t.Parallel()
	const script = "function handle() return ack() end\nfunction other() return retry() end"
	p, report := build.Load(pipelineFile(t, `  source = "h.lua"`, map[string]string{"h.lua": script}), build.Vars{})
	if p == nil {
		t.Fatal(report.All())
	}
	c := build.NewCache(nil, time.Minute)
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	first := make([]sandbox.Handler, 8)
	var all sync.WaitGroup
	for i := range first {
		all.Go(func() {
			code, err := c.Handler(p.Handlers[0])
			if err != nil {
				t.Error(err)
			}
			first[i] = code
		})
	}
	all.Wait()
	for _, code := range first {
		if code != first[0] {
			t.Error("it was compiled twice")
		}
	}
	for name, change := range map[string]func(*spec.Handler){
		"function": func(h *spec.Handler) { h.Function = "other" },
		"limit":    func(h *spec.Handler) { h.Limits.Instructions = 7 },
		"memory":   func(h *spec.Handler) { h.Limits.Memory = 1 << 20 },
		"label":    func(h *spec.Handler) { h.Label = "another" },
		"grant":    func(h *spec.Handler) { h.Grants = []spec.Grant{{Kind: "log"}} },
	} {
		h := *p.Handlers[0]
		change(&h)
		code, err := c.Handler(&h)
		if err != nil || code == first[0] {
			t.Errorf("another %s: the same code, %v", name, err)
		}
	}
	h := *p.Handlers[0]
	h.Path += ".gone"
	if _, err := c.Handler(&h); err == nil {
		t.Error("a file that is not there")
	}
}

// A time limit that is too short for a slow machine is raised.
func TestCacheRaisesTimeLimits(t *testing.T) {
	t.Parallel()
	const script = "function handle() local n = 0 for i = 1, 300000 do n = n + i end return ack() end"
	p, report := build.Load(pipelineFile(t, `  source = "h.lua"`, map[string]string{"h.lua": script}), build.Vars{})
	if p == nil {
		t.Fatal(report.All())
	}
	p.Handlers[0].Limits.Timeout = 1
	c := build.NewCache(nil, time.Minute)
	code, err := c.Handler(p.Handlers[0])
	if err != nil {
		t.Fatal(err)
	}
	in, err := code.NewInstance(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if said, _ := in.Call(t.Context(), &sandbox.Delivery{}); said.Kind != outcome.Ack {
		t.Errorf("it said %v: %+v", said.Kind, said.Failure)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
