package testrun_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/testrun"
	"pipeline/engine/clock"
	"pipeline/lang/diag"
	"pipeline/lang/testspec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shop is a pipeline whose handler does as its entries say.
const shop = `
pipeline "shop" { language = 1 }
variable "using" {
  type    = string
  default = "auto"
}
broker "memory" {}
stream "in" {}
stream "out" {}
stream "dead" {}
handler "take" {
  source = "take.lua"
  limits {
    timeout      = "5s"
    instructions = 1000000
  }
  grant "log" {}
}
retry "r" {
  max_attempts = 3
  delay        = "1s"
}
group "take" {
  stream = stream.in
  dead_letter { to = stream.dead }
  subscription "take" {
    handler = handler.take
    retry   = retry.r
    claim {
      min_idle = "30s"
      using    = var.using
    }
    reply { to = stream.out }
  }
}
`

const take = `
local calls = 0
function handle(entry, ctx)
  calls = calls + 1
  log.info("call", { calls = calls, n = entry.n })
  if entry.say == "retry" then return retry() end
  if entry.say == "reply" then return { n = entry.n } end
  if entry.say == "error" then error("as asked") end
  if entry.say == "loop" then while true do end end
  return ack()
end
`

// load loads a suite of tests of the shop.
func load(t *testing.T, tests string) *testspec.Suite {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"shop.hcl": shop, "take.lua": take, "shop_test.hcl": tests} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	suite, report := build.LoadTests(filepath.Join(dir, "shop.hcl"), build.Vars{})
	if suite == nil {
		var b strings.Builder
		_ = report.WriteText(&b, diag.TextOptions{})
		t.Fatal(b.String())
	}
	return suite
}

// all runs a suite.
func all(t *testing.T, suite *testspec.Suite) []*testrun.Result {
	t.Helper()
	return slices.Collect(testrun.Run(t.Context(), suite.Tests, testrun.Options{Clock: clock.Real()}))
}

// one runs a suite of one test.
func one(t *testing.T, tests string) *testrun.Result {
	t.Helper()
	results := all(t, load(t, tests))
	if len(results) != 1 {
		t.Fatalf("%d results", len(results))
	}
	return results[0]
}

// words are all that is said of a result.
func words(r *testrun.Result) string {
	lines := slices.Clone(r.Problems)
	for i := range r.Asserts {
		lines = append(lines, r.Asserts[i].Condition)
		lines = append(lines, r.Asserts[i].Lines()...)
	}
	return strings.Join(lines, "\n")
}

const publish = `
    publish {
      to    = stream.in
      entry = { n = 1, say = %q }
    }`

func says(word string) string { return fmt.Sprintf(publish, word) }

// apart puts blocks on lines of their own, as the language wants them.
var apart = strings.NewReplacer("{", "{\n", "}", "\n}")

func TestOneTest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		test   string
		status testrun.Status
		// says are parts of what is said.
		says []string
	}{
		"passes": {`step "a" { ` + says("ack") + `
			assert { condition = subscription.take.outcomes == ["ack"] }
		}`, testrun.Pass, nil},
		"all asserts of a step are checked": {`step "a" { ` + says("ack") + `
			assert { condition = subscription.take.outcomes == ["reply"] }
			assert { condition = length(stream.in.entries) == 1 }
			assert { condition = length(stream.in.entries) == 2 }
		}`, testrun.Fail, []string{`== ["reply"]`, "== 2"}},
		"a handler's logs are those of its call": {`step "a" { ` + says("ack") + `
			assert { condition = subscription.take.calls[0].logs[0].fields.n == "1" }
			assert { condition = length(subscription.take.calls[0].logs) == 1 }
		}`, testrun.Pass, nil},
		"mocks take turns": {`
			mock "take" {
			  error = "first"
			  times = 1
			}
			mock "take" {
			  returns = { n = 7 }
			  times   = 1
			}
			step "a" { ` + says("ack") + says("ack") + says("retry") + `
			advance = "3s"
			assert { condition = subscription.take.outcomes == ["failed", "reply", "retry", "ack"] }
			assert { condition = stream.out.values == [{ n = 7 }] }
		}`, testrun.Pass, nil},
		"a mock that always answers": {`
			mock "take" { error = "no" }
			step "a" { ` + says("ack") + `
			advance = "1h"
			assert { condition = subscription.take.outcomes == ["failed", "failed", "failed"] }
			assert { condition = group.take.dead_letters[0].dead_letter.attempts == 3 }
		}`, testrun.Pass, nil},
		"a loop ends at its instructions": {`step "a" { ` + says("loop") + `
			assert { condition = subscription.take.calls[0].kind == "instructions" }
		}`, testrun.Pass, nil},
		"slow reaches the time limit of the file": {`step "a" {
			fault "slow" {
			  in  = subscription.take
			  for = "1m"
			}` + says("ack") + `
			advance = "5s"
			assert { condition = subscription.take.calls[0].kind == "timeout" }
			assert { condition = subscription.take.calls[0].elapsed == "5s" }
		}`, testrun.Pass, nil},
		"a test may end while a handler is slow": {`step "a" {
			fault "slow" {
			  in  = subscription.take
			  for = "4s"
			}` + says("ack") + `
			assert { condition = subscription.take.outcomes == ["running"] }
		}`, testrun.Pass, nil},
		"the server is away until the next step": {`
		step "a" {
			fault "server_down" {}` + says("ack") + `
			advance = "1h"
			assert { condition = subscription.take.calls == [] }
		}
		step "b" {
			advance = "1m"
			assert { condition = subscription.take.outcomes == ["ack"] }
		}`, testrun.Pass, nil},
		"the server is away beyond the step": {`
		step "a" {
			fault "server_down" { for = "1h" } ` + says("ack") + `
			advance = "30m"
		}
		step "b" {
			advance = "29m"
			assert { condition = subscription.take.calls == [] }
		}
		step "c" {
			advance = "2m"
			assert { condition = subscription.take.outcomes == ["ack"] }
		}`, testrun.Pass, nil},
		"a crash is made good": {`
		step "a" {
			fault "crash" {
			  in = subscription.take
			  at = "after_run"
			}` + says("reply") + `
			assert { condition = stream.out.entries == [] }
		}
		step "b" {
			advance = "30s"
			assert { condition = length(stream.out.entries) == 1 }
		}`, testrun.Pass, nil},
		"a fault that never strikes": {`step "a" {
			fault "lost_reply" { in = subscription.take }
			assert { condition = subscription.take.calls == [] }
		}`, testrun.Error, []string{`the fault "lost_reply" never struck`}},
		"the second of one": {`step "a" {
			fault "crash" {
			  in  = subscription.take
			  at  = "before_run"
			  nth = 2
			}` + says("ack") + `
		}`, testrun.Error, []string{`the fault "crash" never struck`}},
		"it should have refused": {`
			expect_error { code = "claiming_read_unsupported" }
		`, testrun.Fail, []string{"the service started"}},
		"it should not have refused": {`
			server = "8.2.0"
			variables { using = "read" }
			step "a" { assert { condition = stream.in.entries == [] } }
		`, testrun.Error, []string{"the service does not start: ", "8.4.0"}},
		"it refuses in other words": {`
			server = "8.2.0"
			variables { using = "read" }
			expect_error {
			  code     = "claiming_read_unsupported"
			  mentions = ["9.9.9"]
			}
		`, testrun.Fail, []string{`does not mention "9.9.9"`, "8.2.0"}},
		"the files are refused": {`
			variables { using = "magic" }
			expect_error { code = "unknown_word" }
		`, testrun.Fail, nil},
		"what is there before the start": {`
			existing {
			  in      = stream.in
			  entries = [{ n = 1, say = "ack" }, { n = 2, say = "ack" }]
			}
			step "a" {
			assert { condition = length(stream.in.entries) == 2 }
			assert { condition = subscription.take.calls == [] }
		}`, testrun.Pass, nil},
		"raw fields": {`step "a" {
			publish {
			  to  = stream.in
			  raw = { _payload = jsonencode({ n = 1, say = "ack" }), "h:who" = "me" }
			}
			assert { condition = stream.in.entries[0].headers.who == "me" }
			assert { condition = subscription.take.outcomes == ["ack"] }
		}`, testrun.Pass, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := one(t, apart.Replace(`test "it" {`+c.test+"}\n"))
			if r.Status != c.status {
				t.Errorf("status %s, want %s:\n%s", r.Status, c.status, words(r))
			}
			for _, text := range c.says {
				if !strings.Contains(words(r), text) {
					t.Errorf("it does not say %q:\n%s", text, words(r))
				}
			}
		})
	}
}

// Many tests that run at once see nothing of each other: neither the state of
// a script nor what it logs.
func TestApart(t *testing.T) {
	t.Parallel()
	suite := load(t, `
test "alone" {
  for_each = range(24)
  step "a" {
    publish {
      to      = stream.in
      entries = [for i in range(each.value) : { n = each.value, say = "ack" }]
    }
    assert { condition = length(subscription.take.calls) == each.value }
    assert { condition = distinct(subscription.take.calls[*].logs[0].fields.n) == [for i in range(min(each.value, 1)) : tostring(each.value)] }
    assert { condition = subscription.take.calls[*].logs[0].fields.calls == [for i in range(each.value) : tostring(i + 1)] }
  }
}
`)
	for r := range testrun.Run(t.Context(), suite.Tests, testrun.Options{Parallel: 8, Clock: clock.Real()}) {
		if r.Status != testrun.Pass {
			t.Errorf("%s: %s", r.Test.Name, words(r))
		}
	}
}

// A test that breaks the runner is an error; the others are run.
func TestPanic(t *testing.T) {
	t.Parallel()
	suite := load(t, `
test "good" {
  for_each = ["a", "b", "c"]
  step "a" {`+says("ack")+`
    assert { condition = subscription.take.outcomes == ["ack"] }
  }
}
`)
	suite.Tests[1].Steps[0].Asserts = []*testspec.Assert{nil}
	results := all(t, suite)
	for i, want := range []testrun.Status{testrun.Pass, testrun.Error, testrun.Pass} {
		if results[i].Status != want || results[i].Test != suite.Tests[i] {
			t.Errorf("test %d: %s, want %s: %s", i, results[i].Status, want, words(results[i]))
		}
	}
	if text := words(results[1]); !strings.Contains(text, "a panic, which is a mistake in this program") || !strings.Contains(text, "in pipeline/") {
		t.Errorf("it says %s", text)
	}
}

// An interrupt ends what runs, also a script in a loop, and keeps what was done.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	suite := load(t, `
test "quick" {
  step "a" {`+says("ack")+`
    assert { condition = subscription.take.outcomes == ["ack"] }
  }
}
test "slow" {
  for_each = range(3)
  step "a" {`+says("loop")+`
  }
}
`)
	for _, test := range suite.Tests {
		for _, h := range test.Pipeline.Handlers {
			h.Limits.Instructions = 1 << 50
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var got []testrun.Status
	for r := range testrun.Run(ctx, suite.Tests, testrun.Options{Parallel: 2, Clock: clock.Real()}) {
		cancel()
		got = append(got, r.Status)
	}
	if want := []testrun.Status{testrun.Pass, testrun.Skip, testrun.Skip, testrun.Skip}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// Who stops listening ends the run.
func TestStopListening(t *testing.T) {
	t.Parallel()
	suite := load(t, `
test "it" {
  for_each = range(50)
  step "a" {`+says("ack")+`
  }
}
`)
	for r := range testrun.Run(t.Context(), suite.Tests, testrun.Options{Parallel: 2, Clock: clock.Real()}) {
		if r.Status != testrun.Pass {
			t.Errorf("%s: %s", r.Test.Name, words(r))
		}
		break
	}
}

func TestNothingToRun(t *testing.T) {
	t.Parallel()
	for range testrun.Run(t.Context(), nil, testrun.Options{Clock: clock.Real()}) {
		t.Error("a result")
	}
}

func TestTrace(t *testing.T) {
	t.Parallel()
	r := one(t, `
test "it" {
  step "a" {
    fault "crash" {
      in = subscription.take
      at = "before_ack"
    }`+says("retry")+`
    advance = "10s"
  }
  step "b" {
    advance = "25s"
    assert { condition = group.take.pending == [] }
  }
  step "c" { }
}
`)
	if r.Step == nil || r.Step.Name != "b" || len(r.NotRun) != 1 || r.Checked != 1 {
		t.Fatalf("%+v", r)
	}
	var lines []string
	for _, d := range r.Trace.Deliveries {
		lines = append(lines, fmt.Sprint(d.At, " ", d.Worker, " ", d.Deliveries, " ", d.Outcome, " ", d.Said))
	}
	for _, e := range r.Trace.Events {
		lines = append(lines, fmt.Sprint(e.At, " ", e.Worker, " ", e.Name))
	}
	for _, p := range r.Trace.Pending {
		lines = append(lines, fmt.Sprint(p.Group.Label, " ", p.Deliveries, " ", p.Due))
	}
	want := []string{"0s worker1 0 crashed retry", "30s worker2 1 retry retry", "0s worker1 worker.crashed", "take 2 1m0s"}
	if !slices.Equal(lines, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
}
