package lang

// foreignWord is a word of another tool for which the language has no word of
// its own.
type foreignWord struct {
	// here is how the same thing is done here.
	here string
	// needless: leaving it out is all there is to do.
	needless bool
}

// foreignWords are what people write who know other tools: Terraform, docker
// compose, Benthos, Celery, RabbitMQ, cron.
var foreignWords = map[string]foreignWord{
	"depends_on":  {"Blocks stand in any order: what depends on what is told by references.", true},
	"lifecycle":   {"A pipeline file describes what runs, not resources: nothing is created or destroyed by it.", true},
	"provisioner": {"A pipeline file describes what runs, not resources: nothing is created or destroyed by it.", true},
	"nullable":    {"A variable without a default must be set; one with default = null may be left out.", true},
	"required":    {"A variable without a default must be set; one with a default need not be.", true},
	"for_each":    {"Blocks are not repeated: write one for each.", false},
	"count":       {"Blocks are not repeated: write one for each. How many handlers run at once is set by workers { count = … }.", false},
	"dynamic":     {"Blocks are not repeated: write one for each.", false},
	"module":      {"A pipeline is one file, or all *.hcl files of one directory: put the blocks beside this one.", false},
	"include":     {"A pipeline is one file, or all *.hcl files of one directory: put the blocks beside this one.", false},
	"import":      {"A pipeline is one file, or all *.hcl files of one directory: put the blocks beside this one.", false},
	"data":        {"Values from outside come through variables: variable \"name\" { default = env(\"NAME\") }.", false},
	"output":      {"A value that a handler returns goes to the stream of reply { to = stream.name }.", false},
	"alias":       {"There is one broker; run one pipeline for each.", false},
	"db":          {"The number of the database stands at the end of url: redis://host:6379/1.", false},
	"database":    {"The number of the database stands at the end of url: redis://host:6379/1.", false},
	"port":        {"The port stands in url: redis://host:6379.", false},
	"environment": {"A handler sees no environment: give what it needs in the entry.", false},
	"env":         {"Values of the environment come through variables: variable \"name\" { default = env(\"NAME\") }.", false},
	"image":       {"A handler is a Lua or WASM file, named by source; it runs in this process.", false},
	"mapping":     {"Computing is left to handlers: write it in a .lua file, named by source.", false},
	"acks_late":   {"Entries are always acknowledged after their handler has returned.", true},
	"auto_ack":    {"Entries are always acknowledged after their handler has returned.", true},
	"no_ack":      {"Entries are always acknowledged after their handler has returned.", true},
	"priority":    {"Entries are read in the order of their stream. Give what is urgent a stream and a group of its own.", false},
	"cron":        {"A pipeline runs when entries arrive; publish an entry from cron or a timer.", false},
	"schedule":    {"A pipeline runs when entries arrive; publish an entry from cron or a timer.", false},
}
