package redis

import (
	"strconv"
	"strings"

	"pipeline/engine/broker"
)

// Slot is the cluster slot of a key: see broker.Slot.
func Slot(key string) int { return broker.Slot(key) }

// tagged is a prefix for keys of ours that share the slot of key and are
// different for different keys.
func tagged(key string) string {
	if _, ok := broker.HashTag(key); ok {
		return key
	}
	if key != "" && !strings.Contains(key, "}") {
		return "{" + key + "}"
	}
	want := Slot(key)
	for n := 0; ; n++ { // each number hits with 1 in 16,384; the result is cached
		if tag := strconv.Itoa(n); Slot(tag) == want {
			return "{" + tag + "}" + key
		}
	}
}
