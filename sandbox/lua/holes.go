package lua

import (
	"reflect"

	glua "github.com/yuin/gopher-lua"
)

// holesPerInstruction is how many empty places of a list the engine passes in
// about the time of a few instructions.
const holesPerInstruction = 64

// pass charges for empty places of a list that the engine has looked at.
func (v *vm) pass(holes int) {
	if holes >= holesPerInstruction {
		v.use(int64(holes/holesPerInstruction), 0)
	}
}

// passed is how many empty places of t's array lie between two keys that
// follow each other for next; from is nil at the beginning, to at the end.
func passed(t *glua.LTable, from, to glua.LValue) int {
	start := glua.LNumber(0)
	if from != glua.LNil {
		n, ok := from.(glua.LNumber)
		if !ok {
			return 0
		}
		start = n
	}
	end, ok := to.(glua.LNumber)
	if ok && end-start <= holesPerInstruction {
		return 0 // not worth the look
	}
	room := glua.LNumber(arrayRoom(t))
	if !ok || end > room {
		end = room + 1
	}
	return int(max(end-start-1, 0))
}

// arrayField is where the engine keeps the array of a table.
var arrayField = func() []int {
	f, ok := reflect.TypeFor[glua.LTable]().FieldByName("array")
	if !ok || f.Type.Kind() != reflect.Slice {
		panic("gopher-lua keeps lists in another way: see to arrayRoom")
	}
	return f.Index
}()

// arrayRoom is how long the array of a table is, its empty places included. The
// engine tells nobody.
func arrayRoom(t *glua.LTable) int {
	return reflect.ValueOf(t).Elem().FieldByIndex(arrayField).Len()
}
