package view

import (
	"strings"

	"pipeline/engine"
)

// kind is what changed most about an entry, for counting: each entry that
// changes has one.
type kind struct {
	name     string
	old, new string
}

// kinds are the names, in the order of their gravity after a change of the
// outcome, with how they are counted in words.
var kinds = []struct {
	name, one, many string
	is              func(path string) bool
}{
	{"dead_letter", "dead letter differs", "dead letters differ", func(p string) bool { return p == "dead_letter" }},
	{"replies", "has other replies", "have other replies", func(p string) bool { return afterReply(p) == "]" }},
	{"reply_stream", "reply stream differs", "reply streams differ", func(p string) bool { return strings.HasPrefix(afterReply(p), "].stream") }},
	{"reply_body", "reply body differs", "reply bodies differ", func(p string) bool { return strings.HasPrefix(afterReply(p), "].body") }},
	{"reply_key", "reply key differs", "reply keys differ", func(p string) bool { return strings.HasPrefix(afterReply(p), "].key") }},
	{"reply_headers", "has other reply headers", "have other reply headers", func(p string) bool { return strings.HasPrefix(afterReply(p), "].headers") }},
	{"after", "retry delay differs", "retry delays differ", func(p string) bool { return p == "after_ms" }},
	{"reason", "reason differs", "reasons differ", func(p string) bool { return p == "reason" }},
	{"error", "error differs", "errors differ", func(p string) bool { return p == "error" }},
	{"key", "key differs", "keys differ", func(p string) bool { return p == "key" }},
}

// afterReply is what follows the index in the path of a reply, "" in any other.
func afterReply(path string) string {
	after, _ := strings.CutPrefix(path, "replies[")
	if after == path {
		return ""
	}
	return strings.TrimLeft(after, "0123456789")
}

// kindOf is what changed most.
func kindOf(x *engine.Compared, changes []change) kind {
	if o, n := string(x.Old.Outcome.Result), string(x.New.Outcome.Result); o != n {
		return kind{"outcome", o, n}
	}
	for _, k := range kinds {
		for i := range changes {
			if k.is(changes[i].path) {
				return kind{name: k.name}
			}
		}
	}
	return kind{name: "other"}
}

// words is a kind with how many entries it has.
func (k kind) words(n int64) string {
	if k.name == "outcome" {
		return number(n) + " " + k.old + " → " + k.new
	}
	for _, known := range kinds {
		if known.name == k.name {
			return count(n, known.one, known.many)
		}
	}
	return count(n, "other", "others")
}
