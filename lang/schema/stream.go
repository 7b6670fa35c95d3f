package schema

var streamBlock = &Block{
	Name:     "stream",
	Labels:   []Label{{Name: "name", Doc: "The name in `stream.NAME`."}},
	Synonyms: []string{"queue", "topic", "channel", "source", "sink", "output", "input", "subject", "exchange"},
	Doc:      "A Redis stream and what its entries look like. It is declared once, whether it is read, written or both.",
	Since:    since,
	Example: `stream "payments" {
  codec = "json"

  entry = object({
    id           = number
    account      = string
    amount_cents = number
    currency     = optional(string, "EUR")
  })

  sensitive = ["account"]

  retention {
    max_age = "14d"
    protect = "unacknowledged"
  }
}`,
	Args: []*Arg{
		{
			Name: "name", Kind: String, DefaultDoc: "the label", Synonyms: []string{"key_name", "redis_key", "stream", "topic", "queue"}, Example: `"shop.payments"`,
			Doc: "The key on the server, up to 512 bytes.", Since: since,
		},
		{
			Name: "codec", Kind: String, Default: "json", Allowed: []string{"json", "fields", "text", "bytes"}, Synonyms: []string{"format", "encoding", "serializer", "content_type"}, Example: `"fields"`,
			Doc: "How a body is written. `json`: as JSON, in one field. `fields`: one field of the entry for each member, as text; members are strings, numbers and bools. `text`: UTF-8 text in one field. `bytes`: anything, in one field.", Since: since,
		},
		{
			Name: "entry", Kind: Type, Default: "any", Synonyms: []string{"schema", "type", "message", "payload", "fields", "record", "body_type"}, Example: `object({ id = number, note = optional(string) })`,
			Doc: "Type of a body. Fields beyond it pass through unchanged; a missing one, or one of another type, makes the entry invalid unless it is `optional`. Expressions over entries are checked against it.", Since: since,
		},
		{
			Name: "body", Kind: String, Default: "_payload", Synonyms: []string{"payload_field", "body_field", "field", "data_field", "body_key"}, Example: `"data"`,
			Doc: "Field that carries the body. An entry without it is its own body: its fields, but for headers.", Since: since,
		},
		{
			Name: "key", Kind: Expression, DefaultDoc: "none", Synonyms: []string{"partition_key", "ordering_key", "partition_by", "message_key", "routing_key"}, Example: `entry.id`,
			Doc: "Partition key that entries get when they are published or replied to this stream, unless they bring one.", Since: since,
		},
		{
			Name: "sensitive", Kind: Strings, DefaultDoc: "none", Synonyms: []string{"masked", "secret", "redact", "pii"}, Example: `["account"]`,
			Doc: "Members of the body that are masked wherever entries are shown. They are on the server, and in the handler's hands, as they are.", Since: since,
		},
		{
			Name: "max_entry_size", Kind: Size, Default: "1MiB", Min: "1KiB", Max: "512MiB", Why: "Redis refuses values over 512 MiB", Synonyms: []string{"max_size", "max_message_size", "max_bytes", "max_payload"}, Example: `"64KiB"`,
			Doc: "A larger entry is never decoded: it is invalid.", Since: since,
		},
		{
			Name: "max_backlog", Kind: Integer, Min: "1", Unit: "entries", DefaultDoc: "without bound", Synonyms: []string{"backlog", "max_pending", "max_lag"}, Example: `100000`,
			Doc: "How far the slowest group of the stream, in whatever pipeline, may be behind: entries it was not given yet and those it has not acknowledged; of a stream without groups, its length. From 80 % of it on `publish` and replies to the stream are slowed down, at the limit they wait, and go on at 90 %. What waits is kept and published once; it counts as no failed attempt. Dead letters never wait. The rights that it takes, and how several processes share it, are in docs/delivery.md.", Since: since,
		},
	},
	Blocks: []*Block{{
		Name: "retention", Max: 1, Synonyms: []string{"retain", "trim", "limits", "expiry"}, Since: since,
		Doc: "What is trimmed, by whoever writes to the stream or reads it. Without it nothing is, and the stream grows for ever.",
		Example: `retention {
  max_length = 1000000
  max_age    = "14d"
  protect    = "unacknowledged"
}`,
		Args: []*Arg{
			{
				Name: "max_length", Kind: Integer, Min: "1", Unit: "entries", DefaultDoc: "without bound", Synonyms: []string{"maxlen", "max_len", "max_entries", "max_size", "size", "length", "count"}, Example: `1000000`,
				Doc: "The oldest entries beyond this many are trimmed. Redis trims whole nodes, so some more may stay.", Since: since,
			},
			{
				Name: "max_age", Kind: Duration, Min: "1s", DefaultDoc: "without bound", Synonyms: []string{"ttl", "age", "expire", "expires", "minid", "retention_period", "period"}, Example: `"14d"`,
				Doc: "Entries older than this, by their ids and the server's clock, are trimmed.", Since: since,
			},
			{
				Name: "protect", Kind: String, Allowed: []string{"unacknowledged"}, DefaultDoc: "nothing", Synonyms: []string{"keep", "preserve", "acked"}, Example: `"unacknowledged"`,
				Doc: "Trim only what every group of the stream has acknowledged.", Since: since,
			},
		},
	}},
}
