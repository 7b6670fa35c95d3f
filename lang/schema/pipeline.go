package schema

// since is the version that brought what has stood in the language from the
// beginning.
const since = "0.1.0"

// Pipeline is the table: the top level of a pipeline file. It is shared and
// must not be changed.
var Pipeline = &Block{
	Doc: "One file, or the `*.hcl` files of one directory, is one pipeline.",
	Blocks: []*Block{
		pipelineBlock, variableBlock, localsBlock, redisBlock, memoryBlock,
		streamBlock, handlerBlock, retryBlock, groupBlock,
	},
	Since: since,
}

var pipelineBlock = &Block{
	Name:     "pipeline",
	Labels:   []Label{{Name: "name", Doc: "The pipeline's name, in logs and metrics."}},
	Max:      1,
	Synonyms: []string{"service", "app", "config", "settings", "terraform", "job"},
	Doc:      "The pipeline as a whole. Exactly one file declares it.",
	Since:    since,
	Example: `pipeline "payments" {
  version       = "0.1.0"
  language      = 1
  drain_timeout = "20s"
}`,
	Args: []*Arg{
		{
			Name: "version", Kind: String, DefaultDoc: "none", Example: `"1.4.2"`,
			Doc: "Version of your pipeline. It is logged at the start and written to every dead letter, so that one can tell which code gave up on an entry.", Since: since,
		},
		{
			Name: "language", Kind: Integer, Default: "1", Allowed: []string{"1"}, Synonyms: []string{"edition", "schema_version", "required_version"}, Example: `1`,
			Doc: "Edition of the language that the file is written in. There is one.", Since: since,
		},
		{
			Name: "drain_timeout", Kind: Duration, Default: "20s", Min: "0s", Max: "1h", Synonyms: []string{"shutdown_timeout", "grace_period", "stop_timeout", "termination_grace_period_seconds", "graceful_timeout"}, Example: `"45s"`,
			Doc: "How long running handlers may take to finish once the pipeline is asked to stop. What is not settled by then stays pending. Keep it below the time after which your supervisor kills, and above every `block`.", Since: since,
		},
	},
	Blocks: []*Block{traceBlock},
}

var variableBlock = &Block{
	Name:     "variable",
	Labels:   []Label{{Name: "name", Doc: "The name in `var.NAME`."}},
	Synonyms: []string{"var", "param", "parameter", "arg"},
	Doc:      "A value given from outside: by `--var`, `--var-file`, `PIPELINE_VAR_name`, or the default.",
	Since:    since,
	Example: `variable "workers" {
  type        = number
  default     = 8
  description = "Payments handled at once."

  validation {
    condition     = var.workers >= 1
    error_message = "workers is at least 1."
  }
}`,
	Args: []*Arg{
		{
			Name: "type", Kind: Type, Default: "any", Example: `number`,
			Doc: "Type that a value is converted to. A value that cannot be is an error.", Since: since,
		},
		{
			Name: "default", Kind: Any, DefaultDoc: "none: the variable must be set", Synonyms: []string{"value", "default_value", "fallback"}, Example: `env("REDIS_URL", "redis://localhost:6379")`,
			Doc: "Value when none is given. Only here may `env()` be called.", Since: since,
		},
		{
			Name: "description", Kind: String, DefaultDoc: "none", Synonyms: []string{"doc", "help", "desc", "comment", "summary"}, Example: `"Server that holds the streams."`,
			Doc: "What the variable is for.", Since: since,
		},
		{
			Name: "sensitive", Kind: Bool, Default: "false", Synonyms: []string{"secret"}, Example: `true`,
			Doc: "Never show the value. It can then be used in `url`, `username` and `password` only.", Since: since,
		},
	},
	Blocks: []*Block{{
		Name:     "validation",
		Synonyms: []string{"validate", "check"},
		Doc:      "A rule that the value must meet. There may be several.",
		Since:    since,
		Example: `validation {
  condition     = contains(["SE", "NO"], var.home)
  error_message = "home is SE or NO."
}`,
		Args: []*Arg{
			{
				Name: "condition", Kind: Condition, Required: true, Synonyms: []string{"when", "rule"}, Example: `var.workers >= 1`,
				Doc: "Must be true. `var.NAME` is the value, after its conversion; other variables cannot be named.", Since: since,
			},
			{
				Name: "error_message", Kind: String, Required: true, Synonyms: []string{"message", "error"}, Example: `"workers is at least 1."`,
				Doc: "What is said when it is not.", Since: since,
			},
		},
	}},
}

var localsBlock = &Block{
	Name:     "locals",
	Free:     true,
	Synonyms: []string{"local", "let", "vars"},
	Doc:      "Named values, used as `local.NAME`. They may name variables and each other in any order; a circle is an error. Every argument is one name and its value.",
	Since:    since,
	Example: `locals {
  shop     = "shop"
  min_idle = "20s"
}`,
}
