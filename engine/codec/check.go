package codec

import (
	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// check compares a value with the type. It reads and allocates nothing unless
// something is wrong.
func (s *shape) check(v *value.Value) *InvalidError {
	if s == nil {
		return nil
	}
	switch s.kind {
	case spec.TypeObject:
		return s.checkObject(v)
	case spec.TypeList:
		return s.checkList(v)
	case spec.TypeMap:
		return s.checkMap(v)
	}
	return s.checkKind(v, s.scalar)
}

func (s *shape) checkKind(v *value.Value, want value.Kind) *InvalidError {
	if v.Kind() != want {
		return mismatch(s.expected(), kindName(v.Kind()))
	}
	return nil
}

func (s *shape) checkList(v *value.Value) *InvalidError {
	if err := s.checkKind(v, value.Array); err != nil || s.elem == nil {
		return err
	}
	items := v.Items()
	for i := range items {
		if err := s.elem.check(&items[i]); err != nil {
			return err.at(i)
		}
	}
	return nil
}

func (s *shape) checkMap(v *value.Value) *InvalidError {
	if err := s.checkKind(v, value.Object); err != nil || s.elem == nil {
		return err
	}
	members := v.Items()
	for i := range members {
		if err := s.elem.check(&members[i]); err != nil {
			return err.under(members[i].Name())
		}
	}
	return nil
}

// checkObject looks for each attribute from where the one before it was found:
// producers write members in one order, whatever it is.
func (s *shape) checkObject(v *value.Value) *InvalidError {
	if err := s.checkKind(v, value.Object); err != nil {
		return err
	}
	members, from := v.Items(), 0
	for i := range s.attrs {
		a := &s.attrs[i]
		at := find(members, from, a.name)
		if at < 0 {
			if a.optional {
				continue
			}
			return mismatch(a.shape.expected(), "nothing").under(a.name)
		}
		from = at + 1
		m := &members[at]
		if m.Kind() == a.scalar && a.scalar != value.Null {
			continue
		}
		if a.optional && m.Kind() == value.Null {
			continue
		}
		if err := a.shape.check(m); err != nil {
			return err.under(a.name)
		}
	}
	return nil
}

// find returns the number of the member name, looking from a place on and
// then before it, or -1.
func find(members []value.Value, from int, name string) int {
	for i := from; i < len(members); i++ {
		if members[i].Name() == name {
			return i
		}
	}
	return findBefore(members, from, name)
}

func findBefore(members []value.Value, end int, name string) int {
	for i := range min(end, len(members)) {
		if members[i].Name() == name {
			return i
		}
	}
	return -1
}

// fill returns v, which fits the type, with defaults in the places of what is
// absent or null.
func (s *shape) fill(v value.Value, a *value.Arena) value.Value {
	if s == nil || !s.fills || v.Kind() == value.Null {
		return v
	}
	if s.kind == spec.TypeObject {
		return s.fillObject(v, a)
	}
	kids := a.Take(v.Len())
	for i, kid := range v.Items() {
		kids[i] = s.elem.fill(kid, a)
	}
	if s.kind == spec.TypeList {
		return value.NewArray(kids).Named(v.Name())
	}
	return value.NewObject(kids).Named(v.Name())
}

func (s *shape) fillObject(v value.Value, a *value.Arena) value.Value {
	absent := 0
	for i := range s.attrs {
		if s.attrs[i].preset != nil && v.Get(s.attrs[i].name) == nil {
			absent++
		}
	}
	n := v.Len()
	kids := a.Take(n + absent)
	copy(kids, v.Items())
	for i := range s.attrs {
		at := find(kids[:v.Len()], 0, s.attrs[i].name)
		switch preset := s.attrs[i].preset; {
		case at < 0 && preset != nil:
			kids[n] = *preset
			n++
		case at < 0:
		case kids[at].Kind() == value.Null && preset != nil:
			kids[at] = *preset
		default:
			kids[at] = s.attrs[i].shape.fill(kids[at], a)
		}
	}
	return value.NewObject(kids).Named(v.Name())
}
