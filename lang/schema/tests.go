package schema

// Test is the table of test files: the top level of a *_test.hcl. It is shared
// and must not be changed.
var Test = &Block{
	Doc:    "The `*_test.hcl` files beside a pipeline are its tests.",
	Blocks: []*Block{testBlock, testLocalsBlock},
	Since:  since,
}

var testLocalsBlock = &Block{
	Name:     "locals",
	Free:     true,
	Synonyms: []string{"local", "let", "vars", "variable"},
	Doc:      "Named values, used as `local.NAME` in this file. They may name each other and the pipeline's variables, which have the values that they have in the test at hand.",
	Since:    since,
	Example: `locals {
  paid = { id = 1, account = "acct-7", amount_cents = 12500 }
}`,
}

var testBlock = &Block{
	Name:     "test",
	Labels:   []Label{{Name: "name", Text: true, Doc: "What the test shows, in words. No two tests have the same."}},
	Synonyms: []string{"it", "case", "testcase", "test_case", "scenario", "spec", "run", "describe"},
	Doc:      "One test. It has a server, handlers and a clock of its own: nothing of another test can be seen in it.",
	Since:    since,
	Excludes: [][2]string{{"step", "expect_error"}},
	Example: `test "amounts over one million cents are suspicious" {
  for_each = {
    "at the limit"   = { amount = 1000000, suspicious = false }
    "over the limit" = { amount = 1000001, suspicious = true }
  }

  step "screened" {
    publish {
      to    = stream.payments
      entry = { id = 1, account = "acct-7", amount_cents = each.value.amount }
    }

    assert {
      condition = stream.payments_screened.values[0].suspicious == each.value.suspicious
    }
  }
}`,
	Args: []*Arg{
		{
			Name: "server", Kind: String, DefaultDoc: "the newest", Synonyms: []string{"redis", "version", "server_version", "redis_version"}, Example: `"8.2.0"`,
			Doc: "Version of Redis that the server plays.", Since: since,
		},
		{
			Name: "for_each", Kind: Any, DefaultDoc: "once", Synonyms: []string{"foreach", "cases", "table", "each", "parametrize", "examples", "where"}, Example: `{ "one" = 1, "two" = 2 }`,
			Doc: "Run the test once for each member of an object, with `each.key` and `each.value`; or for each element of a list of strings, which is both, or of a list of anything else, whose `each.key` is its number from 0. The key becomes part of the name.", Since: since,
		},
	},
	Blocks: []*Block{testVariablesBlock, existingBlock, mockBlock, stepBlock, expectErrorBlock},
}

var testVariablesBlock = &Block{
	Name:     "variables",
	Max:      1,
	Free:     true,
	Synonyms: []string{"vars", "variable", "var", "inputs", "params"},
	Doc:      "Values of the pipeline's variables in this test, as `--var-file` gives them: they come before all others.",
	Since:    since,
	Example: `variables {
  before_8_4 = true
}`,
}

var existingBlock = &Block{
	Name:     "existing",
	Synonyms: []string{"given", "before", "setup", "seed", "fixture", "background", "preload"},
	Doc:      "Entries that are in a stream before the service starts.",
	Since:    since,
	Example: `existing {
  in      = stream.payments
  entries = [local.paid]
}`,
	Args: []*Arg{
		{
			Name: "in", Kind: Reference, Target: "stream", Required: true, Synonyms: []string{"to", "stream", "into", "topic"}, Example: `stream.payments`,
			Doc: "The stream.", Since: since,
		},
		{
			Name: "entries", Kind: Any, Required: true, Synonyms: []string{"entry", "values", "messages", "items", "bodies"}, Example: `[{ id = 1, account = "acct-7", amount_cents = 100 }]`,
			Doc: "List of bodies, oldest first.", Since: since,
		},
	},
}

var mockBlock = &Block{
	Name:     "mock",
	Labels:   []Label{{Name: "handler", Doc: "Label of the handler."}},
	Synonyms: []string{"stub", "fake", "double", "override", "replace", "handler"},
	Doc:      "Answers in place of a handler. Exactly one of `error` and `returns` is set. Several mocks of one handler take turns, each for its `times` calls; after the last one the handler itself is run.",
	Since:    since,
	Example: `mock "post_payment" {
  error = "the ledger cannot be reached"
  times = 2
}`,
	Args: []*Arg{
		{
			Name: "error", Kind: String, DefaultDoc: "none", Synonyms: []string{"fails", "raises", "throws", "fail", "failure", "exception"}, Example: `"the ledger cannot be reached"`,
			Doc: "The call fails with this message, as after `error(…)`.", Since: since,
		},
		{
			Name: "returns", Kind: Outcome, DefaultDoc: "none", Synonyms: []string{"return", "result", "value", "outcome", "response", "reply", "output"}, Example: `{ payment_id = 1, suspicious = true }`,
			Doc: "What the call returns, in the words of a handler: `ack()`, `retry()`, `retry({ after = \"5s\", reason = \"…\" })`, `dead(\"reason\")`, `drop(\"reason\")`, `reply(value, { to = \"route\", key = \"…\", headers = { … } })`, or any value, which is a reply.", Since: since,
		},
		{
			Name: "times", Kind: Integer, Min: "1", Max: "1000000", Unit: "calls", DefaultDoc: "every call", Synonyms: []string{"count", "calls", "n", "first", "repeat"}, Example: `2`,
			Doc: "How many calls it answers, of all subscriptions together.", Since: since,
		},
	},
}

var stepBlock = &Block{
	Name:     "step",
	Labels:   []Label{{Name: "name", Text: true, Doc: "What happens in it, in words."}},
	Synonyms: []string{"stage", "phase", "when", "then", "action", "run"},
	Doc:      "One step of a test. Steps run in the order of the file; what happens inside of one has a fixed order, however it is written: workers that crashed are replaced, faults are armed, entries are published, the clock moves, everything runs until it is idle, asserts are checked.",
	Since:    since,
	Example: `step "min_idle later the same entry comes back" {
  advance = "30s"

  assert {
    condition = subscription.post_payment.calls[*].deliveries == [0, 1]
  }
}`,
	Args: []*Arg{{
		Name: "advance", Kind: Duration, Min: "0s", Max: "365d", Default: "0s", Synonyms: []string{"wait", "sleep", "elapse", "after", "pass", "forward", "tick", "move"}, Example: `"30s"`,
		Doc: "How far the clock moves. Everything that is due on the way happens at its time.", Since: since,
	}},
	Blocks: append(faultBlocks(), publishBlock, assertBlock),
}

var publishBlock = &Block{
	Name:     "publish",
	Synonyms: []string{"send", "add", "xadd", "produce", "emit", "input", "message", "put"},
	Doc:      "Adds entries to a stream. Exactly one of `entry`, `entries` and `raw` is set.",
	Since:    since,
	Example: `publish {
  to    = stream.payments
  entry = local.paid
}`,
	Args: []*Arg{
		{
			Name: "to", Kind: Reference, Target: "stream", Required: true, Synonyms: []string{"stream", "in", "topic", "queue", "target", "into"}, Example: `stream.payments`,
			Doc: "The stream.", Since: since,
		},
		{
			Name: "entry", Kind: Any, DefaultDoc: "none", Synonyms: []string{"body", "value", "message", "payload", "data", "content", "json"}, Example: `{ id = 1, account = "acct-7", amount_cents = 100 }`,
			Doc: "One body. One that is not of the stream's type is published all the same, with a warning: what is wrong on purpose is written with `raw`.", Since: since,
		},
		{
			Name: "entries", Kind: Any, DefaultDoc: "none", Synonyms: []string{"bodies", "values", "messages", "items", "batch"}, Example: `[{ id = 1, account = "a", amount_cents = 1 }, { id = 2, account = "b", amount_cents = 2 }]`,
			Doc: "List of bodies, in order.", Since: since,
		},
		{
			Name: "raw", Kind: Any, DefaultDoc: "none", Synonyms: []string{"fields", "bytes", "xadd_fields"}, Example: `{ _payload = "{ no JSON" }`,
			Doc: "The fields of one entry as they are on the wire, headers too (`h:name`). A value is a string, or `{ base64 = \"…\" }` for any bytes.", Since: since,
		},
		{
			Name: "key", Kind: String, DefaultDoc: "that of the stream", Synonyms: []string{"partition_key", "ordering_key", "message_key"}, Example: `"acct-7"`,
			Doc: "Partition key of these entries.", Since: since,
		},
		{
			Name: "headers", Kind: Any, DefaultDoc: "none", Synonyms: []string{"header", "metadata", "attributes", "properties"}, Example: `{ correlation-id = "c-1" }`,
			Doc: "Headers of these entries: strings by name.", Since: since,
		},
	},
}

var assertBlock = &Block{
	Name:     "assert",
	Synonyms: []string{"expect", "check", "verify", "should", "assertion", "require", "ensure"},
	Doc:      "A condition that must hold once everything is idle. All asserts of a step are checked; a step in which one fails is the last of its test.",
	Since:    since,
	Example: `assert {
  condition = length(stream.payments.entries) == 1
  message   = "a retry must not append a copy"
}`,
	Args: []*Arg{
		{
			Name: "condition", Kind: Condition, Required: true, Synonyms: []string{"that", "expr", "expression", "when", "if", "is", "test"}, Example: `subscription.post_payment.outcomes == ["ack"]`,
			Doc: "Must be true. It may read the state, locals, variables and `each`, and call every function but `env` and `hostname`.", Since: since,
		},
		{
			Name: "message", Kind: String, DefaultDoc: "none", Synonyms: []string{"error_message", "because", "reason", "description", "msg"}, Example: `"a retry must not append a copy"`,
			Doc: "What is said when it does not hold, before the values that it saw.", Since: since,
		},
	},
}

var expectErrorBlock = &Block{
	Name:     "expect_error",
	Max:      1,
	Synonyms: []string{"expect_failure", "expect_failures", "expected_error", "fails_with", "error", "should_fail"},
	Doc:      "The service must refuse to start, or the pipeline to be loaded, with this error. Such a test has no steps.",
	Since:    since,
	Example: `expect_error {
  code     = "claiming_read_unsupported"
  mentions = ["post_payment", "8.4.0", "8.2.0"]
}`,
	Args: []*Arg{
		{
			Name: "code", Kind: String, Required: true, Synonyms: []string{"error", "name", "kind", "type", "id"}, Example: `"claiming_read_unsupported"`,
			Doc: "Code of the error, as messages show it.", Since: since,
		},
		{
			Name: "mentions", Kind: Strings, DefaultDoc: "nothing", Synonyms: []string{"contains", "message", "includes", "text", "match", "matches"}, Example: `["post_payment", "8.4.0"]`,
			Doc: "Texts that the message must contain.", Since: since,
		},
	},
}
