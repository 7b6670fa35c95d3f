package lua

import (
	"fmt"
	"slices"
	"strings"

	glua "github.com/yuin/gopher-lua"

	"pipeline/engine/value"
	"pipeline/sandbox"
)

// convertError is why a value cannot cross between Lua and a reply, with the
// path to the place within it.
type convertError struct{ path, problem string }

func (e *convertError) Error() string {
	if e.path == "" {
		return "it " + e.problem
	}
	return e.path + " " + e.problem
}

func (e *convertError) in(name string) *convertError {
	e.path = value.MemberPath(name, e.path)
	return e
}

// body is the handler's first argument.
func (v *vm) body(d *sandbox.Delivery) (glua.LValue, error) {
	if d.Kind != sandbox.BodyValue {
		return glua.LString(d.Raw), nil
	}
	if d.Body == nil {
		return v.null, nil
	}
	if d.Body.Kind() == value.Object {
		return v.lazyTable(d.Body.Items()), nil
	}
	lv, err := v.toLua(d.Body)
	if err != nil {
		return nil, err
	}
	return lv, nil
}

// toLua builds the Lua value of a value, which is at most value.MaxDepth deep.
func (v *vm) toLua(x *value.Value) (glua.LValue, *convertError) {
	switch x.Kind() {
	case value.Bool:
		return glua.LBool(x.Bool()), nil
	case value.Number:
		return v.number(x.Text()), nil
	case value.String:
		return glua.LString(x.Text()), nil
	case value.Array:
		return v.toList(x.Items())
	case value.Object:
		return v.toTable(x.Items())
	}
	return v.null, nil
}

func (v *vm) toList(items []value.Value) (glua.LValue, *convertError) {
	if len(items) > maxList {
		return nil, &convertError{problem: fmt.Sprintf("is a list of %d items; a script can hold %d", len(items), maxList)}
	}
	v.use(1, bytesPerTable+int64(len(items))*bytesPerElement)
	t := v.l.CreateTable(len(items), 0)
	t.Metatable = v.arrayMark
	for i := range items {
		item, err := v.toLua(&items[i])
		if err != nil {
			err.path = value.IndexPath(i+1, err.path)
			return nil, err
		}
		t.Append(item)
	}
	return t, nil
}

func (v *vm) toTable(members []value.Value) (glua.LValue, *convertError) {
	v.use(1, bytesPerTable+int64(len(members))*bytesPerValue)
	t := v.l.CreateTable(0, len(members))
	if err := v.fillTable(t, members); err != nil {
		return nil, err
	}
	return t, nil
}

func (v *vm) fillTable(t *glua.LTable, members []value.Value) *convertError {
	for i := range members {
		m := &members[i]
		item, err := v.toLua(m)
		if err != nil {
			return err.in(m.Name())
		}
		t.RawSetString(m.Name(), item)
	}
	return nil
}

// fromLua is the value of a Lua value: a snapshot that later changes in the
// script do not reach. Its size is charged, which bounds a table that holds
// another one many times over.
func (v *vm) fromLua(lv glua.LValue) (value.Value, error) {
	out, err := v.fromLuaAt(lv, 0)
	if err != nil {
		return value.Value{}, err
	}
	return out, nil
}

func (v *vm) fromLuaAt(lv glua.LValue, depth int) (value.Value, *convertError) {
	switch x := lv.(type) {
	case glua.LBool:
		return value.NewBool(bool(x)), nil
	case glua.LString:
		return value.NewString(string(x)), nil
	case glua.LNumber:
		out, ok := value.FromFloat(float64(x))
		if !ok {
			return out, &convertError{problem: "is " + numberText(float64(x)) + ", which JSON cannot hold"}
		}
		return out, nil
	case *glua.LTable:
		if depth == value.MaxDepth {
			return value.Value{}, &convertError{problem: fmt.Sprintf("is nested more than %d levels deep, or contains itself", value.MaxDepth)}
		}
		return v.fromTable(x, depth+1)
	case *glua.LUserData:
		if n, ok := x.Value.(*integer); ok {
			return value.NewNumber(n.text), nil
		}
		if x == v.null {
			return value.Value{}, nil
		}
	}
	return value.Value{}, &convertError{problem: fmt.Sprintf("is a %s, which cannot be sent", v.typeName(lv))}
}

// fromTable takes a table whose keys are 1 to n for an array and one whose
// keys are texts for an object.
func (v *vm) fromTable(t *glua.LTable, depth int) (value.Value, *convertError) {
	marked := t.Metatable == v.arrayMark
	t = v.view(t)
	first, _ := t.Next(glua.LNil)
	switch {
	case first == glua.LNil && marked:
		return value.NewArray(nil), nil
	case first == glua.LNil:
		return value.NewObject(nil), nil
	case first.Type() == glua.LTString:
		return v.fromObject(t, depth)
	}
	return v.fromArray(t, depth)
}

func (v *vm) fromArray(t *glua.LTable, depth int) (value.Value, *convertError) {
	start := len(v.scratch)
	defer func() { v.scratch = v.scratch[:start] }()
	for key, item := t.Next(glua.LNil); key != glua.LNil; key, item = t.Next(key) {
		n := len(v.scratch) - start + 1
		if at, ok := key.(glua.LNumber); !ok || at != glua.LNumber(n) {
			return value.Value{}, v.notArray(key, n)
		}
		out, err := v.fromLuaAt(item, depth)
		if err != nil {
			err.path = value.IndexPath(n, err.path)
			return value.Value{}, err
		}
		v.scratch = append(v.scratch, out)
	}
	return value.NewArray(v.take(start)), nil
}

// notArray says why a table is neither an array nor an object: key came where
// item n should be.
func (v *vm) notArray(key glua.LValue, n int) *convertError {
	switch {
	case key.Type() == glua.LTString:
		return &convertError{problem: fmt.Sprintf("has both list items and the key '%s': a table is sent as a list or as an object, not both", v.keyText(key))}
	case v.typeName(key) != "number":
		return &convertError{problem: "has a key that is a " + v.typeName(key) + ": keys are texts, or 1 to n for a list"}
	}
	if at, ok := key.(glua.LNumber); ok && at > glua.LNumber(n) && at < maxArrayIndex && n > 1 {
		return &convertError{problem: fmt.Sprintf("has no item %d but an item %s: a list has no holes, write json.null there", n, v.keyText(key))}
	}
	return &convertError{problem: fmt.Sprintf("has the number %s for a key: write tostring(key) for an object, or keys 1 to n for a list", v.keyText(key))}
}

func (v *vm) fromObject(t *glua.LTable, depth int) (value.Value, *convertError) {
	start := len(v.scratch)
	defer func() { v.scratch = v.scratch[:start] }()
	for key, item := t.Next(glua.LNil); key != glua.LNil; key, item = t.Next(key) {
		name, ok := key.(glua.LString)
		if !ok {
			return value.Value{}, &convertError{problem: fmt.Sprintf("has both texts and the %s %s for keys: write tostring(key)", v.typeName(key), v.keyText(key))}
		}
		out, err := v.fromLuaAt(item, depth)
		if err != nil {
			return value.Value{}, err.in(string(name))
		}
		v.scratch = append(v.scratch, out.Named(string(name)))
	}
	members := v.take(start)
	slices.SortFunc(members, func(a, b value.Value) int { return strings.Compare(a.Name(), b.Name()) })
	return value.NewObject(members), nil
}

// take moves the values from start on into the arena.
func (v *vm) take(start int) []value.Value {
	found := v.scratch[start:]
	v.use(int64(len(found)), int64(len(found))*bytesPerValue)
	out := v.arena.Take(len(found))
	copy(out, found)
	return out
}

// checkList raises an error for a list that is too long for a table.
func (v *vm) checkList(n int) {
	if n > maxList {
		v.raise("a list of %d items is too long: a list can hold %d", n, maxList)
	}
}
