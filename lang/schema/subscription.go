package schema

var subscriptionBlock = &Block{
	Name:     "subscription",
	Labels:   []Label{{Name: "name", Doc: "The name, unique in the whole pipeline."}},
	Min:      1,
	Why:      "a group reads nothing without one",
	Synonyms: []string{"consumer", "subscriber", "listener", "reader", "consume", "worker"},
	Doc:      "A reader of the group with its handler. Two enabled ones of a group would fight for its entries, unless one reads new entries only and the other takes over pending ones only.",
	Since:    since,
	Excludes: [][2]string{{"reply", "route"}},
	Example: `subscription "screen_payment" {
  handler    = handler.screen_payment
  retry      = retry.patient
  on_invalid = "dead"

  claim {
    min_idle = "30s"
  }

  workers {
    count = 8
    key   = entry.account
  }

  reply {
    to = stream.payments_screened
  }
}`,
	Args: []*Arg{
		{
			Name: "handler", Kind: Reference, Target: "handler", Required: true, Synonyms: []string{"function", "processor", "processors", "callback", "script", "task", "run"}, Example: `handler.post_payment`,
			Doc: "What runs for each entry.", Since: since,
		},
		{
			Name: "enabled", Kind: Bool, Default: "true", Synonyms: []string{"enable", "active", "disabled", "if"}, Example: `false`,
			Doc: "Whether it runs. It may use variables and locals only. A disabled subscription is checked, and nothing else.", Since: since,
		},
		{
			Name: "consumer", Kind: String, DefaultDoc: "the label", Synonyms: []string{"consumer_name", "name", "client_name"}, Example: `"ledger-${hostname()}"`,
			Doc: "First part of the names of its consumers on the server. Only here may `hostname()` be called.", Since: since,
		},
		{
			Name: "retry", Kind: Reference, Target: "retry", DefaultDoc: "5 attempts, 1s, ×4, at most 5m", Synonyms: []string{"retry_policy", "backoff", "on_error"}, Example: `retry.patient`,
			Doc: "How failed attempts are spaced.", Since: since,
		},
		{
			Name: "batch", Kind: Integer, Default: "100", Min: "1", Max: "10000", Unit: "entries", Synonyms: []string{"batch_size", "read_count", "fetch_size", "max_batch", "prefetch", "prefetch_count", "max_poll_records", "max_messages", "COUNT"}, Example: `200`,
			Doc: "Largest read. Reads are smaller where entries are large or slow.", Since: since,
		},
		{
			Name: "block", Kind: Duration, Default: "1s", Min: "1ms", Max: "5m", Why: "a read that waits for ever cannot be stopped", Synonyms: []string{"block_timeout", "poll_interval", "wait", "poll", "poll_timeout", "timeout", "block_ms"}, Example: `"5s"`,
			Doc: "How long a read waits for entries. It is below the pipeline's `drain_timeout`. In a file with more than 200 subscriptions the default is longer, 5 ms for each, up to 5 s: together they ask the server no more than 200 times a second while nothing comes. An entry that comes wakes its read at once.", Since: since,
		},
		{
			Name: "on_invalid", Kind: String, Default: "dead", Allowed: []string{"dead", "retry", "drop", "stop"}, Synonyms: []string{"invalid", "on_decode_error", "on_malformed"}, Example: `"drop"`,
			Doc: "What happens to an entry that does not decode, lacks a declared field or is too large, none of which reaches the handler: a dead letter; another try, by the retry policy; nothing, but for a count; or the subscription stops.", Since: since,
		},
		{
			Name: "on_failure", Kind: String, Default: "retry", Allowed: []string{"retry", "dead", "stop"}, Synonyms: []string{"on_error", "on_fail", "on_exception"}, Example: `"dead"`,
			Doc: "What happens after a failed attempt: another one, by the retry policy; a dead letter at once; or the subscription stops.", Since: since,
		},
	},
	Blocks: []*Block{claimBlock, workersBlock, replyBlock, routeBlock, idempotencyBlock, traceBlock},
}

var claimBlock = &Block{
	Name: "claim", Max: 1, Synonyms: []string{"autoclaim", "xautoclaim", "recover", "reclaim", "pending"}, Since: since,
	Doc: "Take over entries that a stopped worker left pending. A retry is one of them: it stays pending under its own id. Without the block entries of a crashed worker wait for the next one of the same slot.",
	Example: `claim {
  min_idle = "30s"
  using    = "auto"
}`,
	Args: []*Arg{
		{
			Name: "min_idle", Kind: Duration, Required: true, Min: "10ms", Max: "7d", Synonyms: []string{"idle", "visibility_timeout", "ack_wait", "min_idle_time", "idle_timeout", "lease", "lock_duration", "stalled_interval", "timeout"}, Example: `"30s"`,
			Why: "an entry idle this long belongs to no live worker: too short wakes everyone too often, too long delays what a stopped worker held. \"30s\" suits most handlers",
			Doc: "How long an entry must have been idle. It bounds how long a *stopped* worker delays its entries, never how long a handler may take: what is running is renewed at a third of it. Use one value in a group.", Since: since,
		},
		{
			Name: "using", Kind: String, Default: "auto", Allowed: []string{"auto", "read", "autoclaim"}, Synonyms: []string{"by", "with", "mode", "method", "via"}, Example: `"read"`,
			Doc: "`auto`: claiming reads where the server has them (Redis 8.4), else XAUTOCLAIM. `read`: claiming reads, or refuse to start. `autoclaim`: XAUTOCLAIM.", Since: since,
		},
		{
			Name: "only", Kind: Bool, Default: "false", Synonyms: []string{"pending_only", "only_pending", "exclusive"}, Example: `true`,
			Doc: "Take over pending entries, never new ones. It is always done by XAUTOCLAIM, so `using = \"read\"` beside it is an error.", Since: since,
		},
	},
}

var workersBlock = &Block{
	Name: "workers", Max: 1, Synonyms: []string{"worker", "concurrency", "pool", "parallelism", "threads"}, Doc: "How entries are spread over workers.", Since: since,
	Example: `workers {
  count = 8
  key   = entry.account
}`,
	Args: []*Arg{
		{
			Name: "count", Kind: Integer, Default: "1", Min: "1", Max: "1024", Unit: "workers", Synonyms: []string{"concurrency", "size", "max", "parallelism", "threads", "num", "number", "max_in_flight", "pool_size", "replicas", "instances", "max_workers"}, Example: `8`,
			Doc: "Handlers running at once.", Since: since,
		},
		{
			Name: "key", Kind: Expression, DefaultDoc: "the entry's partition-key header", Synonyms: []string{"partition_key", "ordering_key", "partition_by", "order_by", "by", "group_by", "hash", "hash_key"}, Example: `entry.id`,
			Doc: "Entries of one key run one after the other, in order, within one process.", Since: since,
		},
		{
			Name: "while_retrying", Kind: String, Default: "pass", Allowed: []string{"pass", "hold"}, Synonyms: []string{"on_retry", "strict_order"}, Example: `"hold"`,
			Doc: "Whether later entries of a key pass one that is retried, or are held back until it is settled. What is retried and what is held behind it stays with this process, which renews it and runs it in order; a bare `retry()` without `claim` then waits in place, by the retry policy, instead of being appended as a copy. Entries without a key are not held.", Since: since,
		},
		{
			Name: "hold_limit", Kind: Integer, Default: "10000", Min: "1", Max: "1000000", Unit: "entries", Synonyms: []string{"max_held", "max_hold"}, Example: `5000`,
			Doc: "Reading stops when this many entries are retried or held back, and goes on when half of them are done. What is in flight then may come on top. It matters with `while_retrying = \"hold\"` only.", Since: since,
		},
	},
}

// The arguments that reply and route share.
var (
	toArg = &Arg{
		Name: "to", Kind: Reference, Target: "stream", Required: true, Synonyms: []string{"stream", "topic", "queue", "target", "destination", "output"}, Example: `stream.payments_screened`,
		Doc: "The stream that values are added to. It is not the one that the group reads.", Since: since,
	}
	keyArg = &Arg{
		Name: "key", Kind: Expression, DefaultDoc: "that of the target stream, else the entry's", Synonyms: []string{"partition_key", "ordering_key", "routing_key", "partition_by", "message_key"}, Example: `reply.id`,
		Doc: "Partition key of the reply. One that the handler gives comes first.", Since: since,
	}
	headersArg = &Arg{
		Name: "headers", Kind: Headers, DefaultDoc: "none", Synonyms: []string{"header", "metadata", "attributes", "properties"}, Example: `{ lane = headers["lane"], origin = "pipeline" }`,
		Doc: "Headers of the reply: a name for each expression. Names that the engine writes itself (`redis-partition-key`, `x-retry-…`, `dead-letter-…`) are refused.", Since: since,
	}
)

var replyBlock = &Block{
	Name: "reply", Max: 1, Synonyms: []string{"output", "publish", "sink", "emit", "produce", "response", "forward"}, Since: since,
	Doc: "Where values go that the handler returns: added and acknowledged in one step. It stands alone; for several places use `route` blocks.",
	Example: `reply {
  to      = stream.payments_screened
  key     = entry.account
  headers = { screened-by = "rules-7" }
}`,
	Args: []*Arg{toArg, keyArg, headersArg},
}

var routeBlock = &Block{
	Name: "route", Labels: []Label{{Name: "name", Doc: "The name in `reply(value, {to = \"NAME\"})`."}},
	Synonyms: []string{"routes", "switch", "case", "branch"},
	Doc:      "One of several places where values go. A value takes every route whose `when` holds, in the order of the file; one that takes none is a failed attempt. `reply(value, {to = \"NAME\"})` takes the named one, whatever its `when` says.",
	Since:    since,
	Example: `route "review" {
  to   = stream.review
  when = reply.amount_cents >= 500000 || headers["first"] == "yes"
}`,
	Args: []*Arg{
		toArg,
		{
			Name: "when", Kind: Expression, DefaultDoc: "always", Synonyms: []string{"if", "condition", "filter", "where", "match", "check"}, Example: `entry.id > 100`,
			Doc: "Whether a value takes this route.", Since: since,
		},
		keyArg, headersArg,
	},
}

var idempotencyBlock = &Block{
	Name: "idempotency", Max: 1, Synonyms: []string{"dedup", "deduplicate", "deduplication", "unique", "idempotent"},
	Doc:   "Acknowledge an entry whose key was settled within the window, without running it and without publishing anything: outcome `duplicate`. A key is settled by ack, reply and drop, in one step with the acknowledgement; retries and dead letters settle nothing. Of two entries with one key that run at once, both may run and one publishes. It deduplicates inside Redis: what a handler does elsewhere needs a unique key of its own there.",
	Since: since,
	Example: `idempotency {
  key    = entry.id
  window = "24h"
}`,
	Args: []*Arg{
		{
			Name: "key", Kind: Expression, Required: true, Synonyms: []string{"id", "by", "unique_key", "message_id"}, Example: `entry.id`,
			Doc: "What makes two entries the same: a string or a number, 1 and \"1\" alike. An entry that lacks it, or one of the parts of a template, is invalid: see `on_invalid`. Entries of one group share what they remember as long as the key is written the same way.", Since: since,
		},
		{
			Name: "window", Kind: Duration, Required: true, Min: "1s", Max: "30d", Synonyms: []string{"ttl", "duration", "period", "for", "expires", "interval"}, Example: `"24h"`,
			Why: "shorter ones forget before a producer tries again, longer ones fill the server's memory",
			Doc: "How long a key is remembered after it was settled, exactly, by the server's clock. Make it longer than entries are retried. The server keeps the keys of up to two windows, about 100 bytes each.", Since: since,
		},
	},
}
