package schema

var groupBlock = &Block{
	Name:     "group",
	Labels:   []Label{{Name: "name", Doc: "The name in `group.NAME`."}},
	Synonyms: []string{"consumer_group", "consumergroup", "consumers", "service"},
	Doc:      "A consumer group. Every group sees every entry of its stream, at its own pace; within a group each entry goes to one subscription.",
	Since:    since,
	Example: `group "ledger" {
  stream = stream.payments
  start  = "beginning"

  dead_letter {
    to = stream.payments_dead
  }

  subscription "post_payment" {
    handler = handler.post_payment

    claim {
      min_idle = "30s"
    }
  }
}`,
	Args: []*Arg{
		{
			Name: "stream", Kind: Reference, Target: "stream", Required: true, Synonyms: []string{"source", "from", "topic", "queue", "input", "streams"}, Example: `stream.payments`,
			Doc: "The stream it reads.", Since: since,
		},
		{
			Name: "name", Kind: String, DefaultDoc: "the label", Synonyms: []string{"group", "group_name", "group_id"}, Example: `"ledger-v2"`,
			Doc: "The group's name on the server, up to 512 bytes. It is no keyword of XREADGROUP.", Since: since,
		},
		{
			Name: "start", Kind: String, Default: "new", Allowed: []string{"new", "beginning"}, Also: "an entry id such as \"1700000000000-0\"", Example: `"beginning"`,
			Synonyms: []string{"from", "offset", "start_id", "start_from", "auto_offset_reset", "deliver_policy", "initial_offset", "position"},
			Doc:      "Where a group that does not exist yet begins: with what comes from now on, with what is already there, or after an entry. It never moves a group that exists.", Since: since,
		},
	},
	Blocks: []*Block{
		{
			Name: "dead_letter", Max: 1, Synonyms: []string{"dlq", "dead_letters", "deadletter", "dead_letter_queue", "redrive", "failed", "errors"}, Since: since,
			Doc: "Where entries go that cannot be handled. Without it they go to a stream called like the source with `.dead` behind it, which is never trimmed.",
			Example: `dead_letter {
  to = stream.payments_dead
}`,
			Args: []*Arg{{
				Name: "to", Kind: Reference, Target: "stream", Required: true, Synonyms: []string{"stream", "queue", "topic", "target", "destination"}, Example: `stream.payments_dead`,
				Doc: "The stream of dead letters. It is not the one that the group reads.", Since: since,
			}},
		},
		subscriptionBlock,
	},
}
