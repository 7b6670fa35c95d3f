package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

func TestWordsOfGroups(t *testing.T) {
	on := func(length int64) *plan.Stream {
		return &plan.Stream{Spec: &spec.Stream{Name: "in"}, Info: broker.StreamInfo{Length: length}}
	}
	for _, c := range []struct {
		name string
		g    plan.Group
		want string
	}{
		{"new, nothing there", plan.Group{Action: plan.Create, Stream: on(0), Spec: &spec.Group{Start: "$"}}, "new: every entry from now on is read"},
		{"new, one there", plan.Group{Action: plan.Create, Stream: on(1), Spec: &spec.Group{Start: "$"}, Before: 1, Counted: true}, "new: the 1 entry there now is never read by it"},
		{"new, many there", plan.Group{Action: plan.Create, Stream: on(1234), Spec: &spec.Group{Start: "$"}, Before: 1234, Counted: true}, "new: the 1,234 entries there now are never read by it"},
		{"beginning, nothing there", plan.Group{Action: plan.Create, Stream: on(0), Spec: &spec.Group{Start: "0"}}, "beginning: the stream is empty"},
		{"beginning", plan.Group{Action: plan.Create, Stream: on(1234), Spec: &spec.Group{Start: "0"}, After: 1234, Counted: true}, "beginning: 1,234 entries will be read"},
		{"an id, counted", plan.Group{Action: plan.Create, Stream: on(7), Spec: &spec.Group{Start: "5-0"}, After: 7, Counted: true}, "from 5-0: 7 entries will be read"},
		{"an id in the middle", plan.Group{Action: plan.Create, Stream: on(7), Spec: &spec.Group{Start: "5-0"}}, "from 5-0: the entries after it will be read"},
		{"lost", plan.Group{Action: plan.Restore, Stream: on(7), Spec: &spec.Group{Start: "$"}, At: broker.ID{Ms: 5}, After: 1, Counted: true}, "was lost: from 5-0, the position written down: 1 entry will be read"},
		{"there", plan.Group{Action: plan.Keep, Exists: true}, "stays where it is"},
		{"disabled and absent", plan.Group{Action: plan.Idle}, "not created: all its subscriptions are disabled"},
		{"disabled and there", plan.Group{Action: plan.Idle, Exists: true}, "all its subscriptions are disabled"},
		{"foreign", plan.Group{Action: plan.Foreign, Exists: true}, "declared by no file"},
	} {
		if got := groupWords(&c.g); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWordsOfRetention(t *testing.T) {
	bounded := &spec.Retention{MaxLength: 5, MaxAge: 24 * time.Hour}
	for want, s := range map[string]plan.Stream{
		"kept for ever":                 {State: plan.Exists, Spec: &spec.Stream{}},
		"removes nothing":               {State: plan.Exists, Spec: &spec.Stream{Retention: bounded}},
		"removes 1 entry":               {State: plan.Exists, Spec: &spec.Stream{Retention: bounded}, Trim: plan.Trim{Over: 1, Expired: true}},
		"removes what is older than 1d": {State: plan.Exists, Spec: &spec.Stream{Retention: bounded}, Trim: plan.Trim{Expired: true}},
		"removes what is older than 1d and acknowledged":                        {State: plan.Exists, Spec: &spec.Stream{Retention: bounded}, Trim: plan.Trim{Expired: true, Protected: true}},
		"removes up to 1,234 entries, those that every group has acknowledged":  {State: plan.Exists, Spec: &spec.Stream{Retention: bounded}, Trim: plan.Trim{Over: 1234, Protected: true}},
		"removes 2 entries, some of it not read by slow":                        {State: plan.Exists, Spec: &spec.Stream{Retention: bounded}, Trim: plan.Trim{Over: 2, Unread: []string{"slow"}}},
		"removes what is older than 1d, some of it not read by slow and 2 more": {State: plan.Exists, Spec: &spec.Stream{Retention: bounded}, Trim: plan.Trim{Expired: true, Unread: []string{"slow", "b", "c"}}},
		"the key holds a hash": {State: plan.Wrong, Type: "hash", Spec: &spec.Stream{}},
		"":                     {State: plan.Unknown, Spec: &spec.Stream{}},
	} {
		if got := trimWords(&s); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWordsOfConsumers(t *testing.T) {
	for want, c := range map[string]plan.Consumers{
		"none":           {},
		"1, seen 5s ago": {Count: 1, Seen: 5 * time.Second},
		"3, seen 2h ago, 2 idle (1 with entries)": {Count: 3, Seen: 2 * time.Hour, Idle: 2, Stale: 1},
	} {
		if got := consumerWords(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestWordsOfSettings(t *testing.T) {
	for _, c := range []struct {
		s                   redis.Settings
		memory, persistence string
	}{
		{redis.Settings{}, notKnown, notKnown},
		{redis.Settings{Known: true, Eviction: "noeviction"}, "unbounded, policy noeviction", "no append-only file; snapshots not known: the login may not run config get"},
		{redis.Settings{Known: true, Eviction: "allkeys-lru", MaxMemory: 100 << 20, SnapshotsKnown: true}, "at most 100 MiB, policy allkeys-lru", "none"},
		{redis.Settings{Known: true, SnapshotsKnown: true, Snapshots: "3600 1"}, "unbounded, policy ", "snapshots (save 3600 1), no append-only file"},
		{redis.Settings{Known: true, AppendOnly: true}, "unbounded, policy ", "append-only file"},
	} {
		if m, p := memoryWords(c.s), persistenceWords(c.s); m != c.memory || p != c.persistence {
			t.Errorf("%+v: %q, %q", c.s, m, p)
		}
	}
}

// A rule can be copied into redis-cli whatever the streams are called.
func TestRuleWords(t *testing.T) {
	for word, want := range map[string]string{
		"+xinfo|groups":      "+xinfo|groups",
		"~{a}:pipeline:*":    "~{a}:pipeline:*",
		`~a\*b`:              `"~a\\*b"`,
		`~a"b`:               `"~a\"b"`,
		"~it's":              `"~it's"`,
		"~ä":                 "~ä",
		"~\xff":              `"~\xff"`,
		"~a\x1b[2Jb\u202eab": `"~a\x1b[2Jb\xe2\x80\xaeab"`,
	} {
		if got := ruleWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}

// Names from the server cannot move the cursor of who looks at them.
func TestPlanOfHostileNames(t *testing.T) {
	const hostile = "a\x1b[2J\r\nb"
	s := &plan.Stream{Spec: &spec.Stream{Name: hostile}, State: plan.Wrong, Type: hostile}
	p := &plan.Plan{
		Reached: true, Complete: true, Server: broker.Server{Software: hostile, Version: hostile},
		Streams: []*plan.Stream{s}, Groups: []*plan.Group{{Name: hostile, Stream: s, Action: plan.Foreign, Exists: true}},
		Problems: []plan.Problem{{Diagnostic: diag.Diagnostic{Severity: diag.Warning, Code: plan.CodeForeign, Summary: hostile, Detail: hostile}}},
	}
	for _, json := range []bool{false, true} {
		var out, said bytes.Buffer
		v := New(Options{Out: &out, Err: &said, JSON: json})
		v.Plan(p, 0)
		if err := v.Close(); err != nil {
			t.Fatal(err)
		}
		if text := out.String() + said.String(); strings.ContainsAny(text, "\x1b\r") || !strings.Contains(text, "run") {
			t.Errorf("%q", text)
		}
	}
}
