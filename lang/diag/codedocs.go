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
	FileNotFound:   {"The path leads nowhere.", "Check the spelling, and the directory that the command runs in; a pipeline is a file or a directory of .hcl files."},
	FileUnreadable: {"The path exists, and the system does not let it be read.", "Check its permissions, and that a file stands there and not a directory."},
	FileTooLarge:   {"A pipeline file is over 1 MiB, or a script over 64 MiB.", "Split the pipeline over several files of one directory, and keep data out of it."},
	NoFiles:        {"The directory holds no .hcl file besides tests.", "Point to the directory or file that holds the pipeline."},
	NoPipeline:     {"No file declares a pipeline block.", "Add pipeline \"name\" { } to one of the files."},
	NotUTF8:        {"The file is not encoded in UTF-8.", "Save it as UTF-8; the place is the first byte that does not fit."},
	ByteOrderMark:  {"The file begins with a byte order mark, which is skipped.", "Save it as UTF-8 without a mark."},

	TooNested:        {"Brackets, braces, templates and blocks are nested deeper than 200, or more than 8 prefix operators stand in a row.", "Split the expression with locals."},
	TooComplex:       {"An argument has more than 1,000 operators or index steps, a number is enormous, or a value grows without bound.", "Split the expression with locals, or compute less of it here."},
	Syntax:           {"The text does not follow the syntax of HCL.", "Write name = value for an argument and name \"label\" { … } for a block; the detail shows the form that fits the place."},
	UnclosedBlock:    {"A block is never closed.", "Add the closing brace where the indentation says it belongs."},
	UnclosedBracket:  {"A bracket or parenthesis is never closed.", "Add the closing one before the second place of the report, which cannot belong inside."},
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
	MissingBlock:      {"A block that must be there is missing.", "Add the block; the report says what for."},
	MissingArgument:   {"An argument that has no default is not set.", "Set it in this block; the report shows how it is written."},
	DuplicateBlock:    {"A block stands more often than it may.", "Remove or merge the second one."},
	DuplicateArgument: {"An argument is set twice in one block.", "Remove the one that is not meant."},
	DuplicateName:     {"Two blocks have one name, in the file or on the server.", "Rename one of them, or use one block for both."},
	MissingLabel:      {"A block has no name.", "Add a name in quotes after the block's type."},
	ExtraLabel:        {"A block has more labels than it takes.", "Remove the labels that are too many."},
	InvalidName:       {"A name cannot be used in references, on the server or as a header.", "Use letters, digits and underscores, beginning with a letter; the name on the server is set apart, with name."},
	BlockAsArgument:   {"A block is written as an argument.", "Write it without the equals sign, its arguments in braces."},
	ArgumentAsBlock:   {"An argument is written as a block.", "Write name = value."},
	Conflict:          {"Two arguments or blocks exclude each other.", "Keep the one that is meant and remove the other."},

	WrongType:       {"A value has another type than its argument.", "Give a value of the type that the message names."},
	NullValue:       {"A value is null where one is needed.", "Give a value; null stands for the default, and this argument has none."},
	InvalidDuration: {"A duration is not a string with units.", "Write \"500ms\", \"30s\", \"5m\", \"24h\" or \"14d\"."},
	InvalidSize:     {"A size is not a string with a unit.", "Write \"512KiB\" or \"16MiB\"."},
	InvalidValue:    {"A value is not one of those allowed.", "Use one of the values in the message."},
	OutOfRange:      {"A value lies outside of its range.", "Use a value within the range in the message."},
	InvalidType:     {"A type is not one of the language's, or is not written as one.", "Use string, number, bool, list(…), map(…), object({…}) or any, without quotes."},

	UnknownReference:     {"The block referred to does not exist.", "Declare it, or correct the name."},
	ReferenceAsString:    {"A string stands where a reference belongs.", "Write stream.name, without quotes."},
	WrongReference:       {"The reference points to another kind of block.", "Refer to a block of the kind that the message names."},
	UnknownVariable:      {"No such variable is declared.", "Declare it, or correct the name."},
	UnknownLocal:         {"No such local is declared.", "Declare it, or correct the name."},
	UnknownFunction:      {"No such function exists.", "Use one of the functions of the language reference."},
	FunctionNotAllowed:   {"The function may not be called here.", "env() belongs into a variable's default, hostname() into consumer."},
	FunctionFailed:       {"A function refused its arguments.", "Give it what it takes; the report says what it refused and shows the values."},
	ExpressionFailed:     {"An expression has no result for the values at hand.", "Change the expression or the values, which the report shows; try(…) takes another value where there is none."},
	ExpressionNotAllowed: {"The expression is not one of those allowed here.", "Use the forms that the message names."},
	UnknownField:         {"The declared type has no such field.", "Correct the name, or declare it in the stream's entry."},
	TypeMismatch:         {"Operands or results have types that do not fit.", "Compare values of the same type."},
	Cycle:                {"Variables or locals refer to each other in a circle.", "Break the circle that the message shows."},

	VariableNotSet:     {"A variable has neither a value nor a default.", "Set it with --var, --var-file or PIPELINE_VAR_name, or give it a default."},
	VariableUndeclared: {"A value is given for a variable that is not declared.", "Correct the name, or declare the variable."},
	VariableInvalid:    {"A value given for a variable is not of its type.", "Give a value of the declared type."},
	ValidationFailed:   {"A variable's value fails its own validation.", "The block's error message says what is expected."},
	EnvironmentMissing: {"env() names a variable that is not set.", "Set it, or give env() a second argument."},
	VarFileInvalid:     {"A file of variable values cannot be used.", "Write name = value lines with constant values."},

	ScriptNotFound:   {"A handler's file does not exist.", "Paths are relative to the file that names them."},
	ScriptInvalid:    {"A handler's file does not compile.", "The message points to the line in the script."},
	FunctionMissing:  {"The handler's file has no such function.", "Correct the name in function, or define it."},
	UnknownGrant:     {"No such capability exists.", "Use one that the report names."},
	GrantUnavailable: {"The language has the capability, and this version of the program does not.", "Remove the grant block."},
	MissingGrant:     {"The script uses a capability that its handler is not granted.", "Add the grant block to the handler, or take the call out of the script."},

	ScriptUnknownName:  {"The script calls or reads a global that does not exist; a run that comes there fails.", "Correct the name, or use what the message offers in its place."},
	OutcomeNotReturned: {"The script makes an outcome, such as ack(), and does not return it; what is not returned has no effect.", "Write return before it."},

	TimeoutAboveMinIdle:  {"A handler may run longer than min_idle.", "Shorten the handler's timeout or raise min_idle; the lease is renewed while it runs, so nothing is lost."},
	BlockAboveDrain:      {"A read may wait longer than drain_timeout.", "Make block shorter than drain_timeout."},
	ReplyLoop:            {"A group replies into a stream that it reads.", "Reply to another stream."},
	DeadLetterLoop:       {"A group's dead letters go to a stream that it reads.", "Send dead letters to another stream."},
	NoClaim:              {"No subscription of a group takes over pending entries.", "Add a claim block, or entries of a crashed worker stay pending for ever."},
	Unused:               {"A block is declared and nothing refers to it.", "Refer to it or remove it."},
	CompetingReaders:     {"Two subscriptions of a group would fight for the same entries.", "Put each into its own group."},
	DifferentMinIdle:     {"Subscriptions of one group differ in min_idle.", "Use one min_idle in the group: the shortest one decides."},
	ReservedName:         {"A group or consumer is named like a keyword of XREADGROUP, or a header like one of the engine's.", "Choose another name."},
	RetentionUnprotected: {"max_length may remove entries that no group has read.", "Add protect = \"unacknowledged\"."},
	NoDeadLetter:         {"A group has no dead_letter block.", "Name a stream, with a retention; the default one is never trimmed."},
	SlotsDiffer:          {"Streams of one atomic step lie in different slots of a cluster.", "Give their names the same {tag}."},
	DifferentIdempotency: {"Subscriptions of one group deduplicate differently, or only some of them do.", "Give each the same idempotency block."},
	WindowTooShort:       {"A key is forgotten while an entry that has it may still be tried.", "Make window longer than entries are tried."},
	ConstantKey:          {"A key is the same for every entry.", "Name a field of the entry: key = entry.id."},
	UnreachableRoute:     {"The condition of a route is always false.", "Correct the condition, or remove the route."},
	HoldWithoutKey:       {"while_retrying = \"hold\" keeps the order of a key, and no key is named.", "Name the field whose order counts: key = entry.account."},
	HoldDiffers:          {"Of two subscriptions of a group one holds later entries of a key back and one does not.", "Write while_retrying = \"hold\" in both."},
	HoldLimitUnused:      {"hold_limit is set where nothing is held back.", "Add while_retrying = \"hold\", or remove hold_limit."},
	NothingEnabled:       {"The pipeline has no enabled subscription, so it would do nothing.", "Enable a subscription, or add a group with one."},

	ReplyCycle:         {"Replies or dead letters lead from a stream through other groups back to it.", "End the circle: with a when that stops holding, or with another stream."},
	BacklogDeadlock:    {"Replies go round through streams that all have a max_backlog; once they are full, each waits for the other.", "Remove max_backlog from one of the streams of the circle, or end the circle with another stream."},
	BacklogDeadLetters: {"A stream with a max_backlog takes dead letters, which never wait.", "Remove max_backlog, and bound the stream with a retention."},
	BacklogAboveLength: {"A stream is trimmed before its max_backlog is reached.", "Raise max_length, lower max_backlog, or add protect = \"unacknowledged\"."},
	ReservedKey:        {"A stream has a name that the runner gives to keys of its own.", "Choose another name: {…}:pipeline:… holds records, slots and floors."},
	RetentionTooShort:  {"A stream is trimmed by age while its entries may still be tried again.", "Raise max_age, or add protect = \"unacknowledged\"."},
	ProtectStalls:      {"Trimming waits for a group that has no enabled subscription.", "Enable a subscription of the group, or remove the group here and on the server."},
	ProtectUnread:      {"protect waits for groups, and no group of the pipeline reads the stream.", "Declare the group that reads it, or rely on max_length and max_age alone."},
	DeadLettersKept:    {"A stream of dead letters has no retention.", "Add a retention, or look after it by hand."},
	AttemptsNotReached: {"A policy's max_age ends before its attempts do.", "Raise max_age, or lower max_attempts or the delays."},
	UnusualMinIdle:     {"min_idle is under a second or over an hour.", "Use a value between: it says how soon others take over from a stopped worker."},
	DrainCutsHandler:   {"A handler may run longer than draining lasts.", "Make drain_timeout longer than the handler's timeout."},
	EntryAboveMemory:   {"The largest entry of a stream is larger than the memory of a handler that is given it.", "Raise memory, or lower max_entry_size."},
	NullKey:            {"A key is an optional field, which some entries lack.", "Use a field that every entry has."},
	NullCondition:      {"A condition is an optional field, and fails for values that lack it.", "Compare it: entry.flag == true."},
	NeedlessCondition:  {"A condition always holds.", "Remove it."},
}
