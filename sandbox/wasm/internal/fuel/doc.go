// Package fuel rewrites a module so that it pays for what it does.
//
// The engine that runs modules is compiled code: nothing can stop it from
// outside, and while it runs no garbage collection can begin, which stops the
// whole process. So the code itself counts. Each stretch of instructions takes
// its length off a counter, and at the head of each loop and the start of each
// function a counter below zero calls the host, which looks at the clock and
// at the limits, gives the next slice of fuel or ends the call. The same
// module on the same input uses the same fuel on every machine.
//
// Besides:
//   - a function that calls others keeps account of the stack that it takes,
//     because that lies outside the memory of the module;
//   - instructions that work on as many bytes as an operand says pay for them
//     before they begin;
//   - memory.grow is a call of the host, which knows the limit.
//
// What is added uses a global and functions that have no index in the original
// module, so that nothing in it can reach them.
package fuel

// What a rewritten module imports and exports beyond its own.
const (
	// Host is the module that the functions below are imported from.
	Host = "pipeline:host"
	// Refuel takes what is left of the slice, which is negative, and returns
	// the next slice: (i64) -> i64.
	Refuel = "refuel"
	// Grow is memory.grow: (i32) -> i32.
	Grow = "grow"
	// Deep is called when the stack is used up; it must not return.
	Deep = "deep"
	// Counter is the exported global (i64) that the fuel is counted in.
	Counter = "pipeline:fuel"
	// Reserved begins all of these names.
	Reserved = "pipeline:"
)

// Costs, in fuel. An instruction costs 1.
const (
	// Call is what a call costs beyond its instruction.
	Call = 8
	// BulkShift: copying or filling 1<<BulkShift bytes costs 1.
	BulkShift = 3
)

const (
	// MaxStack is how many bytes of stack a call may take, as estimated here.
	MaxStack = 8 << 20
	// stretch is how much fuel is taken at once at most, or one instruction
	// more: code that is jumped over may be paid for, and this bounds it.
	stretch = 32
	// trifle is the cost up to which a function that neither loops nor calls
	// leaves the look at the counter to its caller.
	trifle = 64
)

// Bytes of stack: of a frame, of each of its locals, and of each instruction,
// since what an instruction computes may have to be kept there.
const (
	frameBase        = 64
	frameLocal       = 8
	frameInstruction = 4
)
