package wat

// The format's numbers, written here anew: a test must not lean on what it
// tests.
const (
	typeI32, typeI64, typeF32, typeF64 byte = 0x7f, 0x7e, 0x7d, 0x7c
	typeFuncRef, typeExternRef         byte = 0x70, 0x6f
	kindFunc, kindMemory               byte = 0, 2
	opEnd                              byte = 0x0b
)

// Sections by their numbers.
const (
	SectionCustom byte = iota
	SectionType
	SectionImport
	SectionFunction
	SectionTable
	SectionMemory
	SectionGlobal
	SectionExport
	SectionStart
	SectionElement
	SectionCode
	SectionData
	SectionDataCount
)

// U32 appends an unsigned LEB128 number.
func U32(dst []byte, v uint32) []byte {
	for ; v >= 0x80; v >>= 7 {
		dst = append(dst, byte(v)|0x80)
	}
	return append(dst, byte(v))
}

// S64 appends a signed LEB128 number.
func S64(dst []byte, v int64) []byte {
	for {
		c := byte(v & 0x7f)
		v >>= 7
		if v == 0 && c&0x40 == 0 || v == -1 && c&0x40 != 0 {
			return append(dst, c)
		}
		dst = append(dst, c|0x80)
	}
}

// Text appends a text with its length before it.
func Text(dst []byte, s string) []byte { return append(U32(dst, uint32(len(s))), s...) }
