package wasm

import (
	"fmt"
	"slices"
	"strings"

	"pipeline/sandbox"
	"pipeline/sandbox/capability"
	"pipeline/sandbox/wasm/internal/abi"
	"pipeline/sandbox/wasm/internal/binary"
	"pipeline/sandbox/wasm/internal/fuel"
)

// The types of the functions that a module exports.
var (
	typeHandler    = binary.FuncType{Params: []byte{binary.I32, binary.I32}, Results: []byte{binary.I64}}
	typeAlloc      = binary.FuncType{Params: []byte{binary.I32}, Results: []byte{binary.I32}}
	typeInitialize = binary.FuncType{}
)

// contract holds a module against the interface.
type contract struct {
	h *handler
	m *binary.Module
}

// check returns the first thing that is missing or too much.
func (c contract) check() error {
	for _, check := range []func() *sandbox.LoadError{c.imports, c.marker, c.memory, c.exports} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (c contract) refuse(remedy, format string, args ...any) *sandbox.LoadError {
	return &sandbox.LoadError{Source: c.h.spec.Source.Name, Problem: fmt.Sprintf(format, args...), Remedy: remedy}
}

// imports names all functions that are not offered, and then the ones that
// need a grant.
func (c contract) imports() *sandbox.LoadError {
	var unknown []string
	var kind, ungranted string
	for _, i := range c.m.Imports {
		name := shown(i.Module + "." + i.Name)
		f, ok := lookup(i.Module, i.Name)
		switch {
		case !ok:
			unknown = append(unknown, name)
		case f.grant != "" && !c.h.granted(f.grant):
			kind, ungranted = f.grant, name
		case !same(f.functionType(), c.m.Types[i.Type]):
			return c.refuse("use the declarations of the SDK file of your language",
				"the module imports %s as %s; it is %s", name, c.m.Types[i.Type], f.functionType())
		}
	}
	if len(unknown) > 0 {
		return c.refuse(importRemedy(unknown), "the module imports what handlers are not given: %s", list(unknown))
	}
	if kind != "" {
		err := c.refuse("", "%s", capability.Missing(kind, ungranted, c.h.spec.Label))
		err.Grant = kind
		return err
	}
	return nil
}

// maxListed is how many names a message lists.
const maxListed = 20

func list(names []string) string {
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) > maxListed {
		names = append(names[:maxListed:maxListed], fmt.Sprintf("and %d more", len(names)-maxListed))
	}
	return strings.Join(names, ", ")
}

// importRemedy says where such imports come from.
func importRemedy(names []string) string {
	has := func(part string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return strings.Contains(n, part) })
	}
	switch {
	case has("wbindgen"):
		return "build it without wasm-bindgen: for the target wasm32-unknown-unknown, as a cdylib, with the SDK file alone"
	case has("gojs") || has("syscall/js"):
		return `build it with GOOS=wasip1, not GOOS=js: go build -buildmode=c-shared`
	case has("path_") || has("sock_") || has("fd_"):
		return "a handler has no files and no sockets: leave out what opens them"
	case has("env.__"):
		return "link what the module calls into it: nothing is linked later"
	}
	return "leave out what calls them; " + offeredNames()
}

func (c contract) marker() *sandbox.LoadError {
	var versions []string
	for _, e := range c.m.Exports {
		if v, ok := strings.CutPrefix(e.Name, abi.MarkerPrefix); ok && e.Kind == binary.KindFunc {
			versions = append(versions, v)
		}
		if strings.HasPrefix(e.Name, fuel.Reserved) {
			return c.refuse("give it another name", "the module exports %q, a name that is reserved", shown(e.Name))
		}
	}
	supported := func(v string) bool {
		for n := abi.Oldest; n <= abi.Newest; n++ {
			if v == fmt.Sprint(n) {
				return true
			}
		}
		return false
	}
	switch {
	case len(versions) == 0:
		return c.refuse(c.markerRemedy(), "the module does not export %s, which says that it is a handler of this runner", abi.Marker(abi.Newest))
	case len(versions) > 1:
		return c.refuse("export one of them", "the module exports %d markers of the interface: %s%s", len(versions), abi.MarkerPrefix, shown(strings.Join(versions, ", "+abi.MarkerPrefix)))
	case !supported(versions[0]):
		return c.refuse("build it with the SDK file of this version of pipeline, or run it with another version",
			"the module was built for the interface %s%s; this version runs %s", abi.MarkerPrefix, shown(versions[0]), supportedVersions())
	}
	return nil
}

func supportedVersions() string {
	if abi.Oldest == abi.Newest {
		return abi.Marker(abi.Newest)
	}
	return abi.Marker(abi.Newest) + " and " + abi.Marker(abi.Oldest)
}

func (c contract) markerRemedy() string {
	if c.find("_start") != nil && c.find(abi.Initialize) == nil {
		return "it is a command with a main function: build a library (Go: -buildmode=c-shared; C: -mexec-model=reactor), and export the marker as the SDK file does"
	}
	return "build it with the SDK file of your language, which exports it"
}

func (c contract) find(name string) *binary.Export {
	for i := range c.m.Exports {
		if c.m.Exports[i].Name == name {
			return &c.m.Exports[i]
		}
	}
	return nil
}

func (c contract) memory() *sandbox.LoadError {
	if e := c.find(abi.Memory); e == nil || e.Kind != binary.KindMemory {
		return c.refuse("export it (wasm-ld exports it unless told otherwise)", "the module does not export its memory as `memory`")
	}
	if most := c.h.pages(); c.m.Memory.Min > most {
		return c.refuse(
			fmt.Sprintf("raise limits.memory of handler %q, or build the module with less (a smaller stack, fewer static data)", c.h.spec.Label),
			"the module starts with %d KiB of memory, more than limits.memory of %d KiB", c.m.Memory.Min*(binary.PageSize>>10), most*(binary.PageSize>>10))
	}
	return nil
}

func (c contract) exports() *sandbox.LoadError {
	if err := c.function(abi.Alloc, typeAlloc, "the SDK file of your language defines it"); err != nil {
		return err
	}
	if c.find(abi.Initialize) != nil {
		if err := c.function(abi.Initialize, typeInitialize, ""); err != nil {
			return err
		}
	}
	name := c.h.spec.Function
	if e := c.find(name); e == nil || e.Kind != binary.KindFunc {
		err := c.refuse("", "the module has no function %q", shown(name))
		err.Missing, err.Functions = name, c.handlers()
		return err
	}
	return c.function(name, typeHandler, "a handler's function takes the place and the length of its input and returns a result")
}

func (c contract) function(name string, want binary.FuncType, remedy string) *sandbox.LoadError {
	e := c.find(name)
	if e == nil || e.Kind != binary.KindFunc {
		return c.refuse(remedy, "the module does not export the function %s", shown(name))
	}
	if got := c.m.TypeOf(e.Index); !same(got, want) {
		return c.refuse(remedy, "the module exports %s as %s; it has to be %s", shown(name), got, want)
	}
	return nil
}

// handlers are the exported functions that could be handlers.
func (c contract) handlers() []string {
	var names []string
	for _, e := range c.m.Exports {
		if e.Kind == binary.KindFunc && same(c.m.TypeOf(e.Index), typeHandler) && shown(e.Name) == e.Name {
			names = append(names, e.Name)
		}
	}
	slices.Sort(names)
	return names
}

func same(a, b binary.FuncType) bool {
	return slices.Equal(a.Params, b.Params) && slices.Equal(a.Results, b.Results)
}
