package eval

import "slices"

// FormDoc documents one form of writing: a type, a unit, a root or an operator
// of expressions over entries.
type FormDoc struct {
	// Form is how it is written.
	Form string `json:"form"`
	Doc  string `json:"doc"`
}

// TypeDocs document the types, in the order of their complexity.
func TypeDocs() []FormDoc { return slices.Clone(typeDocs) }

var typeDocs = []FormDoc{
	{"string", "A text."},
	{"number", "A number. Integers keep every digit, whatever their size."},
	{"bool", "`true` or `false`."},
	{"any", "Any value."},
	{"list(T)", "A list whose elements are of the type T."},
	{"map(T)", "An object with any members, all of the type T."},
	{"object({ name = T, … })", "An object with these members, each of its own type."},
	{"optional(T)", "Within `object` only: the member may be missing, and is then null."},
	{"optional(T, default)", "Within `object` only: the member may be missing, and is then the default."},
}

// DurationUnits document the units of durations, the shortest first.
func DurationUnits() []FormDoc { return slices.Clone(durationDocs) }

var durationDocs = []FormDoc{
	{"us", "microseconds"},
	{"ms", "milliseconds"},
	{"s", "seconds"},
	{"m", "minutes"},
	{"h", "hours"},
	{"d", "days of 24 hours"},
	{"w", "weeks of 7 days"},
}

// SizeUnits document the units of sizes, the smallest first.
func SizeUnits() []FormDoc { return slices.Clone(sizeDocs) }

var sizeDocs = []FormDoc{
	{"B", "bytes"},
	{"KiB", "1024 bytes"},
	{"MiB", "1024 KiB"},
	{"GiB", "1024 MiB"},
	{"TiB", "1024 GiB"},
}

// EntryRoots document what an expression over an entry may read.
func EntryRoots() []FormDoc { return slices.Clone(entryRootDocs) }

var entryRootDocs = []FormDoc{
	{"entry", "The body of the entry: `entry.account`, `entry.lines[0].sku`, `entry[\"odd name\"]`. A body of text or bytes has no members."},
	{"headers", "Its headers, by name: `headers[\"correlation-id\"]`. Every one is a string."},
	{"reply", "The body of the reply, in `reply` and `route` blocks only."},
	{"var, local", "Variables and locals. They are put in when the file is read, so sensitive ones are refused."},
}

// EntryForms document the operators of expressions over entries.
func EntryForms() []FormDoc { return slices.Clone(entryFormDocs) }

var entryFormDocs = []FormDoc{
	{"a == b, a != b", "Equality of two strings, numbers or bools. Numbers are equal by value, as 1 and 1.0 are. Anything may be compared with null, which is what a missing member or header is. Two values of different types are an error: when the file is read where the types are declared, for the entry where they are not."},
	{"a < b, a <= b, a > b, a >= b", "Order of two numbers. Anything else, null too, fails for this entry."},
	{"a && b, a || b, !a", "Logic of true and false. The second operand is looked at only when it matters."},
	{"a ? b : c", "One of two values of one type."},
	{"-a", "A number with its sign turned."},
	{"\"text ${a}\"", "A text with values in it. Null is nothing."},
	{"( … )", "Grouping."},
}
