package diag

// Code is the stable name of a kind of problem. Codes are a closed list: they
// are never renamed, and Describe documents each.
type Code string

// Files.
const (
	FileNotFound   Code = "file_not_found"
	FileUnreadable Code = "file_unreadable"
	FileTooLarge   Code = "file_too_large"
	NoFiles        Code = "no_pipeline_files"
	NoPipeline     Code = "no_pipeline"
	NotUTF8        Code = "not_utf8"
	ByteOrderMark  Code = "byte_order_mark"
)

// Writing.
const (
	TooNested        Code = "too_nested"
	TooComplex       Code = "too_complex"
	Syntax           Code = "syntax"
	UnclosedBlock    Code = "unclosed_block"
	UnclosedBracket  Code = "unclosed_bracket"
	UnclosedString   Code = "unclosed_string"
	UnexpectedClose  Code = "unexpected_close"
	UnquotedValue    Code = "unquoted_value"
	MissingNewline   Code = "missing_newline"
	SingleLineBlock  Code = "single_line_block"
	BraceOnNextLine  Code = "brace_on_next_line"
	MissingEquals    Code = "missing_equals"
	WrongAssignment  Code = "wrong_assignment"
	WrongSeparator   Code = "wrong_separator"
	WrongQuotes      Code = "wrong_quotes"
	QuotedName       Code = "quoted_name"
	InvalidCharacter Code = "invalid_character"
)

// Blocks and arguments.
const (
	UnknownBlock      Code = "unknown_block"
	UnknownArgument   Code = "unknown_argument"
	MisplacedBlock    Code = "misplaced_block"
	MisplacedArgument Code = "misplaced_argument"
	MissingBlock      Code = "missing_block"
	MissingArgument   Code = "missing_argument"
	DuplicateBlock    Code = "duplicate_block"
	DuplicateArgument Code = "duplicate_argument"
	DuplicateName     Code = "duplicate_name"
	MissingLabel      Code = "missing_label"
	ExtraLabel        Code = "extra_label"
	InvalidName       Code = "invalid_name"
	BlockAsArgument   Code = "block_as_argument"
	ArgumentAsBlock   Code = "argument_as_block"
	Conflict          Code = "conflicting_arguments"
)

// Values.
const (
	WrongType       Code = "wrong_type"
	NullValue       Code = "null_value"
	InvalidDuration Code = "invalid_duration"
	InvalidSize     Code = "invalid_size"
	InvalidValue    Code = "invalid_value"
	OutOfRange      Code = "out_of_range"
	InvalidType     Code = "invalid_type"
)

// References and expressions.
const (
	UnknownReference     Code = "unknown_reference"
	ReferenceAsString    Code = "reference_as_string"
	WrongReference       Code = "wrong_reference"
	UnknownVariable      Code = "unknown_variable"
	UnknownLocal         Code = "unknown_local"
	UnknownFunction      Code = "unknown_function"
	FunctionNotAllowed   Code = "function_not_allowed"
	FunctionFailed       Code = "function_failed"
	ExpressionFailed     Code = "expression_failed"
	ExpressionNotAllowed Code = "expression_not_allowed"
	UnknownField         Code = "unknown_field"
	TypeMismatch         Code = "type_mismatch"
	Cycle                Code = "reference_cycle"
)

// Variables.
const (
	VariableNotSet     Code = "variable_not_set"
	VariableUndeclared Code = "variable_undeclared"
	VariableInvalid    Code = "variable_invalid"
	ValidationFailed   Code = "validation_failed"
	EnvironmentMissing Code = "environment_missing"
	VarFileInvalid     Code = "var_file_invalid"
)

// Handlers.
const (
	ScriptNotFound   Code = "script_not_found"
	ScriptInvalid    Code = "script_invalid"
	FunctionMissing  Code = "handler_function_missing"
	UnknownGrant     Code = "unknown_grant"
	GrantUnavailable Code = "grant_unavailable"
	MissingGrant     Code = "missing_grant"
	// What a script does when a run comes there.
	ScriptUnknownName  Code = "script_unknown_name"
	OutcomeNotReturned Code = "outcome_not_returned"
)

// Checks across blocks.
const (
	TimeoutAboveMinIdle  Code = "timeout_not_below_min_idle"
	BlockAboveDrain      Code = "block_not_below_drain_timeout"
	ReplyLoop            Code = "reply_loop"
	DeadLetterLoop       Code = "dead_letter_loop"
	NoClaim              Code = "no_claim"
	Unused               Code = "unused"
	CompetingReaders     Code = "competing_subscriptions"
	DifferentMinIdle     Code = "different_min_idle"
	DifferentIdempotency Code = "different_idempotency"
	WindowTooShort       Code = "window_too_short"
	ReservedName         Code = "reserved_name"
	RetentionUnprotected Code = "retention_unprotected"
	NoDeadLetter         Code = "no_dead_letter"
	SlotsDiffer          Code = "cluster_slots_differ"
	UnreachableRoute     Code = "unreachable_route"
	ConstantKey          Code = "constant_key"
	HoldWithoutKey       Code = "hold_without_key"
	HoldDiffers          Code = "hold_differs"
	HoldLimitUnused      Code = "hold_limit_unused"
	NothingEnabled       Code = "nothing_enabled"
	ReplyCycle           Code = "reply_cycle"
	BacklogDeadlock      Code = "backlog_deadlock"
	BacklogDeadLetters   Code = "backlog_dead_letters"
	BacklogAboveLength   Code = "backlog_above_length"
	ReservedKey          Code = "reserved_key"
	RetentionTooShort    Code = "retention_too_short"
	ProtectStalls        Code = "protect_never_trims"
	ProtectUnread        Code = "protect_unread"
	DeadLettersKept      Code = "dead_letters_kept"
	AttemptsNotReached   Code = "attempts_not_reached"
	UnusualMinIdle       Code = "unusual_min_idle"
	DrainCutsHandler     Code = "drain_cuts_handler"
	EntryAboveMemory     Code = "entry_above_memory"
	NullKey              Code = "null_key"
	NullCondition        Code = "null_condition"
	NeedlessCondition    Code = "needless_condition"
)
