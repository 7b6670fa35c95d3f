package binary

// Flags of an element segment.
const (
	elementPassive  = 1 // or declared, with elementExplicit
	elementExplicit = 2
	elementExprs    = 4
)

func (m *Module) elements(r *reader) {
	m.Elements = make([]Element, 0, r.count(MaxSegments, "segments of tables"))
	for range cap(m.Elements) {
		e := Element{Flags: r.u32(), Type: FuncRef}
		if r.ok() && e.Flags > 7 {
			r.broken("there is no such kind of a segment")
		}
		at := m.elementHead(&e, r)
		n := r.count(MaxTable, "elements in one segment")
		if r.ok() && e.Flags&elementPassive == 0 && uint64(at)+uint64(n) > uint64(m.Tables[e.Table].Min) {
			r.fail(refuse("build it again", "the module fills table %d beyond its %d elements", e.Table, m.Tables[e.Table].Min))
		}
		for range n {
			if e.Flags&elementExprs != 0 {
				e.Exprs = append(e.Exprs, m.constant(r))
			} else {
				e.Functions = append(e.Functions, r.index(int(m.functions()), "function"))
			}
			if !r.ok() {
				return
			}
		}
		m.Elements = append(m.Elements, e)
	}
}

// elementHead reads what stands before the elements themselves, and returns
// where in its table an active segment begins.
func (m *Module) elementHead(e *Element, r *reader) (at uint32) {
	if e.Flags&elementPassive == 0 {
		if e.Flags&elementExplicit != 0 {
			e.Table = r.index(len(m.Tables), "table")
		} else if len(m.Tables) == 0 {
			r.broken("it fills a table that it does not have")
		}
		e.Offset, at = m.offset(r)
	}
	if e.Flags&(elementPassive|elementExplicit) == 0 {
		return at
	}
	if e.Flags&elementExprs != 0 {
		e.Type = r.refType()
	} else if r.byte() != 0 {
		r.broken("there is no such kind of an element")
	}
	return at
}

// AppendElement appends a segment. function gives each function its new index
// and constant each constant expression its new form.
func AppendElement(dst []byte, e *Element, function func(uint32) uint32, constant func([]byte) []byte) []byte {
	dst = AppendU32(dst, e.Flags)
	if e.Flags&elementPassive == 0 {
		if e.Flags&elementExplicit != 0 {
			dst = AppendU32(dst, e.Table)
		}
		dst = append(dst, constant(e.Offset)...)
	}
	if e.Flags&(elementPassive|elementExplicit) != 0 {
		if e.Flags&elementExprs != 0 {
			dst = append(dst, e.Type)
		} else {
			dst = append(dst, 0)
		}
	}
	if e.Flags&elementExprs != 0 {
		dst = AppendU32(dst, uint32(len(e.Exprs)))
		for _, x := range e.Exprs {
			dst = append(dst, constant(x)...)
		}
		return dst
	}
	dst = AppendU32(dst, uint32(len(e.Functions)))
	for _, f := range e.Functions {
		dst = AppendU32(dst, function(f))
	}
	return dst
}

// MapConstant is a constant expression in which functions have new indices.
func MapConstant(expr []byte, function func(uint32) uint32) []byte {
	if len(expr) == 0 || expr[0] != OpRefFunc {
		return expr
	}
	r := &reader{b: expr, i: 1}
	return append(AppendU32([]byte{OpRefFunc}, function(r.u32())), opEnd)
}

func (m *Module) data(r *reader) {
	n := r.count(MaxSegments, "segments of data")
	m.segments = uint32(n)
	for range n {
		flags := r.u32()
		if r.ok() && flags > 2 {
			r.broken("there is no such kind of a segment")
		}
		if flags == 2 {
			r.index(m.memories, "memory")
		}
		at, active := uint32(0), flags != 1
		if active {
			_, at = m.offset(r)
		}
		size := r.u32()
		r.take(size)
		if r.ok() && active && uint64(at)+uint64(size) > uint64(m.Memory.Min)*PageSize {
			r.fail(refuse("build it again, with more memory to start with", "the module has data beyond the %d KiB of memory that it starts with", m.Memory.Min*(PageSize>>10)))
		}
		if !r.ok() {
			return
		}
	}
}

// custom reads the names of functions, which messages use. Anything wrong with
// them is nobody's problem.
func (m *Module) custom(r *reader) {
	if r.name() != "name" {
		return
	}
	for r.more() {
		id := r.byte()
		part := r.part(r.u32())
		if id != 1 {
			continue
		}
		for range part.u32() {
			index, name := part.u32(), part.name()
			if !part.ok() || len(m.names) > MaxFunctions {
				return
			}
			m.names[index] = name
		}
	}
}
