package sandboxtest

// Hole is a way out of a sandbox that an engine leaves open by itself: what
// stands in its way, and which attacks try it. Honest programs that a careless
// defence would break stand beside it.
type Hole struct {
	Hole, Defence string
	Attacks       []string
	Programs      []string
}

// LuaHoles are those of the Lua engine with a context and its safe libraries.
var LuaHoles = []Hole{
	{
		"an order id as a key fills an array of gigabytes, or kills the process", "the array part of a table ends early",
		[]string{"order id as a key", "largest array key", "many sparse arrays", "sparse arrays as garbage", "a huge index"},
		[]string{"order ids as table keys", "exact ids as table keys"},
	},
	{
		"an endless tail call grows the traceback until memory is out", "tail calls are compiled as calls",
		[]string{"endless tail call", "endless tail call with arguments"}, nil,
	},
	{
		"deep calls with varargs panic through pcall", "every call into the engine recovers, and the state is thrown away",
		[]string{"recursion through pcall with arguments", "varargs", "250,000 arguments", "arguments that double"}, []string{"varargs"},
	},
	{
		"a context costs much for each call, and what it stops can be caught", "a meter that counts instructions; a stop is final",
		[]string{"while true", "loop inside pcall", "loop that catches everything", "loop in a handler of a stop", "long for", "source: endless load"}, nil,
	},
	{"coroutines under such a meter cannot be stopped", "there are none", []string{"absent libraries"}, nil},
	{
		"string.rep, string.format and table.concat make gigabytes", "functions of our own that are charged before they allocate",
		[]string{"rep", "rep of rep", "rep with a huge separator", "format with a width", "format of long texts", "concat", "concat with a separator", "concat over an endless interval"},
		[]string{"concat of 100,000 items"},
	},
	{
		"a pattern goes back and forth for ever", "a matcher of our own with a budget of steps",
		[]string{"optional ^ 30", "lazy stars", "balance from everywhere", "gsub with 200,000 slow matches", "match inside pcall"},
		[]string{"gsub with 200,000 matches"},
	},
	{
		"`..` doubles a text within one instruction", "`..` is a call of a guard whose name no script can write",
		[]string{"doubling", "doubling inside pcall", "__concat that grows", "the guard's name", "guards", "source: a hidden name", "source: the guards' names by escape"},
		[]string{"a long chain of .."},
	},
	{
		"functions that load code, read files and run commands", "they are absent",
		[]string{"absent libraries", "open a file", "run a command", "load code", "read a file through dofile", "require", "bytecode", "module that is bytecode", "source: binary"}, nil,
	},
	{
		"what a script changes in libraries, metatables and globals meets the next entry", "all of it is frozen or private",
		[]string{"metatable of strings", "metatable of a library", "libraries", "globals", "string metatable", "ctx", "a global table of the script", "built-in functions at load", "module that is changed"}, nil,
	},
	{
		"texts show addresses of the process", "a type's name and nothing more",
		[]string{"addresses by tostring", "addresses by %p", "addresses by %v", "addresses by error", "addresses by a table as a key", "a reply with every address"}, nil,
	},
	{
		"the compiler calls itself as deep as a source says", "bounds on length, words and depth before it begins",
		[]string{"source: too long", "source: parentheses", "source: nested functions", "source: sum", "source: long table", "source: many constants"},
		[]string{"a long chain of .."},
	},
	{
		"tables grow uncounted", "a watchdog over the heap, and a charge where lists are made",
		[]string{"list without end", "tables in tables", "closures without end", "linked list", "memory inside pcall", "decode many small values", "source: memory at load"}, nil,
	},
	{
		"one instruction or library function works for as long as its operand says", "charged by what it works on",
		[]string{"length of a list of holes", "sort with a comparison that never ends", "compare long strings", "hash of much", "a power tower"}, nil,
	},
	{
		"results that no engine expects", "every crossing is checked, with the place in the message",
		[]string{"a value that holds itself", "a value far too deep", "a value many times over", "not a number", "an error that holds itself", "a huge error"}, nil,
	},
}

// WASMHoles are those of the WASM engine with a context and its defaults.
var WASMHoles = []Hole{
	{
		"calls that call each other exponentially cannot be stopped and hold the collector up", "the module is rewritten to count fuel at functions and loops, and asks the host for more",
		[]string{"tree of calls", "tall tree of calls", "tree of calls with long leaves", "fan of calls of long leaves", "loop", "loop of loops", "loop by a jump table", "loop that misses the cache"}, nil,
	},
	{
		"host functions, memory.grow and bulk instructions work uncounted", "they are charged by what they work on",
		[]string{"loop of host calls", "loop of much randomness", "loop of memory.grow", "loop of fills of the memory", "loop of copies of the memory", "loop of fills of a table", "many short waits"}, nil,
	},
	{
		"compiling cannot be stopped", "the binary is held against bounds first",
		[]string{
			"source: 4 billion locals", "source: jump table of a million", "source: blocks 100,000 deep", "source: a body of a mebibyte",
			"source: many bulk instructions", "source: far too many loops", "source: deep loops with far too many locals", "source: far too many ifs", "source: far too many calls and globals",
		}, nil,
	},
	{"a start section runs while the module is loaded", "refused; _initialize runs under limits of its own", []string{"source: start section", "source: _initialize that never ends", "source: _initialize that traps"}, nil},
	{"imports reach outside", "any that is not offered refuses the module", []string{"source: import of a socket", "source: import of files", "source: import without its grant", "source: import of the memory"}, nil},
	{"memory without bound", "a limit in pages, below what the module declares", []string{"memory.grow of 4 GiB", "memory.grow page by page", "memory that starts too large", "all of the memory touched", "source: a table of 4 billion", "source: table.grow"}, nil},
	{"the memory is not there", "refused when it is loaded", []string{"source: no memory", "source: a memory that is not exported"}, nil},
	{"the stack of calls lies outside the memory", "functions keep account of it", []string{"recursion", "recursion with many locals", "recursion with a large expression", "recursion through a table"}, nil},
	{"places that are not the module's", "each is checked against the memory as it is now", []string{"random beyond the memory", "meta to nowhere", "write of pieces from nowhere", "result: from nowhere", "alloc that gives what is not there", "waiting with events to nowhere"}, nil},
	{"the accounts themselves", "they have no index that the module could name", []string{"source: the counter of the host", "source: the function that refuels", "source: an export that is reserved", "source: import of the host's own"}, nil},
	{"a version of the interface that is not this one", "exactly one marker says which", []string{"source: no marker", "source: two markers", "source: a marker of another version"}, nil},
	{"a result that is nearly right loses a reply", "results are read strictly", []string{"result: a misspelt key", "result: a key that is none", "result: a code that is none", "result: a key twice"}, nil},
	{"files, the environment, time and waiting through WASI", "a part of it that reaches nothing", []string{"write to a file", "waiting", "waiting for a file", "exit", "loop of writing to standard error"}, nil},
}
