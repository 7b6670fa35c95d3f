package schema

var faultLabels = []Label{{Name: "kind", Allowed: []string{"crash", "slow", "server_down", "lost_reply"}, Doc: "What goes wrong."}}

// The arguments that faults share.
var (
	faultInArg = &Arg{
		Name: "in", Kind: Reference, Target: "subscription", DefaultDoc: "any", Synonyms: []string{"subscription", "of", "on", "target", "where"}, Example: `subscription.post_payment`,
		Doc: "The subscription in which it strikes.", Since: since,
	}
	faultNthArg = &Arg{
		Name: "nth", Kind: Integer, Min: "1", Max: "1000000", Default: "1", Unit: "entries", Synonyms: []string{"number", "n", "after", "index", "times", "entry"}, Example: `3`,
		Doc: "Which of the entries that come to the point from now on it strikes, in the order in which they come.", Since: since,
	}
)

// faultBlocks are the variants of the block fault.
func faultBlocks() []*Block {
	return []*Block{
		faultBlock("crash", "A worker process is killed. What it had stays pending; at the beginning of the next step another one starts, under another name.", `fault "crash" {
  in = subscription.post_payment
  at = "before_ack"
}`, faultInArg, &Arg{
			Name: "at", Kind: String, Required: true, Allowed: []string{"before_run", "after_run", "before_ack", "after_ack"}, Synonyms: []string{"point", "when", "on", "moment", "stage"}, Example: `"before_ack"`,
			Why: "what is left behind depends on it",
			Doc: "When the worker dies. `before_run`: the entry was delivered, its handler not called. `after_run`: the handler has returned. `before_ack`: the outcome is about to be written. `after_ack`: it is written, and the worker did not learn of it.", Since: since,
		}, faultNthArg),
		faultBlock("slow", "A handler takes its time before it does its work. From its time limit on the call fails, as in production.", `fault "slow" {
  in  = subscription.post_payment
  for = "10s"
}`, faultInArg, forArg(true, "none", "How long it takes. The clock must be moved for it to end."), &Arg{
			Name: "nth", Kind: Integer, Min: "1", Max: "1000000", DefaultDoc: "every one", Unit: "entries", Synonyms: faultNthArg.Synonyms, Example: `2`,
			Doc: "Which of the calls from now on is slow.", Since: since,
		}),
		faultBlock("server_down", "Workers cannot reach the server. Entries can still be published, as by producers elsewhere.", `fault "server_down" {
  for = "10s"
}`, forArg(false, "until the next step", "How long it is away.")),
		faultBlock("lost_reply", "The server does what it is asked, and its answer never arrives.", `fault "lost_reply" {
  in = subscription.post_payment
}`, faultInArg, &Arg{
			Name: "at", Kind: String, Default: "settle", Allowed: []string{"settle", "read"}, Synonyms: []string{"point", "when", "on", "to"}, Example: `"read"`,
			Doc: "Which answer is lost: the one to the writing of an outcome, or the one to a read that delivered entries.", Since: since,
		}, faultNthArg),
	}
}

func faultBlock(kind, doc, example string, args ...*Arg) *Block {
	return &Block{
		Name: "fault", Variant: kind, Labels: faultLabels, Args: args, Example: example,
		Synonyms: []string{"inject", "failure", "chaos", "break", "disturb", "crash", "outage"},
		Doc:      doc, Since: since,
	}
}

func forArg(required bool, otherwise, doc string) *Arg {
	a := &Arg{
		Name: "for", Kind: Duration, Required: required, Min: "1ms", Max: "365d", Synonyms: []string{"duration", "time", "delay", "takes", "period", "lasts", "timeout"}, Example: `"10s"`,
		Doc: doc, Since: since,
	}
	if !required {
		a.DefaultDoc = otherwise
	}
	return a
}
