package schema

var streamBlock = &Block{
	Name:     "stream",
	Labels:   []Label{{Name: "name", Doc: "The name in stream.NAME."}},
	Synonyms: []string{"queue", "topic", "channel", "source", "sink", "output"},
	Doc:      "A Redis stream and what its entries look like.",
	Since:    since,
	Args: []*Arg{
		{Name: "name", Kind: String, DefaultDoc: "the label", Synonyms: []string{"key_name", "redis_key", "stream", "topic", "queue"}, Doc: "The key on the server.", Since: since},
		{Name: "codec", Kind: String, Default: "json", Allowed: []string{"json", "fields", "text", "bytes"}, Synonyms: []string{"format", "encoding", "serializer", "content_type"},
			Doc: "How a body is written: JSON in one field, one field per member, text, or bytes.", Since: since},
		{Name: "entry", Kind: Type, Default: "any", Synonyms: []string{"schema", "type", "message", "payload", "fields", "record", "body_type"},
			Doc: "Type of a body. Fields beyond it pass through; a missing one makes the entry invalid unless it is optional.", Since: since},
		{Name: "body", Kind: String, Default: "_payload", Synonyms: []string{"payload_field", "body_field", "field", "data_field"}, Doc: "Field that carries the body.", Since: since},
		{Name: "key", Kind: Expression, DefaultDoc: "none", Synonyms: []string{"partition_key", "ordering_key", "partition_by", "message_key", "routing_key"},
			Doc: "Partition key set when publishing.", Since: since},
		{Name: "sensitive", Kind: Strings, Synonyms: []string{"masked", "secret", "redact", "pii"}, Doc: "Body fields masked in logs, tables and pages.", Since: since},
		{Name: "max_entry_size", Kind: Size, Default: "1MiB", Min: "1KiB", Max: "512MiB", Why: "Redis refuses values over 512 MiB", Synonyms: []string{"max_size", "max_message_size", "max_bytes", "max_payload"},
			Doc: "Larger entries become dead letters.", Since: since},
		{Name: "max_backlog", Kind: Integer, Min: "1", Unit: "entries", DefaultDoc: "without bound", Synonyms: []string{"backlog", "max_pending", "max_lag"},
			Doc: "Publishing waits while more entries than this are unread.", Since: since},
	},
	Blocks: []*Block{{
		Name: "retention", Max: 1, Synonyms: []string{"retain", "trim", "limits", "expiry"}, Doc: "What is trimmed.", Since: since,
		Args: []*Arg{
			{Name: "max_length", Kind: Integer, Min: "1", Unit: "entries", DefaultDoc: "without bound", Synonyms: []string{"maxlen", "max_len", "max_entries", "max_size", "size", "length", "count"},
				Doc: "Oldest entries beyond this many are trimmed.", Since: since},
			{Name: "max_age", Kind: Duration, Min: "1s", DefaultDoc: "without bound", Synonyms: []string{"ttl", "age", "expire", "expires", "minid", "retention_period", "period"},
				Doc: "Entries older than this are trimmed.", Since: since},
			{Name: "protect", Kind: String, Allowed: []string{"unacknowledged"}, DefaultDoc: "nothing", Synonyms: []string{"keep", "preserve", "acked"},
				Doc: "Trim only what every group has acknowledged.", Since: since},
		},
	}},
}

var handlerBlock = &Block{
	Name:     "handler",
	Labels:   []Label{{Name: "name", Doc: "The name in handler.NAME."}},
	Synonyms: []string{"function", "processor", "script", "task", "job", "lambda", "module"},
	Doc:      "A function of a script and what it may do.",
	Since:    since,
	Args: []*Arg{
		{Name: "source", Kind: String, Required: true, Synonyms: []string{"script", "file", "path", "code", "filename", "wasm", "lua"},
			Doc: "A .lua or .wasm file, relative to the file that names it.", Since: since},
		{Name: "function", Kind: String, Default: "handle", Synonyms: []string{"entrypoint", "entry_point", "func", "name", "handler", "method", "export"},
			Doc: "The function to call.", Since: since},
		{Name: "modules", Kind: Strings, Synonyms: []string{"libraries", "libs", "requires", "imports", "includes"}, Doc: "Lua files loaded before it, frozen.", Since: since},
		{Name: "input", Kind: String, Default: "envelope", Allowed: []string{"envelope", "raw"}, Doc: "What a WASM function is given.", Since: since},
	},
	Blocks: []*Block{
		{
			Name: "limits", Max: 1, Synonyms: []string{"limit", "resources", "quota"}, Doc: "Bounds of one call.", Since: since,
			Args: []*Arg{
				{Name: "timeout", Kind: Duration, Default: "30s", Min: "1ms", Max: "1h", Synonyms: []string{"deadline", "max_time", "max_duration"}, Doc: "Time of a call.", Since: since},
				{Name: "memory", Kind: Size, Default: "64MiB", Min: "1MiB", Max: "4GiB", Synonyms: []string{"mem", "max_memory", "memory_limit", "ram"}, Doc: "Memory of a call.", Since: since},
				{Name: "instructions", Kind: Integer, Default: "100000000", Min: "1000", Unit: "instructions", Synonyms: []string{"fuel", "gas", "cpu", "max_instructions", "steps"}, Doc: "Instructions of a call.", Since: since},
			},
		},
		grantBlock("log", "Write log lines.", ""),
		grantBlock("http", "Call HTTP services.", later),
		grantBlock("kv", "Keep values between calls.", later),
		grantBlock("sql", "Query databases.", later),
	},
}

// later is the Since of what the language reserves and no version has yet.
const later = "later"

// Later reports whether no version has the block yet.
func (b *Block) Later() bool { return b.Since == later }

func grantBlock(kind, doc, since string) *Block {
	if since == "" {
		since = pipelineBlock.Since
	}
	return &Block{
		Name: "grant", Variant: kind, Free: since == later,
		Labels:   []Label{{Name: "kind", Allowed: []string{"log", "http", "kv", "sql"}, Doc: "The capability."}},
		Synonyms: []string{"capability", "permission", "allow", "permit"},
		Doc:      doc, Since: since,
	}
}

var retryBlock = &Block{
	Name:     "retry",
	Labels:   []Label{{Name: "name", Doc: "The name in retry.NAME."}},
	Synonyms: []string{"retry_policy", "backoff", "redelivery", "policy"},
	Doc:      "How failed attempts are spaced and when they end. Asked retries do not count.",
	Since:    since,
	Args: []*Arg{
		{Name: "max_attempts", Kind: Integer, Default: "5", Min: "3", Max: "1000", Unit: "attempts", Synonyms: []string{"attempts", "max_retries", "retries", "max_deliveries", "max_deliver", "tries", "limit"},
			Why: "an entry that kills its process leaves no trace of its first two starts, so only from the third delivery on can it be told from one that was merely prefetched",
			Doc: "Attempts, the first included, before an entry becomes a dead letter.", Since: since},
		{Name: "delay", Kind: Duration, Default: "1s", Min: "0s", Max: "24h", Synonyms: []string{"backoff", "initial_delay", "initial_interval", "interval", "wait", "min_delay", "base_delay"},
			Doc: "Wait before the second attempt.", Since: since},
		{Name: "multiplier", Kind: Number, Default: "4", Min: "1", Max: "100", Synonyms: []string{"factor", "exponent", "backoff_multiplier", "rate", "backoff_coefficient"}, Doc: "Each wait is this much longer than the last.", Since: since},
		{Name: "max_delay", Kind: Duration, Default: "5m", Min: "0s", Max: "7d", Synonyms: []string{"max_interval", "max_backoff", "max_wait", "cap"}, Doc: "No wait is longer.", Since: since},
		{Name: "jitter", Kind: Number, Default: "0.2", Min: "0", Max: "1", Synonyms: []string{"randomization", "random", "randomization_factor"}, Doc: "Waits vary by this fraction, up and down.", Since: since},
		{Name: "max_age", Kind: Duration, Min: "1s", DefaultDoc: "without bound", Synonyms: []string{"ttl", "max_elapsed_time", "deadline", "expires", "max_elapsed"}, Doc: "A failed attempt of an entry older than this is its last.", Since: since},
	},
}
