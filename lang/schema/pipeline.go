package schema

// since is the version that brought what has stood in the language from the
// beginning.
const since = "0.1.0"

// Pipeline is the table: the top level of a pipeline file. It is shared and
// must not be changed.
var Pipeline = &Block{
	Doc: "One file, or the *.hcl files of one directory, is one pipeline.",
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
	Args: []*Arg{
		{Name: "version", Kind: String, Doc: "Version of the pipeline, written to dead letters.", Since: since},
		{Name: "language", Kind: Integer, Default: "1", Allowed: []string{"1"}, Synonyms: []string{"edition", "schema_version", "required_version"},
			Doc: "Edition of the language.", Since: since},
		{Name: "drain_timeout", Kind: Duration, Default: "20s", Min: "0s", Max: "1h", Synonyms: []string{"shutdown_timeout", "grace_period", "stop_timeout"},
			Doc: "How long running handlers may take to finish once the pipeline is asked to stop.", Since: since},
	},
}

var variableBlock = &Block{
	Name:     "variable",
	Labels:   []Label{{Name: "name", Doc: "The name in var.NAME."}},
	Synonyms: []string{"var", "param", "parameter", "input"},
	Doc:      "A value given from outside: --var, --var-file, PIPELINE_VAR_name, or the default.",
	Since:    since,
	Args: []*Arg{
		{Name: "type", Kind: Type, Default: "any", Doc: "Type that a value is converted to.", Since: since},
		{Name: "default", Kind: Any, DefaultDoc: "none: the variable must be set", Synonyms: []string{"value", "default_value", "fallback"}, Doc: "Value when none is given. Only here may env() be called.", Since: since},
		{Name: "description", Kind: String, Synonyms: []string{"doc", "help"}, Doc: "What the variable is for.", Since: since},
		{Name: "sensitive", Kind: Bool, Default: "false", Synonyms: []string{"secret"}, Doc: "The value is shown nowhere.", Since: since},
	},
	Blocks: []*Block{{
		Name:     "validation",
		Synonyms: []string{"validate", "check"},
		Doc:      "A rule that the value must meet.",
		Since:    since,
		Args: []*Arg{
			{Name: "condition", Kind: Condition, Required: true, Synonyms: []string{"when", "rule"}, Doc: "Must be true; var.NAME is the value.", Since: since},
			{Name: "error_message", Kind: String, Required: true, Synonyms: []string{"message", "error"}, Doc: "What is said otherwise.", Since: since},
		},
	}},
}

var localsBlock = &Block{
	Name:     "locals",
	Free:     true,
	Synonyms: []string{"local", "let", "vars"},
	Doc:      "Named values, used as local.NAME, in any order.",
	Since:    since,
}

var brokerLabels = []Label{{Name: "kind", Allowed: []string{"redis", "memory"}, Doc: "Where the streams live."}}

var redisBlock = &Block{
	Name:     "broker",
	Variant:  "redis",
	Labels:   brokerLabels,
	Max:      1,
	Synonyms: []string{"redis", "server", "connection", "backend", "transport", "provider", "database"},
	Doc:      "A Redis server, or a cluster, or a master found by Sentinel.",
	Since:    since,
	Args: []*Arg{
		{Name: "url", Kind: String, Required: true, Secret: true, Synonyms: []string{"uri", "address", "addr", "host", "hostname", "endpoint", "dsn", "server", "connection_string"},
			Doc: "redis://, rediss:// or unix:// address.", Since: since},
		{Name: "username", Kind: String, Secret: true, Synonyms: []string{"user"}, Doc: "Overrides the one in url.", Since: since},
		{Name: "password", Kind: String, Secret: true, Synonyms: []string{"pass", "auth", "secret"}, Doc: "Overrides the one in url.", Since: since},
		{Name: "cluster", Kind: Bool, Default: "false", Synonyms: []string{"clustered", "cluster_mode"}, Doc: "The server is part of a Redis Cluster.", Since: since},
	},
	Blocks: []*Block{
		tlsBlock,
		{
			Name: "sentinel", Max: 1, Doc: "Find the master through Redis Sentinel.", Since: since,
			Args: []*Arg{
				{Name: "master", Kind: String, Required: true, Synonyms: []string{"master_name", "name", "service"}, Doc: "The master's name.", Since: since},
				{Name: "addresses", Kind: Strings, Required: true, Synonyms: []string{"hosts", "nodes", "sentinels", "urls"}, Doc: "host:port of each Sentinel.", Since: since},
				{Name: "username", Kind: String, Secret: true, Synonyms: []string{"user"}, Doc: "For the Sentinels.", Since: since},
				{Name: "password", Kind: String, Secret: true, Synonyms: []string{"pass", "auth"}, Doc: "For the Sentinels.", Since: since},
			},
			Blocks: []*Block{tlsBlock},
		},
	},
}

var tlsBlock = &Block{
	Name: "tls", Max: 1, Synonyms: []string{"ssl"}, Doc: "Certificates, as PEM files.", Since: since,
	Args: []*Arg{
		{Name: "ca", Kind: String, DefaultDoc: "the system's", Synonyms: []string{"ca_file", "ca_cert", "cafile", "root_ca"}, Doc: "Authorities that sign the server's certificate.", Since: since},
		{Name: "cert", Kind: String, Synonyms: []string{"cert_file", "certificate", "client_cert"}, Doc: "Client certificate.", Since: since},
		{Name: "key", Kind: String, Synonyms: []string{"key_file", "private_key", "client_key"}, Doc: "Its private key.", Since: since},
		{Name: "server_name", Kind: String, DefaultDoc: "the host of url", Synonyms: []string{"sni", "hostname"}, Doc: "Name that the server's certificate must have.", Since: since},
	},
}

var memoryBlock = &Block{
	Name:    "broker",
	Variant: "memory",
	Labels:  brokerLabels,
	Max:     1,
	Doc:     "In this process, gone when it ends. For dev, test and dry-run; run refuses it.",
	Since:   since,
}
