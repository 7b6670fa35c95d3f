package schema

var retryBlock = &Block{
	Name:     "retry",
	Labels:   []Label{{Name: "name", Doc: "The name in `retry.NAME`."}},
	Synonyms: []string{"retry_policy", "backoff", "redelivery", "policy"},
	Doc:      "How failed attempts are spaced and when they end: attempt n waits `delay × multiplier^(n-2)`, at most `max_delay`, more or less by `jitter`. An asked `retry()` is waiting, not failing: it costs no attempt.",
	Since:    since,
	Example: `retry "patient" {
  max_attempts = 5
  delay        = "1s"
  multiplier   = 4
  max_delay    = "5m"
  max_age      = "24h"
}`,
	Args: []*Arg{
		{
			Name: "max_attempts", Kind: Integer, Default: "5", Min: "3", Max: "1000", Unit: "attempts", Synonyms: []string{"attempts", "max_retries", "retries", "max_deliveries", "max_deliver", "tries", "limit"}, Example: `8`,
			Why: "an entry that kills its process leaves no trace of its first two starts, so only from the third delivery on can it be told from one that was merely prefetched",
			Doc: "Attempts, the first included, before an entry becomes a dead letter.", Since: since,
		},
		{
			Name: "delay", Kind: Duration, Default: "1s", Min: "0s", Max: "24h", Synonyms: []string{"backoff", "initial_delay", "initial_interval", "interval", "wait", "min_delay", "base_delay", "countdown", "min_backoff"}, Example: `"500ms"`,
			Doc: "Wait before the second attempt.", Since: since,
		},
		{
			Name: "multiplier", Kind: Number, Default: "4", Min: "1", Max: "100", Synonyms: []string{"factor", "exponent", "backoff_multiplier", "rate", "backoff_coefficient"}, Example: `2`,
			Doc: "Each wait is this many times as long as the one before.", Since: since,
		},
		{
			Name: "max_delay", Kind: Duration, Default: "5m", Min: "0s", Max: "7d", Synonyms: []string{"max_interval", "max_backoff", "backoff_max", "retry_backoff_max", "max_wait", "cap"}, Example: `"10m"`,
			Doc: "No wait is longer. It is not shorter than `delay`.", Since: since,
		},
		{
			Name: "jitter", Kind: Number, Default: "0.2", Min: "0", Max: "1", Synonyms: []string{"randomization", "random", "randomization_factor"}, Example: `0.5`,
			Doc: "Waits vary by this fraction, up and down, so that what failed together does not come back together.", Since: since,
		},
		{
			Name: "max_age", Kind: Duration, Min: "1s", DefaultDoc: "without bound", Synonyms: []string{"ttl", "max_elapsed_time", "deadline", "expires", "max_elapsed"}, Example: `"24h"`,
			Doc: "A failed attempt of an entry older than this, by its id and the server's clock, is its last.", Since: since,
		},
	},
}
