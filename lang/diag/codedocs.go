package diag

import (
	"maps"
	"slices"
)

// Doc documents a code.
type Doc struct {
	Code Code
	// Meaning is what was found, in one line.
	Meaning string
	// Action is what to do about it.
	Action string
}

// Describe documents a code; ok is false for one that does not exist.
func Describe(c Code) (doc Doc, ok bool) {
	d, ok := docs[c]
	return Doc{c, d[0], d[1]}, ok
}

// Codes are all codes, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(docs)) }

// docs: the meaning of each code and what to do.
var docs = map[Code][2]string{
	FileNotFound:   {"The path does not exist.", "Check the path; a pipeline is a file or a directory of .hcl files."},
	FileUnreadable: {"The file cannot be read.", "Check its permissions."},
	FileTooLarge:   {"The file is over 1 MiB.", "Split the pipeline over several files of one directory."},
	NoFiles:        {"The directory holds no .hcl file besides tests.", "Point to the directory or file that holds the pipeline."},
	NoPipeline:     {"No file declares a pipeline block.", "Add pipeline \"name\" { } to one of the files."},
	NotUTF8:        {"The file is not encoded in UTF-8.", "Save it as UTF-8."},
	ByteOrderMark:  {"The file begins with a byte order mark.", "Save it as UTF-8 without a mark; it is skipped."},

	TooNested:        {"Brackets, braces, templates and blocks are nested deeper than 200, or more than 8 prefix operators stand in a row.", "Split the expression with locals."},
	TooComplex:       {"One argument has more than 1,000 operators or index steps, or its value grows without bound.", "Split the expression with locals."},
	Syntax:           {"The text does not follow the syntax of HCL.", "The detail says what was expected."},
	UnclosedBlock:    {"A block is never closed.", "Add the closing brace where the indentation says it belongs."},
	UnclosedBracket:  {"A bracket or parenthesis is never closed.", "Add the closing one."},
	UnclosedString:   {"A string is not closed on its line.", "Add the closing quote."},
	UnexpectedClose:  {"A closing brace or bracket has no opening one.", "Remove it, or add what it should close."},
	UnquotedValue:    {"A duration, size or word stands without quotes.", "Write it as a string: \"30s\"."},
	MissingNewline:   {"Two arguments or blocks stand on one line.", "Put each on its own line."},
	SingleLineBlock:  {"A block on one line holds more than one argument.", "Put the arguments on lines of their own."},
	BraceOnNextLine:  {"The opening brace of a block stands on the next line.", "Move it to the end of the block's first line."},
	MissingEquals:    {"An argument has no equals sign.", "Write name = value."},
	WrongAssignment:  {"An argument is set with something other than =.", "Write name = value."},
	WrongSeparator:   {"A line ends with a comma or semicolon.", "Remove it: lines end arguments."},
	WrongQuotes:      {"A string stands in single, curly or back quotes.", "Use straight double quotes."},
	QuotedName:       {"The name of an argument or block stands in quotes.", "Write it without quotes."},
	InvalidCharacter: {"A character is not part of the language.", "Replace or remove it."},

	UnknownBlock:      {"No such block exists here.", "Use one of the blocks of the language reference."},
	UnknownArgument:   {"The block has no such argument.", "Use one of its arguments."},
	MisplacedBlock:    {"The block exists, but belongs elsewhere.", "Move it to the block that the message names."},
	MisplacedArgument: {"The argument exists, but belongs to another block.", "Move it to the block that the message names."},
	MissingBlock:      {"A block that must be there is missing.", "Add it."},
	MissingArgument:   {"An argument that must be set is missing.", "Set it."},
	DuplicateBlock:    {"A block stands more often than it may.", "Remove or merge the second one."},
	DuplicateArgument: {"An argument is set twice.", "Remove one."},
	DuplicateName:     {"Two blocks of a kind have the same name.", "Rename one."},
	MissingLabel:      {"A block has no name.", "Add a name in quotes after the block's type."},
	ExtraLabel:        {"A block has more labels than it takes.", "Remove them."},
	InvalidName:       {"A name cannot be used in references or on the server.", "Use letters, digits and underscores, beginning with a letter."},
	BlockAsArgument:   {"A block is written as an argument.", "Write it without the equals sign."},
	ArgumentAsBlock:   {"An argument is written as a block.", "Write name = value."},
	Conflict:          {"Two arguments or blocks exclude each other.", "Keep one."},

	WrongType:       {"A value has another type than its argument.", "Give a value of the type that the message names."},
	NullValue:       {"A value is null where one is needed.", "Give a value, or leave the argument out."},
	InvalidDuration: {"A duration is not a string with units.", "Write \"500ms\", \"30s\", \"5m\", \"24h\" or \"14d\"."},
	InvalidSize:     {"A size is not a string with a unit.", "Write \"512KiB\" or \"16MiB\"."},
	InvalidValue:    {"A value is not one of those allowed.", "Use one of the values in the message."},
	OutOfRange:      {"A value lies outside of its range.", "Use a value within the range in the message."},
	InvalidType:     {"A type is not one of the language's.", "Use string, number, bool, list(…), map(…), object({…}) or any."},

	UnknownReference:     {"The block referred to does not exist.", "Declare it, or correct the name."},
	ReferenceAsString:    {"A string stands where a reference belongs.", "Write stream.name, without quotes."},
	WrongReference:       {"The reference points to another kind of block.", "Refer to a block of the kind that the message names."},
	UnknownVariable:      {"No such variable is declared.", "Declare it, or correct the name."},
	UnknownLocal:         {"No such local is declared.", "Declare it, or correct the name."},
	UnknownFunction:      {"No such function exists.", "Use one of the functions of the language reference."},
	FunctionNotAllowed:   {"The function may not be called here.", "env() belongs into a variable's default, hostname() into consumer."},
	FunctionFailed:       {"A function refused its arguments.", "The detail says why."},
	ExpressionFailed:     {"An expression cannot be evaluated.", "The detail says why; the values are shown."},
	ExpressionNotAllowed: {"The expression is not one of those allowed here.", "Use the forms that the message names."},
	UnknownField:         {"The declared type has no such field.", "Correct the name, or declare it in the stream's entry."},
	TypeMismatch:         {"Operands or results have types that do not fit.", "Compare values of the same type."},
	Cycle:                {"Variables or locals refer to each other in a circle.", "Break the circle that the message shows."},

	VariableNotSet:     {"A variable has neither a value nor a default.", "Set it with --var, --var-file or PIPELINE_VAR_name, or give it a default."},
	VariableUndeclared: {"A value is given for a variable that is not declared.", "Declare it, or correct the name."},
	VariableInvalid:    {"A value given for a variable is not of its type.", "Give a value of the declared type."},
	ValidationFailed:   {"A variable's value fails its own validation.", "The block's error message says what is expected."},
	EnvironmentMissing: {"env() names a variable that is not set.", "Set it, or give env() a second argument."},
	VarFileInvalid:     {"A file of variable values cannot be used.", "Write name = value lines with constant values."},

	ScriptNotFound:   {"A handler's file does not exist.", "Paths are relative to the file that names them."},
	ScriptInvalid:    {"A handler's file does not compile.", "The message points to the line in the script."},
	FunctionMissing:  {"The handler's file has no such function.", "Correct the name in function, or define it."},
	UnknownGrant:     {"No such capability exists.", "Use one that exists: log."},
	GrantUnavailable: {"The capability is not in this version.", "Remove the grant."},
	MissingGrant:     {"The script calls what it was not granted.", "Add the grant block to the handler."},

	TimeoutAboveMinIdle:  {"A handler may run longer than min_idle.", "The lease is renewed while it runs; a longer min_idle renews less often."},
	BlockAboveDrain:      {"A read may wait longer than drain_timeout.", "Make block shorter than drain_timeout."},
	ReplyLoop:            {"A group replies into a stream that it reads.", "Reply to another stream."},
	DeadLetterLoop:       {"A group's dead letters go to a stream that it reads.", "Send dead letters to another stream."},
	NoClaim:              {"No subscription of a group takes over pending entries.", "Add a claim block, or entries of a crashed worker stay pending for ever."},
	Unused:               {"A block is declared and never used.", "Use it or remove it."},
	CompetingReaders:     {"Two subscriptions of a group would fight for the same entries.", "Put each into its own group."},
	DifferentMinIdle:     {"Subscriptions of one group differ in min_idle.", "Use one min_idle in the group: the shortest one decides."},
	ReservedName:         {"A group or consumer is named like a keyword of XREADGROUP.", "Choose another name."},
	RetentionUnprotected: {"max_length may remove entries that no group has read.", "Add protect = \"unacknowledged\"."},
	NoDeadLetter:         {"A group has no dead_letter block.", "Name a stream, with a retention; the default one is never trimmed."},
	SlotsDiffer:          {"Streams of one atomic step lie in different slots of a cluster.", "Give their names the same {tag}."},
	UnreachableRoute:     {"A route's condition can never hold.", "Correct or remove it."},
	HoldWithoutKey:       {"while_retrying = \"hold\" can hold nothing here.", "Give workers a key, and the subscription a claim block."},
	NothingEnabled:       {"No subscription is enabled.", "Enable one."},
}
