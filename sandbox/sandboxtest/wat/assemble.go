package wat

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
)

// assemble appends the instructions of a text.
func (w *writer) assemble(dst []byte, text string) []byte {
	words := strings.Fields(text)
	next := func() string {
		if len(words) == 0 {
			panic("an immediate is missing at the end of: " + text)
		}
		word := words[0]
		words = words[1:]
		return word
	}
	for len(words) > 0 {
		name := next()
		op, ok := opcodes[name]
		if !ok {
			panic("no instruction " + name)
		}
		dst = append(dst, op.code...)
		for _, kind := range op.immediates {
			if kind == 'r' { // a list up to a word that is no number
				var labels []string
				for len(words) > 0 && isNumber(words[0]) {
					labels = append(labels, next())
				}
				dst = U32(dst, uint32(len(labels)-1))
				for _, l := range labels {
					dst = U32(dst, uint32(number(l)))
				}
				continue
			}
			if kind == 't' { // the type of a block, or nothing
				if len(words) > 0 && isType(words[0]) {
					dst = append(dst, valueType(next()))
				} else {
					dst = append(dst, 0x40)
				}
				continue
			}
			dst = w.immediate(dst, kind, next)
		}
	}
	return dst
}

// immediate appends one immediate of a kind.
func (w *writer) immediate(dst []byte, kind rune, next func() string) []byte {
	switch kind {
	case 'u':
		return U32(dst, uint32(number(next())))
	case 's':
		return S64(dst, number(next()))
	case 'f':
		return U32(dst, w.function(next()))
	case 'g': // the type of call_indirect, as "i32,i32->i64"
		return U32(dst, w.sig(strings.ReplaceAll(next(), ",", " ")))
	case '0':
		return append(dst, 0)
	case 'm': // the offset of an access of memory; its alignment is one byte
		return U32(append(dst, 0), uint32(number(next())))
	case 'd':
		f, err := strconv.ParseFloat(next(), 64)
		if err != nil {
			panic(err)
		}
		return binary.LittleEndian.AppendUint64(dst, math.Float64bits(f))
	}
	panic("no kind of an immediate " + string(kind))
}

func isNumber(word string) bool {
	_, err := strconv.ParseInt(word, 0, 64)
	return err == nil
}

func isType(word string) bool {
	return word == "i32" || word == "i64" || word == "f32" || word == "f64"
}

func number(word string) int64 {
	n, err := strconv.ParseInt(word, 0, 64)
	if err != nil {
		u, err := strconv.ParseUint(word, 0, 64)
		if err != nil {
			panic(err)
		}
		return int64(u)
	}
	return n
}
