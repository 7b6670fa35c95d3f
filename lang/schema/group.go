package schema

var groupBlock = &Block{
	Name:     "group",
	Labels:   []Label{{Name: "name", Doc: "The name in group.NAME."}},
	Synonyms: []string{"consumer_group", "consumergroup", "consumers", "service"},
	Doc:      "A consumer group: every group sees every entry of its stream.",
	Since:    since,
	Args: []*Arg{
		{Name: "stream", Kind: Reference, Target: "stream", Required: true, Synonyms: []string{"source", "from", "topic", "queue", "input", "streams"}, Doc: "The stream it reads.", Since: since},
		{Name: "name", Kind: String, DefaultDoc: "the label", Synonyms: []string{"group", "group_name", "group_id"}, Doc: "The group's name on the server.", Since: since},
		{Name: "start", Kind: String, Default: "new", Allowed: []string{"new", "beginning"}, Also: "an entry id such as \"1700000000000-0\"",
			Synonyms: []string{"from", "offset", "start_id", "start_from", "auto_offset_reset", "deliver_policy", "initial_offset", "position"},
			Doc:      "Where a group that does not exist yet begins. It never moves one that does.", Since: since},
	},
	Blocks: []*Block{
		{
			Name: "dead_letter", Max: 1, Synonyms: []string{"dlq", "dead_letters", "deadletter", "dead_letter_queue", "failed", "errors"}, Doc: "Where entries go that cannot be handled.", Since: since,
			Args: []*Arg{{Name: "to", Kind: Reference, Target: "stream", Required: true, Synonyms: []string{"stream", "queue", "topic", "target", "destination"}, Doc: "The stream of dead letters.", Since: since}},
		},
		subscriptionBlock,
	},
}

var subscriptionBlock = &Block{
	Name:     "subscription",
	Labels:   []Label{{Name: "name", Doc: "The name, unique in the pipeline."}},
	Min:      1,
	Why:      "a group reads nothing without one",
	Synonyms: []string{"consumer", "subscriber", "listener", "reader", "consume", "worker"},
	Doc:      "A reader of the group with its handler.",
	Since:    since,
	Excludes: [][2]string{{"reply", "route"}},
	Args: []*Arg{
		{Name: "handler", Kind: Reference, Target: "handler", Required: true, Synonyms: []string{"function", "processor", "script", "task", "run"}, Doc: "What runs for each entry.", Since: since},
		{Name: "enabled", Kind: Bool, Default: "true", Synonyms: []string{"enable", "active", "disabled", "if"}, Doc: "Whether it runs. May use variables and locals only.", Since: since},
		{Name: "consumer", Kind: String, DefaultDoc: "the label", Synonyms: []string{"consumer_name", "name", "client_name"}, Doc: "First part of consumer names. Only here may hostname() be called.", Since: since},
		{Name: "retry", Kind: Reference, Target: "retry", DefaultDoc: "5 attempts, 1s, ×4, at most 5m", Synonyms: []string{"retry_policy", "backoff", "on_error"}, Doc: "How failed attempts are spaced.", Since: since},
		{Name: "batch", Kind: Integer, Default: "100", Min: "1", Max: "10000", Unit: "entries", Synonyms: []string{"batch_size", "read_count", "fetch_size", "max_batch", "prefetch", "prefetch_count"}, Doc: "Largest read; it adapts to the size of entries.", Since: since},
		{Name: "block", Kind: Duration, Default: "1s", Min: "1ms", Max: "5m", Why: "a read that waits for ever cannot be stopped", Synonyms: []string{"block_timeout", "poll_interval", "wait", "poll", "poll_timeout", "timeout", "block_ms"}, Doc: "How long a read waits for entries.", Since: since},
		{Name: "on_invalid", Kind: String, Default: "dead", Allowed: []string{"dead", "retry", "drop", "stop"}, Synonyms: []string{"invalid", "on_decode_error", "on_malformed"}, Doc: "What happens to entries that do not decode.", Since: since},
		{Name: "on_failure", Kind: String, Default: "retry", Allowed: []string{"retry", "dead", "stop"}, Synonyms: []string{"on_error", "on_fail", "on_exception"}, Doc: "What happens after a failed attempt.", Since: since},
	},
	Blocks: []*Block{claimBlock, workersBlock, replyBlock, routeBlock, idempotencyBlock},
}

var claimBlock = &Block{
	Name: "claim", Max: 1, Synonyms: []string{"autoclaim", "xautoclaim", "recover", "reclaim", "pending"}, Doc: "Take over entries that a stopped worker left pending.", Since: since,
	Args: []*Arg{
		{Name: "min_idle", Kind: Duration, Required: true, Min: "10ms", Max: "7d", Synonyms: []string{"idle", "visibility_timeout", "ack_wait", "min_idle_time", "idle_timeout", "lease", "lock_duration", "stalled_interval", "timeout"},
			Why: "an entry idle this long belongs to no live worker: too short wakes everyone too often, too long delays what a stopped worker held. \"30s\" suits most handlers",
			Doc: "How long an entry must have been idle.", Since: since},
		{Name: "using", Kind: String, Default: "auto", Allowed: []string{"auto", "read", "autoclaim"}, Synonyms: []string{"by", "with", "mode", "method", "via"},
			Doc: "auto: claiming reads where the server has them (8.4), else XAUTOCLAIM; read: claiming reads or refuse to start; autoclaim: XAUTOCLAIM.", Since: since},
		{Name: "only", Kind: Bool, Default: "false", Synonyms: []string{"pending_only", "only_pending", "exclusive"}, Doc: "Take over pending entries, never new ones; always by XAUTOCLAIM.", Since: since},
	},
}

var workersBlock = &Block{
	Name: "workers", Max: 1, Synonyms: []string{"worker", "concurrency", "pool", "parallelism", "threads"}, Doc: "How entries are spread over workers.", Since: since,
	Args: []*Arg{
		{Name: "count", Kind: Integer, Default: "1", Min: "1", Max: "1024", Unit: "workers", Synonyms: []string{"concurrency", "size", "max", "parallelism", "threads", "num", "number", "max_in_flight", "pool_size"}, Doc: "Handlers running at once.", Since: since},
		{Name: "key", Kind: Expression, DefaultDoc: "the entry's partition-key header", Synonyms: []string{"partition_key", "ordering_key", "partition_by", "order_by", "by", "group_by", "hash", "hash_key"}, Doc: "Entries of one key run one after the other, in order.", Since: since},
		{Name: "while_retrying", Kind: String, Default: "pass", Allowed: []string{"pass", "hold"}, Synonyms: []string{"on_retry", "strict_order"}, Doc: "Whether later entries of a key pass one that is retried, or are held.", Since: since},
		{Name: "hold_limit", Kind: Integer, Default: "10000", Min: "1", Max: "1000000", Unit: "entries", Synonyms: []string{"max_held", "max_hold"}, Doc: "Reading stops while more entries are held.", Since: since},
	},
}

// routeArgs are the arguments that reply and route share.
var (
	toArg      = &Arg{Name: "to", Kind: Reference, Target: "stream", Required: true, Synonyms: []string{"stream", "topic", "queue", "target", "destination", "output"}, Doc: "The stream that values are added to.", Since: since}
	keyArg     = &Arg{Name: "key", Kind: Expression, DefaultDoc: "the target stream's, else the entry's", Synonyms: []string{"partition_key", "ordering_key", "routing_key", "partition_by", "message_key"}, Doc: "Partition key of the reply.", Since: since}
	headersArg = &Arg{Name: "headers", Kind: Headers, Synonyms: []string{"header", "metadata", "attributes", "properties"}, Doc: "Headers of the reply: { name = expression }.", Since: since}
)

var replyBlock = &Block{
	Name: "reply", Max: 1, Synonyms: []string{"output", "publish", "sink", "emit", "produce", "response", "forward"}, Doc: "Where values go that the handler returns, in one step with the acknowledgement.", Since: since,
	Args: []*Arg{toArg, keyArg, headersArg},
}

var routeBlock = &Block{
	Name: "route", Labels: []Label{{Name: "name", Doc: "The name in reply(value, {to = \"NAME\"})."}},
	Synonyms: []string{"routes", "switch", "case", "branch"},
	Doc:      "One of several places where values go: every route whose when holds.", Since: since,
	Args: []*Arg{
		toArg,
		{Name: "when", Kind: Expression, DefaultDoc: "always", Synonyms: []string{"if", "condition", "filter", "where", "match", "check"}, Doc: "Whether a value takes this route.", Since: since},
		keyArg, headersArg,
	},
}

var idempotencyBlock = &Block{
	Name: "idempotency", Max: 1, Synonyms: []string{"dedup", "deduplicate", "deduplication", "unique", "idempotent"},
	Doc:   "Acknowledge an entry whose key was settled within the window without running it. Inside Redis only: an external effect needs its own unique key.",
	Since: since,
	Args: []*Arg{
		{Name: "key", Kind: Expression, Required: true, Synonyms: []string{"id", "by", "unique_key", "message_id"}, Doc: "What makes two entries the same.", Since: since},
		{Name: "window", Kind: Duration, Required: true, Min: "1s", Max: "30d", Synonyms: []string{"ttl", "duration", "period", "for", "expires", "interval"}, Doc: "How long a key is remembered.", Since: since},
	},
}
