package fuel

import "pipeline/sandbox/wasm/internal/binary"

// Instructions that are written here.
const (
	opLocalGet      = 0x20
	opLocalSet      = 0x21
	opLocalTee      = 0x22
	opGlobalGet     = 0x23
	opGlobalSet     = 0x24
	opI32Const      = 0x41
	opI64Const      = 0x42
	opI64LtS        = 0x53
	opI32GtU        = 0x4b
	opI32Add        = 0x6a
	opI32Sub        = 0x6b
	opI64Sub        = 0x7d
	opI64ShrU       = 0x88
	opI64ExtendI32U = 0xad
	blockEmpty      = 0x40
)

// code is the section of all bodies.
func (w *rewriter) code() []byte {
	if len(w.m.Bodies) == 0 {
		return nil
	}
	out := binary.AppendU32(nil, uint32(len(w.m.Bodies)))
	var body []byte
	for i := range w.m.Bodies {
		f := function{w: w, b: &w.m.Bodies[i], t: w.m.Types[w.m.Functions[i]]}
		body = f.rewrite(body[:0])
		out = append(binary.AppendU32(out, uint32(len(body))), body...)
	}
	return out
}

// function rewrites one body.
//
// The counter is a global, and a global is memory. A function with loops keeps
// it in a local of its own, which the compiler can keep in a register, and
// writes it back where other code can see it: around calls and at its end.
type function struct {
	w   *rewriter
	b   *binary.Body
	t   binary.FuncType
	out []byte
	// labels are the open blocks of the original, the body first: how many
	// blocks are open around what a branch to them leads to.
	labels []uint32
	// open is how many blocks are open now, those that are added among them.
	open uint32
	// around is how many blocks were put around each of the open ones but the
	// body.
	around []uint32
	// counted functions keep account of their stack; local ones have the
	// counter in a local. Both have the body in a block, so that every way out
	// leads to its end.
	counted, local bool
	// scratch and counter are the locals that are added.
	scratch, counter uint32
}

func (f *function) rewrite(dst []byte) []byte {
	f.out = dst
	f.counted, f.local = f.b.Calls > 0, f.b.Loops > 0
	f.locals()
	points := plan(f.w.m, f.b)
	f.enter(&points[0])
	points = points[1:]
	s := f.w.m.Scan(f.b)
	f.labels = append(f.labels, f.open)
	f.open++
	for in, ok := s.Next(); ok; in, ok = s.Next() {
		if len(f.labels) == 1 && in.Op == binary.OpEnd {
			break // the end of the function is written by leave
		}
		f.instruction(&in)
		for len(points) > 0 && points[0].at <= in.End {
			f.point(&points[0])
			points = points[1:]
		}
	}
	f.leave()
	return f.out
}

func (f *function) op(ops ...byte) { f.out = append(f.out, ops...) }

func (f *function) with(op byte, index uint32) {
	f.out = binary.AppendU32(append(f.out, op), index)
}

func (f *function) i32(v uint32) {
	f.out = binary.AppendS64(append(f.out, opI32Const), int64(int32(v)))
}
func (f *function) i64(v int64) { f.out = binary.AppendS64(append(f.out, opI64Const), v) }

// wrapped: the body is in a block.
func (f *function) wrapped() bool { return f.counted || f.local }

// locals writes the declarations, those that are added after the others.
func (f *function) locals() {
	groups, next := f.b.Groups, f.b.Count
	if f.b.Bulk > 0 {
		f.scratch = next
		groups, next = groups+1, next+1
	}
	if f.local {
		f.counter = next
		groups++
	}
	f.out = binary.AppendU32(f.out, groups)
	f.op(f.b.Locals...)
	if f.b.Bulk > 0 {
		f.op(1, binary.I32)
	}
	if f.local {
		f.op(1, binary.I64)
	}
}

// get and set are the counter as the function has it.
func (f *function) get() {
	if f.local {
		f.with(opLocalGet, f.counter)
		return
	}
	f.with(opGlobalGet, f.w.fuel)
}

func (f *function) set() {
	if f.local {
		f.with(opLocalSet, f.counter)
		return
	}
	f.with(opGlobalSet, f.w.fuel)
}

// save writes a local counter back; load reads it again.
func (f *function) save() {
	if f.local {
		f.with(opLocalGet, f.counter)
		f.with(opGlobalSet, f.w.fuel)
	}
}

func (f *function) load() {
	if f.local {
		f.with(opGlobalGet, f.w.fuel)
		f.with(opLocalSet, f.counter)
	}
}

// point takes the fuel of a stretch.
func (f *function) point(p *point) {
	if p.cost > 0 {
		f.get()
		f.i64(int64(p.cost))
		f.op(opI64Sub)
		f.set()
	}
	if p.look {
		f.look()
	}
}

// loop writes the head of a loop, with another loop around it in which the
// counter is looked at. A call in the loop itself would keep the compiler from
// holding anything in registers; so when the fuel is used up the loop is left
// for the outer one, which calls the host and goes on with what the loop was
// given:
//
//	block                 where the loop goes when it is done
//	  loop
//	    look
//	    block             where it goes when the fuel is used up
//	      loop
//	        counter < 0, br_if to the end of the inner block
//	        the body
//	      br to the end of the outer block
//	    br to the outer loop
//
// A loop that is given values, which few compilers write, has to give them back
// to the outer one; it does without the blocks.
func (f *function) loop(in *binary.Instruction) {
	head := f.b.Code[in.Start:in.End]
	plain := head[1]&0xc0 == blockEmpty // a type of a value, or none
	if plain {
		f.op(binary.OpBlock)
		f.op(head[1:]...)
	}
	f.op(head...)
	f.look()
	if plain {
		f.op(binary.OpBlock, blockEmpty)
	}
	f.op(head...)
	f.get()
	f.i64(0)
	f.op(opI64LtS)
	f.with(binary.OpBrIf, 1)
	around := uint32(1)
	if plain {
		around = 3
	}
	f.labels = append(f.labels, f.open+around)
	f.open += around + 1
	f.around = append(f.around, around)
}

// end ends a block, and what was put around a loop.
func (f *function) end() {
	f.labels = f.labels[:len(f.labels)-1]
	around := f.around[len(f.around)-1]
	f.around = f.around[:len(f.around)-1]
	f.open -= around + 1
	f.op(binary.OpEnd)
	switch around {
	case 1:
		f.op(binary.OpEnd)
	case 3:
		f.with(binary.OpBr, 2)
		f.op(binary.OpEnd)
		f.with(binary.OpBr, 0)
		f.op(binary.OpEnd, binary.OpEnd)
	}
}

// label is what leads to a block of the original from here.
func (f *function) label(old uint32) uint32 {
	if int(old) >= len(f.labels) {
		return old + f.open // there is none: the compiler will say so
	}
	return f.open - 1 - f.labels[len(f.labels)-1-int(old)]
}

// look calls the host when the counter is below zero. What the host gives is
// in the global, too: it has to be near the truth when the function traps.
func (f *function) look() {
	f.get()
	f.i64(0)
	f.op(opI64LtS, binary.OpIf, blockEmpty)
	f.get()
	f.with(binary.OpCall, f.w.host+refuel)
	if f.local {
		f.with(opLocalTee, f.counter)
	}
	f.with(opGlobalSet, f.w.fuel)
	f.op(binary.OpEnd)
}

// frame is about how much stack a call of the function takes.
func (f *function) frame() uint32 {
	return frameBase + frameLocal*f.b.Count + frameInstruction*f.b.Instructions
}

// enter takes the fuel of the first stretch and the function's stack.
func (f *function) enter(first *point) {
	f.load()
	f.point(first)
	if f.counted {
		f.with(opGlobalGet, f.w.depth)
		f.i32(f.frame())
		f.op(opI32Add)
		f.with(opGlobalSet, f.w.depth)
		f.with(opGlobalGet, f.w.depth)
		f.i32(MaxStack)
		f.op(opI32GtU, binary.OpIf, blockEmpty)
		f.with(binary.OpCall, f.w.host+deep)
		f.op(binary.OpEnd)
	}
	if !f.wrapped() {
		return
	}
	f.op(binary.OpBlock)
	switch len(f.t.Results) {
	case 0:
		f.op(blockEmpty)
	case 1:
		f.op(f.t.Results[0])
	default:
		f.out = binary.AppendS64(f.out, int64(f.w.blockType(f.t.Results)))
	}
}

// blockType is the type of a block with several results.
func (w *rewriter) blockType(results []byte) uint32 {
	t, ok := w.results[string(results)]
	if !ok {
		t = w.addType(binary.FuncType{Results: results})
		w.results[string(results)] = t
	}
	return t
}

// leave ends the function, giving back what it has taken.
func (f *function) leave() {
	if f.wrapped() {
		f.op(binary.OpEnd)
	}
	f.save()
	if f.counted {
		f.with(opGlobalGet, f.w.depth)
		f.i32(f.frame())
		f.op(opI32Sub)
		f.with(opGlobalSet, f.w.depth)
	}
	f.op(binary.OpEnd)
}

// instruction writes one instruction of the original, or what stands for it.
func (f *function) instruction(in *binary.Instruction) {
	switch in.Op {
	case binary.OpBlock, binary.OpIf:
		f.labels = append(f.labels, f.open)
		f.around = append(f.around, 0)
		f.open++
	case binary.OpLoop:
		f.loop(in)
		return
	case binary.OpEnd:
		f.end()
		return
	case binary.OpBr, binary.OpBrIf:
		f.with(in.Op, f.label(in.Index))
		return
	case binary.OpBrTable:
		f.table(in)
		return
	case binary.OpReturn:
		if f.wrapped() {
			f.with(binary.OpBr, f.label(uint32(len(f.labels))-1))
			return
		}
	default:
		if f.call(in) {
			return
		}
	}
	f.op(f.b.Code[in.Start:in.End]...)
}

// table writes a br_table.
func (f *function) table(in *binary.Instruction) {
	f.out = binary.AppendU32(append(f.out, in.Op), uint32(len(in.Targets))-1)
	for _, t := range in.Targets {
		f.out = binary.AppendU32(f.out, f.label(t))
	}
}

// call writes what names functions or becomes a call. It reports whether the
// instruction is written.
func (f *function) call(in *binary.Instruction) bool {
	switch in.Op {
	case binary.OpRefFunc:
		f.with(in.Op, f.w.function(in.Index))
		return true
	case binary.OpCall:
		if in.Index < f.w.host { // the host does not see the counter
			f.with(in.Op, in.Index)
			return true
		}
		f.save()
		f.with(in.Op, f.w.function(in.Index))
		f.load()
		return true
	case binary.OpCallIndirect:
		f.save()
		f.op(f.b.Code[in.Start:in.End]...)
		f.load()
		return true
	case binary.OpMemoryGrow:
		f.with(binary.OpCall, f.w.host+grow)
		return true
	case binary.OpMore:
		if in.Bulk() {
			f.bulk(in)
		}
	}
	return false
}

// bulk takes the fuel for as many bytes or elements as the operand on top of
// the stack says.
func (f *function) bulk(in *binary.Instruction) {
	shift := int64(BulkShift)
	if in.More == binary.MoreTableInit || in.More == binary.MoreTableCopy || in.More == binary.MoreTableFill {
		shift = 0
	}
	f.with(opLocalTee, f.scratch)
	f.get()
	f.with(opLocalGet, f.scratch)
	f.op(opI64ExtendI32U)
	f.i64(shift)
	f.op(opI64ShrU, opI64Sub)
	f.set()
	f.look()
}
