package binary

// The instructions that are looked at one by one.
const (
	OpUnreachable  byte = 0x00
	OpBlock        byte = 0x02
	OpLoop         byte = 0x03
	OpIf           byte = 0x04
	OpElse         byte = 0x05
	OpEnd          byte = 0x0b
	OpBr           byte = 0x0c
	OpBrIf         byte = 0x0d
	OpBrTable      byte = 0x0e
	OpReturn       byte = 0x0f
	OpCall         byte = 0x10
	OpCallIndirect byte = 0x11
	OpRefFunc      byte = 0xd2
	OpMemoryGrow   byte = 0x40
	OpMore         byte = 0xfc

	opEnd          = OpEnd
	opNop          = 0x01
	opReturnCall   = 0x12
	opReturnCallIn = 0x13
	opDrop         = 0x1a
	opSelect       = 0x1b
	opSelectTyped  = 0x1c
	opLocalGet     = 0x20
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableGet     = 0x25
	opTableSet     = 0x26
	opLoad         = 0x28
	opStoreLast    = 0x3e
	opMemorySize   = 0x3f
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opNumeric      = 0x45
	opNumericLast  = 0xc4
	opRefNull      = 0xd0
	opRefIsNull    = 0xd1
	opVector       = 0xfd
	opAtomic       = 0xfe
)

// Instructions that begin with OpMore.
const (
	MoreMemoryInit uint32 = 8
	moreDataDrop   uint32 = 9
	MoreMemoryCopy uint32 = 10
	MoreMemoryFill uint32 = 11
	MoreTableInit  uint32 = 12
	moreElemDrop   uint32 = 13
	MoreTableCopy  uint32 = 14
	moreTableGrow  uint32 = 15
	moreTableSize  uint32 = 16
	MoreTableFill  uint32 = 17
)

// Instruction is one instruction of a body.
type Instruction struct {
	// Start and End are where it stands in the body's code.
	Start, End int
	Op         byte
	// More is the second number of an instruction that begins with OpMore.
	More uint32
	// Index is the immediate of a call or a reference to a function, or the
	// label of a branch.
	Index uint32
	// Targets are the labels of a br_table, the default last. They are valid
	// until the next instruction is read.
	Targets []uint32
}

// Bulk reports whether it works on as many bytes or elements as an operand
// says, which is then on top of the stack.
func (in *Instruction) Bulk() bool {
	if in.Op != OpMore {
		return false
	}
	switch in.More {
	case MoreMemoryInit, MoreMemoryCopy, MoreMemoryFill, MoreTableInit, MoreTableCopy, MoreTableFill:
		return true
	}
	return false
}
