package main

import (
	"slices"
	"testing"
)

func TestLine(t *testing.T) {
	tests := map[string]struct {
		counts map[string]int
		want   string
	}{
		"servers first": {
			map[string]int{"memory": 405, "Redis 7.0.15": 398, "Redis 8.6.3": 412},
			"412 cases on Redis 8.6.3, 398 on Redis 7.0.15, 405 on memory",
		},
		"one":  {map[string]int{"memory": 1}, "1 case on memory"},
		"none": {nil, "0 cases on any server"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got := line(test.counts); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}

func TestUnseen(t *testing.T) {
	counts := map[string]int{"memory": 4, "Redis 8.6.3": 1, "Redis 7.01.5": 1}
	if got := unseen(counts); !slices.Equal(got, []string{"7.0"}) {
		t.Errorf("got %v, want the version that no case ran on: 7.0", got)
	}
}
