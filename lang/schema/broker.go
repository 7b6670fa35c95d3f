package schema

var brokerLabels = []Label{{Name: "kind", Allowed: []string{"redis", "memory"}, Doc: "Where the streams live."}}

var redisBlock = &Block{
	Name:     "broker",
	Variant:  "redis",
	Labels:   brokerLabels,
	Max:      1,
	Synonyms: []string{"redis", "server", "connection", "backend", "transport", "provider", "database"},
	Doc:      "A Redis server from 6.2 on, a cluster, or a master found by Sentinel. A pipeline without a broker block lives in memory.",
	Since:    since,
	Example: `broker "redis" {
  url      = "rediss://redis.internal:6380/0"
  username = "payments"
  password = var.redis_password

  tls {
    ca = "/etc/ssl/redis-ca.pem"
  }
}`,
	Args: []*Arg{
		{
			Name: "url", Kind: String, Required: true, Secret: true, Synonyms: []string{"uri", "address", "addr", "host", "hostname", "endpoint", "dsn", "server", "connection_string"}, Example: `"redis://localhost:6379"`,
			Doc: "`redis://[user:password@]host[:port][/db]`, `rediss://…` for TLS, or `unix:///path`. It is never shown.", Since: since,
		},
		{
			Name: "username", Kind: String, DefaultDoc: "that of `url`", Secret: true, Synonyms: []string{"user"}, Example: `"payments"`,
			Doc: "User of the server's access control list. Overrides the one in `url`.", Since: since,
		},
		{
			Name: "password", Kind: String, DefaultDoc: "that of `url`", Secret: true, Synonyms: []string{"pass", "auth", "secret"}, Example: `var.redis_password`,
			Doc: "Its password. Overrides the one in `url`. Give it by a sensitive variable, not in the file.", Since: since,
		},
		{
			Name: "cluster", Kind: Bool, Default: "false", Synonyms: []string{"clustered", "cluster_mode"}, Example: `true`,
			Doc: "The server is part of a Redis Cluster. A reply is one step with its acknowledgement only where both streams lie in one hash slot: give their names one `{tag}`.", Since: since,
		},
	},
	Blocks: []*Block{
		tlsBlock,
		{
			Name: "sentinel", Max: 1, Doc: "Find the master through Redis Sentinel. The host of `url` is then not used; its user, password and database are.", Since: since,
			Example: `sentinel {
  master    = "payments"
  addresses = ["sentinel-1:26379", "sentinel-2:26379", "sentinel-3:26379"]
}`,
			Args: []*Arg{
				{
					Name: "master", Kind: String, Required: true, Synonyms: []string{"master_name", "name", "service"}, Example: `"payments"`,
					Doc: "The name under which the Sentinels know the master.", Since: since,
				},
				{
					Name: "addresses", Kind: Strings, Required: true, Synonyms: []string{"hosts", "nodes", "sentinels", "urls"}, Example: `["sentinel-1:26379", "sentinel-2:26379"]`,
					Doc: "`host:port` of each Sentinel.", Since: since,
				},
				{
					Name: "username", Kind: String, DefaultDoc: "none", Secret: true, Synonyms: []string{"user"}, Example: `"sentinel"`,
					Doc: "User for the Sentinels themselves.", Since: since,
				},
				{
					Name: "password", Kind: String, DefaultDoc: "none", Secret: true, Synonyms: []string{"pass", "auth"}, Example: `var.sentinel_password`,
					Doc: "Password for the Sentinels themselves.", Since: since,
				},
			},
			Blocks: []*Block{tlsBlock},
		},
	},
}

var tlsBlock = &Block{
	Name: "tls", Max: 1, Synonyms: []string{"ssl"}, Doc: "Connect by TLS, with these PEM files. An address that begins with `rediss://` needs no `tls` block when the system's authorities are enough.", Since: since,
	Example: `tls {
  ca          = "/etc/redis/ca.pem"
  cert        = "/etc/redis/client.pem"
  key         = "/etc/redis/client.key"
  server_name = "redis.internal"
}`,
	Args: []*Arg{
		{
			Name: "ca", Kind: String, DefaultDoc: "the system's", Synonyms: []string{"ca_file", "ca_cert", "cafile", "root_ca"}, Example: `"/etc/redis/ca.pem"`,
			Doc: "Authorities that sign the server's certificate.", Since: since,
		},
		{
			Name: "cert", Kind: String, DefaultDoc: "none", Synonyms: []string{"cert_file", "certificate", "client_cert"}, Example: `"/etc/redis/client.pem"`,
			Doc: "Client certificate, where the server asks for one.", Since: since,
		},
		{
			Name: "key", Kind: String, DefaultDoc: "none", Synonyms: []string{"key_file", "private_key", "client_key"}, Example: `"/etc/redis/client.key"`,
			Doc: "Its private key.", Since: since,
		},
		{
			Name: "server_name", Kind: String, DefaultDoc: "the host of `url`", Synonyms: []string{"sni", "hostname"}, Example: `"redis.internal"`,
			Doc: "Name that the server's certificate must have.", Since: since,
		},
	},
}

var memoryBlock = &Block{
	Name:    "broker",
	Variant: "memory",
	Labels:  brokerLabels,
	Max:     1,
	Doc:     "Streams in this process, gone when it ends: for `dev` and `dry-run`. `run` and `publish` refuse it.",
	Since:   since,
	Example: `broker "memory" {}`,
}
