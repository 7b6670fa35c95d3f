package binary

// Scanner reads the instructions of a body one by one.
type Scanner struct {
	m       *Module
	r       *reader
	targets []uint32
}

// Scan returns a scanner of a body that Parse has passed.
func (m *Module) Scan(b *Body) *Scanner { return &Scanner{m: m, r: &reader{b: b.Code}} }

// Next returns the next instruction; it reports false at the end.
func (s *Scanner) Next() (in Instruction, ok bool) {
	if !s.r.more() {
		return in, false
	}
	in.Start = s.r.i
	in.Op = s.r.byte()
	s.immediates(&in)
	in.End = s.r.i
	return in, s.r.ok()
}

func (s *Scanner) immediates(in *Instruction) {
	r, op := s.r, in.Op
	switch {
	case op >= opNumeric && op <= opNumericLast:
	case op >= opLocalGet && op <= opLocalTee, op == OpBr, op == OpBrIf:
		in.Index = r.u32()
	case op == OpBlock, op == OpLoop, op == OpIf:
		s.blockType()
	case op == OpUnreachable, op == opNop, op == OpElse, op == opEnd, op == OpReturn, op == opDrop, op == opSelect, op == opRefIsNull:
	case op >= opLoad && op <= opStoreLast:
		s.memory()
		r.u32() // alignment
		r.u32() // offset
	case op == opI32Const:
		r.signed(32)
	case op == opI64Const:
		r.signed(64)
	case op == opF32Const:
		r.take(4)
	case op == opF64Const:
		r.take(8)
	case op == opGlobalGet, op == opGlobalSet:
		in.Index = r.index(len(s.m.Globals), "global")
	case op == OpCall, op == OpRefFunc:
		in.Index = r.index(int(s.m.functions()), "function")
	case op == OpCallIndirect:
		r.index(len(s.m.Types), "type")
		r.index(len(s.m.Tables), "table")
	case op == OpBrTable:
		in.Targets = s.labels()
	default:
		s.rare(in)
	}
}

// rare reads the instructions that few functions have.
func (s *Scanner) rare(in *Instruction) {
	r := s.r
	switch in.Op {
	case opMemorySize, OpMemoryGrow:
		s.memory()
		if r.byte() != 0 {
			r.broken("it names a memory that it does not have")
		}
	case opTableGet, opTableSet:
		r.index(len(s.m.Tables), "table")
	case opSelectTyped:
		if r.u32() != 1 && r.ok() {
			r.broken("a select has other than one type")
		}
		r.checkType(r.byte())
	case opRefNull:
		r.refType()
	case OpMore:
		in.More = r.u32()
		s.more(in.More)
	case opVector:
		r.vectors()
	case opAtomic:
		r.fail(refuse("build it without threads", "the module uses atomic instructions, which handlers cannot"))
	case opReturnCall, opReturnCallIn:
		r.fail(refuse("build it without the target feature tail-call", "the module uses tail calls, which handlers cannot"))
	default:
		r.broken("there is an instruction that is not of WebAssembly 2.0")
	}
}

func (s *Scanner) more(op uint32) {
	r := s.r
	switch op {
	case 0, 1, 2, 3, 4, 5, 6, 7: // conversions that saturate
	case MoreMemoryInit:
		s.memory()
		s.segment()
		r.byte()
	case moreDataDrop:
		s.segment()
	case MoreMemoryCopy:
		s.memory()
		r.take(2)
	case MoreMemoryFill:
		s.memory()
		r.byte()
	case MoreTableInit:
		r.index(len(s.m.Elements), "segment")
		r.index(len(s.m.Tables), "table")
	case moreElemDrop:
		r.index(len(s.m.Elements), "segment")
	case MoreTableCopy:
		r.index(len(s.m.Tables), "table")
		r.index(len(s.m.Tables), "table")
	case moreTableGrow:
		r.fail(refuse("give the table its size when the module is built", "the module grows a table (table.grow), which handlers cannot"))
	case moreTableSize, MoreTableFill:
		r.index(len(s.m.Tables), "table")
	default:
		r.broken("there is an instruction that is not of WebAssembly 2.0")
	}
}

func (s *Scanner) memory() {
	if s.m.memories == 0 {
		s.r.fail(refuse("build it with a memory of its own that it exports as `memory`", "the module has no memory"))
	}
}

func (s *Scanner) segment() {
	n := s.r.u32()
	if s.r.ok() && (!s.m.hasCount || n >= s.m.dataCount) {
		s.r.broken("it names a segment that it does not have")
	}
}

func (s *Scanner) blockType() {
	r := s.r
	if r.i < len(r.b) {
		switch t := r.b[r.i]; {
		case t == empty:
			r.i++
			return
		case t&0xc0 == 0x40: // a negative number: a type of a value
			r.checkType(r.byte())
			return
		}
	}
	if n := r.signed(33); r.ok() && (n < 0 || n >= int64(len(s.m.Types))) {
		r.broken("it names a type that it does not have")
	}
}

func (s *Scanner) labels() []uint32 {
	n := s.r.u32()
	if s.r.ok() && n > MaxTargets {
		s.r.fail(refuse("split the switch", "a jump table (br_table) has %d targets; it may have %d", n, MaxTargets))
	}
	s.targets = s.targets[:0]
	for i := uint32(0); s.r.ok() && i <= n; i++ {
		s.targets = append(s.targets, s.r.u32())
	}
	return s.targets
}
