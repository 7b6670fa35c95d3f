package schema

var traceBlock = &Block{
	Name: "trace", Max: 1, Synonyms: []string{"tracing", "traces", "telemetry", "otel", "opentelemetry"}, Since: since,
	Doc: "How the spans of entries are tied to those of their producers, where a process makes traces: see [operations.md](operations.md#traces). In the pipeline's own block it is said for all subscriptions, in a subscription's for that one.",
	Example: `trace {
  parent = "producer"
}`,
	Args: []*Arg{
		{
			Name: "parent", Kind: String, Default: "link", Allowed: []string{"link", "producer"}, Synonyms: []string{"mode", "context", "propagation", "relation"}, Example: `"producer"`,
			Doc: "`link`: what is done with an entry is a trace of its own, with a link to the span of its producer, so that a trace stays small however many read the stream or come to it later. `producer`: it goes on with the trace of the producer, and so does whatever reads its replies the same way: the whole way of an entry is one trace, whose sampling the first producer decides.", Since: since,
		},
	},
}
