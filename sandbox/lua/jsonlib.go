package lua

import (
	"strings"

	glua "github.com/yuin/gopher-lua"

	"pipeline/engine/value"
)

// openJSON defines json.encode, json.decode, json.array and json.null. They
// follow the rules of bodies and replies.
func (v *vm) openJSON() {
	held := v.library("json", []entry{{"array", v.jsonArray}, {"decode", v.jsonDecode}, {"encode", v.jsonEncode}})
	held.RawSetString("null", v.null)
}

// jsonArray marks a table as an array, so that it is one when it is empty.
func (v *vm) jsonArray(l *glua.LState) int {
	if l.Get(1) == glua.LNil {
		l.Push(&glua.LTable{Metatable: v.arrayMark})
		return 1
	}
	t := v.writable(v.argTable())
	if t.Metatable != glua.LNil && t.Metatable != v.arrayMark {
		v.raise("a table with a metatable cannot be marked as an array")
	}
	t.Metatable = v.arrayMark
	l.Push(t)
	return 1
}

func (v *vm) jsonEncode(l *glua.LState) int {
	body, err := v.fromLua(v.argAny(1))
	if err != nil {
		v.raise("json.encode: %s", err.Error())
	}
	out, err := value.AppendJSON(nil, &body)
	if err != nil {
		v.raise("json.encode: %s", err.Error())
	}
	return v.pushText(string(out))
}

func (v *vm) jsonDecode(l *glua.LState) int {
	text := v.argText(1)
	// Each of these signs stands for one value at most, and every value but
	// the first has one before it.
	values := int64(1)
	for _, sign := range []string{",", ":", "[", "{"} {
		values += int64(strings.Count(text, sign))
	}
	v.use(int64(len(text)/16), values*bytesPerValue)
	body, err := value.ParseJSON(text, &v.arena)
	if err != nil {
		v.raise("json.decode: %s", err.Error())
	}
	out, convertErr := v.toLua(&body)
	if convertErr != nil {
		v.raise("json.decode: %s", convertErr.Error())
	}
	l.Push(out)
	return 1
}
