package wasm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"pipeline/engine/outcome"
	"pipeline/sandbox/wasm/internal/abi"
	"pipeline/sandbox/wasm/internal/binary"
	"pipeline/sandbox/wasm/internal/fuel"
)

// hostContext is the context of every call into the engine, so that a host
// function knows whose call it serves. It is never done: a call is ended by
// its meter.
type hostContext struct{ in *instance }

// Deadline, Done, Err and Value complete context.Context.
func (*hostContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (*hostContext) Done() <-chan struct{}       { return nil }
func (*hostContext) Err() error                  { return nil }
func (*hostContext) Value(any) any               { return nil }

// hostCall is the least that a call of the host costs, in fuel: leaving the
// module and coming back takes about as long as so many instructions.
const hostCall = 50

// hostFunction is a function that modules may import. fn finds its arguments
// on the stack and leaves its result there.
type hostFunction struct {
	module, name    string
	params, results []byte
	// grant is the capability that it needs, or "".
	grant string
	fn    func(c *hostCaller, stack []uint64)
}

// hostCaller is the instance that calls, with its memory.
type hostCaller struct {
	*instance
	memory api.Memory
}

func (f *hostFunction) functionType() binary.FuncType {
	return binary.FuncType{Params: f.params, Results: f.results}
}

// Shorthands for the types below.
const (
	i32 = binary.I32
	i64 = binary.I64
)

// offered are all functions that modules may import.
var offered = slices.Concat(pipelineFunctions, wasiFunctions, []*hostFunction{
	{module: abi.ModuleEnv, name: "abort", params: []byte{i32, i32, i32, i32}, fn: hostAbort},
})

// internal are the functions that only rewritten modules import.
var internal = []*hostFunction{
	{module: fuel.Host, name: fuel.Grow, params: []byte{i32}, results: []byte{i32}, fn: hostGrow},
	{module: fuel.Host, name: fuel.Deep, fn: hostDeep},
}

func lookup(module, name string) (*hostFunction, bool) {
	for _, f := range offered {
		if f.module == module && f.name == name {
			return f, true
		}
	}
	return nil, false
}

// offeredNames lists what can be imported.
func offeredNames() string {
	var names []string
	for _, f := range offered {
		if f.module != abi.ModuleWASI {
			names = append(names, f.module+"."+f.name)
		}
	}
	return "handlers are given " + strings.Join(names, ", ") + " and a part of WASI preview 1"
}

// offer makes the host's modules in a runtime.
func offer(ctx context.Context, r wazero.Runtime) error {
	builders := map[string]wazero.HostModuleBuilder{}
	var order []string
	builder := func(module string) wazero.HostModuleBuilder {
		if builders[module] == nil {
			builders[module] = r.NewHostModuleBuilder(module)
			order = append(order, module)
		}
		return builders[module]
	}
	for _, f := range slices.Concat(offered, internal) {
		builder(f.module).NewFunctionBuilder().WithGoModuleFunction(f, types(f.params), types(f.results)).Export(f.name)
	}
	builder(fuel.Host).NewFunctionBuilder().WithGoFunction(api.GoFunc(hostRefuel), types([]byte{i64}), types([]byte{i64})).Export(fuel.Refuel)
	for _, module := range order {
		if _, err := builders[module].Instantiate(ctx); err != nil {
			return fmt.Errorf("offer %s: %w", module, err)
		}
	}
	return nil
}

// types are types as the engine writes them, in the same bytes.
func types(list []byte) []api.ValueType { return slices.Clone(list) }

// Call implements api.GoModuleFunction.
func (f *hostFunction) Call(ctx context.Context, module api.Module, stack []uint64) {
	h, ok := ctx.(*hostContext)
	if !ok {
		panic(stopped{}) // every call into the engine has that context
	}
	h.in.meter.charge(hostCall)
	c := hostCaller{h.in, module.Memory()}
	f.fn(&c, stack)
}

// hostRefuel is fuel.Refuel.
func hostRefuel(ctx context.Context, stack []uint64) {
	h, ok := ctx.(*hostContext)
	if !ok {
		panic(stopped{})
	}
	stack[0] = uint64(h.in.meter.refuel(int64(stack[0])))
}

// growCost is the fuel for a new page: it has to be cleared.
const growCost = binary.PageSize >> fuel.BulkShift

// hostGrow is memory.grow.
func hostGrow(c *hostCaller, stack []uint64) {
	pages := uint32(stack[0])
	if most := c.h.pages(); uint64(pages)+uint64(c.memory.Size()/binary.PageSize) > uint64(most) {
		c.starved = true
		stack[0] = api.EncodeI32(-1)
		return
	}
	c.meter.charge(int64(pages) * growCost)
	before, ok := c.memory.Grow(pages)
	if !ok {
		// Beyond what the module itself declares, or what the machine has.
		c.starved = true
		stack[0] = api.EncodeI32(-1)
		return
	}
	stack[0] = uint64(before)
}

// hostDeep ends a call whose functions call each other too deep.
func hostDeep(c *hostCaller, _ []uint64) {
	c.meter.stop(outcome.FailCrash, fmt.Sprintf("called functions too deep: their variables take more than %d KiB of stack", fuel.MaxStack>>10))
}

// bytes are a part of the module's memory, which is charged for. They are
// valid until the module runs again.
func (c *hostCaller) bytes(place, length uint64, of string) []byte {
	c.meter.charge(int64(uint32(length)) >> fuel.BulkShift)
	view, ok := c.memory.Read(uint32(place), uint32(length))
	if !ok {
		c.meter.stop(outcome.FailCrash, fmt.Sprintf("gave %s %d bytes at %d, and its memory has %d bytes", of, uint32(length), uint32(place), c.memory.Size()))
	}
	return view
}

// put writes a number of 32 bits.
func (c *hostCaller) put(place uint64, v uint32, of string) {
	if !c.memory.WriteUint32Le(uint32(place), v) {
		c.meter.stop(outcome.FailCrash, fmt.Sprintf("gave %s the place %d, and its memory has %d bytes", of, uint32(place), c.memory.Size()))
	}
}
