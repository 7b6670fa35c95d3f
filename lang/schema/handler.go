package schema

var handlerBlock = &Block{
	Name:     "handler",
	Labels:   []Label{{Name: "name", Doc: "The name in `handler.NAME`."}},
	Synonyms: []string{"function", "processor", "script", "task", "job", "lambda"},
	Doc:      "A function of a script or module, and what it may do. Several handlers may use one file.",
	Since:    since,
	Example: `handler "post_payment" {
  source   = "handlers/payments.lua"
  function = "post_payment"
  modules  = ["lib/money.lua"]

  limits {
    timeout = "5s"
    memory  = "16MiB"
  }

  grant "log" {}
}`,
	Args: []*Arg{
		{
			Name: "source", Kind: String, Required: true, Synonyms: []string{"script", "file", "path", "code", "filename", "wasm", "lua"}, Example: `"handlers/payments.lua"`,
			Doc: "A Lua script or a WASM module (`.wasm`), relative to the file that names it.", Since: since,
		},
		{
			Name: "function", Kind: String, Default: "handle", Synonyms: []string{"entrypoint", "entry_point", "func", "fn", "callback", "name", "handler", "method", "export"}, Example: `"post_payment"`,
			Doc: "The function of the script to call, or the one that the module exports.", Since: since,
		},
		{
			Name: "modules", Kind: Strings, DefaultDoc: "none", Synonyms: []string{"libraries", "libs", "requires", "imports", "includes"}, Example: `["lib/money.lua"]`,
			Doc: "Lua files that are loaded before it, in order. What they define can be used, and is frozen.", Since: since,
		},
		{
			Name: "input", Kind: String, Default: "envelope", Allowed: []string{"envelope", "raw"}, Example: `"raw"`,
			Doc: "What a WASM function is given: the entry with its headers, or its bytes alone. A Lua function is always given the decoded body.", Since: since,
		},
	},
	Blocks: []*Block{
		{
			Name: "limits", Max: 1, Synonyms: []string{"limit", "resources", "quota"}, Doc: "Bounds of one call. Who passes one has failed this attempt, and nothing else is touched.", Since: since,
			Example: `limits {
  timeout      = "5s"
  memory       = "16MiB"
  instructions = 50000000
}`,
			Args: []*Arg{
				{
					Name: "timeout", Kind: Duration, Default: "30s", Min: "1ms", Max: "1h", Synonyms: []string{"deadline", "max_time", "max_duration"}, Example: `"5s"`,
					Doc: "Wall-clock time of a call.", Since: since,
				},
				{
					Name: "memory", Kind: Size, Default: "64MiB", Min: "1MiB", Max: "4GiB", Synonyms: []string{"mem", "mem_limit", "max_memory", "memory_limit", "ram"}, Example: `"16MiB"`,
					Doc: "Bytes of the strings and values that a call of a script makes, all together, freed or not; of a module, how large its memory may be.", Since: since,
				},
				{
					Name: "instructions", Kind: Integer, Default: "100000000", Min: "1000", Unit: "instructions", Synonyms: []string{"fuel", "gas", "cpu", "max_instructions", "steps"}, Example: `50000000`,
					Doc: "Instructions of a call. They are counted, so that the same entry passes or fails on every machine.", Since: since,
				},
			},
		},
		grantBlock("log", "Write log lines, with `log.debug`, `log.info`, `log.warn` and `log.error`.", since),
		grantBlock("http", "Call HTTP services.", later),
		grantBlock("kv", "Keep values between calls.", later),
		grantBlock("sql", "Query databases.", later),
	},
}

// later is the Since of what the language reserves and no version has yet.
const later = "later"

// Later reports whether no version has the block yet.
func (b *Block) Later() bool { return b.Since == later }

// grantBlock makes the grant of a kind.
func grantBlock(kind, doc, from string) *Block {
	b := &Block{
		Name: "grant", Variant: kind, Free: from == later,
		Labels:   []Label{{Name: "kind", Allowed: []string{"log", "http", "kv", "sql"}, Doc: "The capability."}},
		Synonyms: []string{"capability", "permission", "allow", "permit"},
		Doc:      doc, Since: from,
	}
	if from != later {
		b.Example = `grant "` + kind + `" {}`
	}
	return b
}
