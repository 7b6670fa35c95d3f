package spec

// Expr is an expression over one entry, as data. It is compiled once to an
// accessor and never evaluated by HCL.
type Expr interface{ expr() }

// Root is what a Path starts from.
type Root string

// The roots.
const (
	// RootEntry is the entry's decoded body.
	RootEntry Root = "entry"
	// RootHeaders is the entry's headers; a path into it has one name step.
	RootHeaders Root = "headers"
	// RootReply is the reply's body, in reply and route blocks.
	RootReply Root = "reply"
)

// Path reads a value: entry.customer.ids[0]. A missing header reads as null;
// a missing member of a body too, unless its type says that it is there.
type Path struct {
	Root  Root
	Steps []Step
}

// Step is a member name, or an element number when IsIndex.
type Step struct {
	Name    string
	Index   int
	IsIndex bool
}

// Literal is a constant, as JSON.
type Literal struct{ JSON string }

// Op is an operator, as it is written.
type Op string

// The operators. Neg and Not are unary.
const (
	OpEqual        Op = "=="
	OpNotEqual     Op = "!="
	OpLess         Op = "<"
	OpLessEqual    Op = "<="
	OpGreater      Op = ">"
	OpGreaterEqual Op = ">="
	OpAnd          Op = "&&"
	OpOr           Op = "||"
	OpNot          Op = "!"
	OpNeg          Op = "-"
)

// Binary applies an operator to two operands. Numbers are compared exactly,
// whatever their size.
type Binary struct {
	Op          Op
	Left, Right Expr
}

// Unary applies OpNot or OpNeg.
type Unary struct {
	Op      Op
	Operand Expr
}

// Conditional is cond ? then : else.
type Conditional struct{ Cond, Then, Else Expr }

// Template joins its parts as strings.
type Template struct{ Parts []Expr }

func (*Path) expr()        {}
func (*Literal) expr()     {}
func (*Binary) expr()      {}
func (*Unary) expr()       {}
func (*Conditional) expr() {}
func (*Template) expr()    {}
