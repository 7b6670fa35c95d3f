package redis

import (
	"strconv"
	"sync"
	"unsafe"

	"pipeline/engine/broker"
)

// args builds the arguments of the commands of one call. Strings go in by
// pointer and numbers as parts of one buffer, so that thousands of arguments
// cost a handful of allocations: a string in an interface is an allocation, a
// pointer is none. What a pointer refers to must not change until the command
// has ended.
//
// Growing the lists moves them and leaves what was built before where it was,
// still valid, because nothing written is ever changed before release.
type args struct {
	list  []any
	words []string
	text  []byte
	// array is where in text the array that is being packed begins, elements how
	// many it has; none is being packed while that is 0.
	array, elements int
}

var argsPool = sync.Pool{New: func() any { return new(args) }}

func newArgs() *args { return argsPool.Get().(*args) }

// ownArgs returns one for a few words that is nobody else's afterwards: whoever gave
// up waiting for the command may be gone before it has ended. See together.
func ownArgs() *args {
	return &args{list: make([]any, 0, 12), words: make([]string, 0, 12), text: make([]byte, 0, 96)}
}

// maxKept bounds what an idle args keeps in memory.
const maxKept = 1 << 16

// release gives the lists to the next call. Every command built from them must
// have ended.
func (a *args) release() {
	if cap(a.list) > maxKept || cap(a.text) > maxKept<<4 {
		return
	}
	clear(a.list)
	clear(a.words)
	a.list, a.words, a.text, a.elements = a.list[:0], a.words[:0], a.text[:0], 0
	argsPool.Put(a)
}

// mark is where a command begins; since is what has been added after it.
func (a *args) mark() int { return len(a.list) }

func (a *args) since(mark int) []any { return a.list[mark:len(a.list):len(a.list)] }

// add appends a constant, which costs nothing, or a few strings.
func (a *args) add(words ...string) {
	for i := range words {
		a.word(words[i])
	}
}

// word appends a string.
func (a *args) word(s string) {
	if len(a.words) == cap(a.words) {
		a.words = make([]string, 0, max(64, 2*cap(a.words)))
	}
	a.words = append(a.words, s)
	a.ref(&a.words[len(a.words)-1])
}

// ref appends a string that stays where it is.
func (a *args) ref(s *string) {
	a.list = append(a.list, s)
}

// int appends a number.
func (a *args) int(n int64) {
	start := len(a.text)
	a.text = strconv.AppendInt(a.text, n, 10)
	a.word(a.tail(start))
}

// id appends an entry id.
func (a *args) id(id broker.ID) {
	start := len(a.text)
	a.text = id.Append(a.text)
	a.word(a.tail(start))
}

// flag appends 1 or 0.
func (a *args) flag(b bool) {
	if b {
		a.word("1")
	} else {
		a.word("0")
	}
}

// tail is the text from start on, as a string that shares its bytes.
func (a *args) tail(start int) string {
	return unsafe.String(&a.text[start], len(a.text)-start)
}

// fields appends names and values.
func (a *args) fields(fields []broker.Field) {
	for i := range fields {
		a.ref(&fields[i].Name)
		a.ref(&fields[i].Value)
	}
}
