package wasm

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/experimental"

	"pipeline/sandbox"
	"pipeline/sandbox/wasm/internal/abi"
	"pipeline/sandbox/wasm/internal/fuel"
)

// guest is one instantiated module. It dies with the first call that does not
// return.
type guest struct {
	module api.Module
	memory api.Memory
	fuel   api.MutableGlobal
	alloc  api.Function
	handle api.Function
	stack  [2]uint64
	// place and size are those of the input buffer.
	place, size uint32
}

// instantiate makes a guest and runs its _initialize.
func (in *instance) instantiate(ctx context.Context) (g *guest, err error) {
	in.begin(ctx, nil, loadFuel, max(loadTime, in.h.limits.Timeout))
	defer func() {
		in.flush()
		left := int64(0)
		if g != nil {
			left = int64(g.fuel.Get())
		}
		in.meter.end(left)
		if v := recover(); v != nil {
			err = in.loadProblem("the module cannot be instantiated", "")
		}
		if err != nil && g != nil {
			g.close()
			g = nil
		}
	}()
	var memory experimental.LinearMemory
	inner := experimental.WithMemoryAllocator(&in.host, experimental.MemoryAllocatorFunc(func(least, most uint64) experimental.LinearMemory {
		memory = allocate(least, most)
		return memory
	}))
	// Without a name, a module can be instantiated many times.
	module, err := in.h.runtime.InstantiateModule(inner, in.h.compiled, wazero.NewModuleConfig().WithName("").WithStartFunctions())
	if err != nil {
		if memory != nil {
			memory.Free()
		}
		return nil, in.loadProblem("the module cannot be instantiated: "+instantiateText(err), "")
	}
	counter, ok := module.ExportedGlobal(fuel.Counter).(api.MutableGlobal)
	if !ok {
		return nil, in.loadProblem("the module cannot be instantiated", "")
	}
	g = &guest{
		module: module, memory: module.Memory(), fuel: counter,
		alloc: module.ExportedFunction(abi.Alloc), handle: module.ExportedFunction(in.h.spec.Function),
	}
	g.fuel.Set(uint64(in.meter.given))
	if initialize := module.ExportedFunction(abi.Initialize); initialize != nil {
		if err := initialize.CallWithStack(&in.host, nil); err != nil {
			kind, text := in.reason(err)
			return g, &startError{&sandbox.LoadError{Source: in.h.spec.Source.Name, Problem: "while the module was loaded, " + abi.Initialize + " " + text}, kind}
		}
	}
	return g, nil
}

// close frees the guest and its memory.
func (g *guest) close() { _ = g.module.Close(context.Background()) }

// call calls the handler's function with the input in the buffer.
func (g *guest) call(ctx context.Context, length int) (uint64, error) {
	g.stack[0], g.stack[1] = uint64(g.place), uint64(length)
	if err := g.handle.CallWithStack(ctx, g.stack[:]); err != nil {
		return 0, err
	}
	return g.stack[0], nil
}

// fits reports whether the buffer holds an input of that length.
func (g *guest) fits(length int) bool { return g.size > 0 && length <= int(g.size) }

// room gets a buffer that holds an input of that length.
func (g *guest) room(ctx context.Context, length int) error {
	if length > math.MaxInt32 {
		return g.badBuffer(length)
	}
	// Powers of two, so that slowly growing entries do not ask each time.
	size := uint32(1) << bits.Len32(uint32(max(length, firstBuffer)-1))
	if err := g.ask(ctx, size); err != nil {
		return err
	}
	g.size = size
	return nil
}

// ask gets a buffer from the module.
func (g *guest) ask(ctx context.Context, size uint32) error {
	g.size = 0
	g.stack[0] = uint64(size)
	if err := g.alloc.CallWithStack(ctx, g.stack[:1]); err != nil {
		return err
	}
	g.place = uint32(g.stack[0])
	if g.place == 0 || uint64(g.place)+uint64(size) > uint64(g.memory.Size()) {
		return g.badBuffer(int(size))
	}
	return nil
}

func (g *guest) badBuffer(size int) error {
	return &resultError{fmt.Sprintf("%s(%d) returned %d, and there are not so many bytes of memory at that place: it has to return the place of a buffer of that size", abi.Alloc, size, g.place)}
}
