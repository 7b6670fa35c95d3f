//go:build wasip1

package main

import (
	"strconv"
	"unsafe"
)

// This file is the interface "pipeline 1" for handlers in Go. Put it beside
// yours, export handlers as payments.go does, and build with ./build.sh.

// What the host offers. hostLog needs `grant "log" {}` in the pipeline file.
//
//go:wasmimport pipeline now
func hostNow() int64

// nowMillis is the time of the delivery; it stands still during a call.
func nowMillis() int64 { return hostNow() }

// Results that are a code alone.
const (
	ack uint64 = iota
	retry
	dead
	drop
)

// The buffers stay alive, and where they are, because these hold them.
var input, output []byte

//go:wasmexport pipeline_abi_1
func marker() {}

// alloc makes the input buffer.
//
//go:wasmexport pipeline_alloc
func alloc(size uint32) uint32 {
	input = make([]byte, size)
	return uint32(uintptr(unsafe.Pointer(unsafe.SliceData(input))))
}

// entry is the input of a call, which is n bytes long.
func entry(n uint32) string { return unsafe.String(unsafe.SliceData(input), n) }

// result is what a handler returns for a text: {"action": …}.
func result(json []byte) uint64 {
	output = json
	return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(output))))<<32 | uint64(len(output))
}

// reply begins a result with one reply; its body is appended, and then
// replyEnd.
func reply() []byte { return append(output[:0], `{"action":"reply","replies":[{"body":`...) }

const replyEnd = "}]}"

// number reads a JSON number as a float.
func number(json string) float64 {
	f, err := strconv.ParseFloat(json, 64)
	if err != nil {
		panic("not a number: " + json)
	}
	return f
}

// member is the member of a JSON object as it is written: a string has its
// quotes, a number all its digits. Names with escapes are not found.
func member(object, name string) string {
	i := space(object, 0)
	if i == len(object) || object[i] != '{' {
		panic("no object to find " + name + " in")
	}
	i = space(object, i+1)
	for i < len(object) && object[i] == '"' {
		key := i + 1
		i = skipString(object, i)
		found := object[key:max(key, i-1)] == name
		from := space(object, space(object, i)+1)
		i = skip(object, from)
		if found {
			return object[from:i]
		}
		if i = space(object, i); i < len(object) && object[i] == ',' {
			i = space(object, i+1)
		}
	}
	panic("the entry has no member " + name)
}

func space(s string, i int) int {
	for i < len(s) && (s[i] == ' ' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r') {
		i++
	}
	return min(i, len(s))
}

func skipString(s string, i int) int {
	for i++; i < len(s) && s[i] != '"'; i++ {
		if s[i] == '\\' {
			i++
		}
	}
	return min(i+1, len(s))
}

// skip is the end of the value at i.
func skip(s string, i int) int {
	for depth := 0; i < len(s); i = space(s, i) {
		switch c := s[i]; {
		case c == '"':
			i = skipString(s, i)
		case c == '{' || c == '[':
			depth++
			i++
		case c == '}' || c == ']':
			depth--
			i++
		case depth > 0 && (c == ',' || c == ':'):
			i++
		default:
			for i < len(s) && s[i] != ',' && s[i] != '}' && s[i] != ']' && s[i] > ' ' {
				i++
			}
		}
		if depth <= 0 {
			break
		}
	}
	return i
}
