package lang

// Limits are the bounds of what files a pipeline may be made of.
type Limits struct {
	// FileMiB is the size of a pipeline file or a file of variables, ScriptMiB
	// that of a script, in MiB.
	FileMiB, ScriptMiB int
	// Open is how many brackets, braces, templates and blocks may be open
	// together, Operators how many operators and index steps one argument may
	// have, Prefix how many prefix operators may stand in a row.
	Open, Operators, Prefix int
	// NameBytes is the length of a name on the server.
	NameBytes int
}

// SyntaxLimits returns the limits, for documents.
func SyntaxLimits() Limits {
	return Limits{
		FileMiB: maxFile >> 20, ScriptMiB: maxScript >> 20,
		Open: maxOpen, Operators: maxOperators, Prefix: maxPrefix, NameBytes: maxName,
	}
}
