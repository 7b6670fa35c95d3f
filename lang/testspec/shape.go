package testspec

// Kind is what a part of the state is.
type Kind string

// The kinds.
const (
	KindObject Kind = "object"
	KindList   Kind = "list"
	KindString Kind = "string"
	KindNumber Kind = "number"
	KindBool   Kind = "bool"
	// KindDuration is a string with units, the largest ones first: "1m30s".
	KindDuration Kind = "duration"
	// KindTexts is an object of strings with any names.
	KindTexts Kind = "object of strings"
	// KindBody is the body of an entry, as its stream declares it.
	KindBody Kind = "body"
	// KindAny is any value.
	KindAny Kind = "value"
)

// Shape is what a part of the state looks like: the table behind checks of
// conditions, and behind the reference.
type Shape struct {
	Kind Kind
	// Fields are those of an object, Elem is the element of a list.
	Fields []Member
	Elem   *Shape
	// Words are the only strings, when there are any.
	Words []string
}

// Member is one member of an object of the state.
type Member struct {
	Name string
	// Doc is what the reference says.
	Doc   string
	Shape *Shape
}

// Root is one kind of block whose state asserts can read: subscription.NAME.
type Root struct {
	// Name is the block's type.
	Name, Doc string
	Shape     *Shape
}

var (
	stringShape   = &Shape{Kind: KindString}
	numberShape   = &Shape{Kind: KindNumber}
	boolShape     = &Shape{Kind: KindBool}
	durationShape = &Shape{Kind: KindDuration}
	textsShape    = &Shape{Kind: KindTexts}
	bodyShape     = &Shape{Kind: KindBody}
	anyShape      = &Shape{Kind: KindAny}
	outcomeShape  = &Shape{Kind: KindString, Words: Outcomes()}
)

func object(fields ...Member) *Shape { return &Shape{Kind: KindObject, Fields: fields} }
func listOf(elem *Shape) *Shape      { return &Shape{Kind: KindList, Elem: elem} }

var replyShape = object(
	Member{"stream", "Label of the stream that it was added to.", stringShape},
	Member{"body", "Its body.", anyShape},
	Member{"key", "Its partition key, `\"\"` without one.", stringShape},
	Member{"headers", "Its headers.", textsShape},
)

var logShape = object(
	Member{"level", "`debug`, `info`, `warn` or `error`.", &Shape{Kind: KindString, Words: []string{"debug", "info", "warn", "error"}}},
	Member{"message", "The message.", stringShape},
	Member{"fields", "What was logged beside it, as text.", textsShape},
)

var callShape = object(
	Member{"id", "Id of the entry.", stringShape},
	Member{"consumer", "Who it was delivered to, by the name on the server.", stringShape},
	Member{"deliveries", "How often it was delivered before: 0 the first time.", numberShape},
	Member{"attempt", "Which attempt it is, from 1. Retries that the handler asks for are none.", numberShape},
	Member{"entry", "The decoded body; null where it could not be decoded.", bodyShape},
	Member{"headers", "Its headers; of one that repeats, the first.", textsShape},
	Member{"key", "The key that puts entries in order, `\"\"` without one.", stringShape},
	Member{"outcome", "What became of it.", outcomeShape},
	Member{"dead", "Whether it went to the dead letters.", boolShape},
	Member{"reply", "Body of the first reply; null without one.", anyShape},
	Member{"replies", "All that was published for it.", listOf(replyShape)},
	Member{"after", "How long it waits before it comes again; null where nothing says.", durationShape},
	Member{"reason", "What the handler gave as the reason, `\"\"` without one.", stringShape},
	Member{"error", "What went wrong, `\"\"` if nothing.", stringShape},
	Member{"kind", "Kind of a failure: `error`, `result`, `timeout`, `instructions`, `memory`, `crash`, `no_route`; else `\"\"`.", stringShape},
	Member{"logs", "What the handler logged.", listOf(logShape)},
	Member{"at", "When the handler was called, from the start of the test.", durationShape},
	Member{"elapsed", "How long the handler took by the test's clock; more than `0s` only by the fault `slow`.", durationShape},
)

var letterShape = object(
	Member{"reason", "`failed`, `invalid`, `too_large`, `rejected`, `expired` or `body_missing`.", &Shape{Kind: KindString, Words: []string{"failed", "invalid", "too_large", "rejected", "expired", "body_missing"}}},
	Member{"error", "What went wrong, or the handler's word.", stringShape},
	Member{"stream", "Stream of the entry, by its name on the server.", stringShape},
	Member{"id", "Id of the entry.", stringShape},
	Member{"group", "Group that gave it up, by its name on the server.", stringShape},
	Member{"subscription", "Label of the subscription.", stringShape},
	Member{"consumer", "Who had it last.", stringShape},
	Member{"attempts", "How many attempts there were.", numberShape},
)

var entryShape = object(
	Member{"id", "Its id.", stringShape},
	Member{"value", "The decoded body; null where it cannot be decoded. A dead letter's is that of its entry.", bodyShape},
	Member{"headers", "Its headers; of one that repeats, the first.", textsShape},
	Member{"key", "Its partition key, `\"\"` without one.", stringShape},
	Member{"dead_letter", "What a dead letter says of its entry; null for other entries.", letterShape},
)

var pendingShape = object(
	Member{"id", "Id of the entry.", stringShape},
	Member{"consumer", "Who has it, by the name on the server.", stringShape},
	Member{"deliveries", "How often it was delivered, this time included, as XPENDING counts.", numberShape},
	Member{"idle", "How long it has been untouched.", durationShape},
)

// Roots are all that asserts can read, in the order of the reference.
var Roots = []Root{
	{"subscription", "What a subscription has done since the test began. A disabled one has done nothing.", object(
		Member{"outcomes", "The outcomes of its calls, in order.", listOf(outcomeShape)},
		Member{"calls", "Its deliveries, in the order in which they were made.", listOf(callShape)},
	)},
	{"stream", "What is in a stream now.", object(
		Member{"values", "The bodies of its entries, in order.", listOf(bodyShape)},
		Member{"entries", "Its entries, in order.", listOf(entryShape)},
	)},
	{"group", "What a group has pending now, and what it gave up.", object(
		Member{"pending", "Its pending entries, by id.", listOf(pendingShape)},
		Member{"dead_letters", "The dead letters that it sent, wherever they went.", listOf(entryShape)},
	)},
}

// IsRoot reports whether a name is a kind of block whose state can be read.
func IsRoot(name string) bool { return rootOf(name) != nil }

func rootOf(name string) *Root {
	for i := range Roots {
		if Roots[i].Name == name {
			return &Roots[i]
		}
	}
	return nil
}

// field is the shape of a member, nil when there is none of that name.
func (s *Shape) field(name string) *Shape {
	for _, f := range s.Fields {
		if f.Name == name {
			return f.Shape
		}
	}
	return nil
}

func (s *Shape) fieldNames() []string {
	names := make([]string, len(s.Fields))
	for i, f := range s.Fields {
		names[i] = f.Name
	}
	return names
}
