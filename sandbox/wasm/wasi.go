package wasm

import (
	"encoding/binary"
	"fmt"

	"pipeline/engine/outcome"
	"pipeline/sandbox/wasm/internal/abi"
)

// Error numbers of WASI preview 1.
const (
	wasiOK           = 0
	wasiBadFile      = 8
	wasiInvalid      = 28
	wasiNotSupported = 58
	wasiNoSeek       = 70
)

// wasiFunctions are the part of WASI preview 1 that the libraries of C, Rust
// and Go use to start, to write to standard output and error, and to exit.
// There are no arguments, no environment and no files; the clock stands still
// and what is random depends on the entry.
var wasiFunctions = []*hostFunction{
	wasi("args_get", wasiNothing, i32, i32),
	wasi("args_sizes_get", wasiNone, i32, i32),
	wasi("environ_get", wasiNothing, i32, i32),
	wasi("environ_sizes_get", wasiNone, i32, i32),
	wasi("clock_res_get", wasiResolution, i32, i32),
	wasi("clock_time_get", wasiClock, i32, i64, i32),
	wasi("random_get", wasiRandom, i32, i32),
	wasi("sched_yield", wasiNothing),
	wasi("poll_oneoff", wasiPoll, i32, i32, i32, i32),
	wasi("fd_write", wasiWrite, i32, i32, i32, i32),
	wasi("fd_read", wasiRead, i32, i32, i32, i32),
	wasi("fd_seek", wasiSeek, i32, i64, i32, i32),
	wasi("fd_close", wasiStream, i32),
	wasi("fd_fdstat_get", wasiStat, i32, i32),
	wasi("fd_fdstat_set_flags", wasiStream, i32, i32),
	wasi("fd_prestat_get", wasiNoFile, i32, i32),
	wasi("fd_prestat_dir_name", wasiNoFile, i32, i32, i32),
	{module: abi.ModuleWASI, name: "proc_exit", params: []byte{i32}, fn: wasiExit},
}

// wasi makes a function that returns an error number.
func wasi(name string, fn func(c *hostCaller, stack []uint64) uint32, params ...byte) *hostFunction {
	return &hostFunction{
		module: abi.ModuleWASI, name: name, params: params, results: []byte{i32},
		fn: func(c *hostCaller, stack []uint64) { stack[0] = uint64(fn(c, stack)) },
	}
}

// standard reports whether a number is one of the three standard streams.
func standard(fd uint64) bool { return uint32(fd) <= 2 }

func wasiNothing(*hostCaller, []uint64) uint32 { return wasiOK }
func wasiNoFile(*hostCaller, []uint64) uint32  { return wasiBadFile }

// wasiNone says that there are no strings of no length.
func wasiNone(c *hostCaller, stack []uint64) uint32 {
	c.put(stack[0], 0, "WASI")
	c.put(stack[1], 0, "WASI")
	return wasiOK
}

func wasiResolution(c *hostCaller, stack []uint64) uint32 {
	return c.put64(stack[1], 1_000_000)
}

func wasiClock(c *hostCaller, stack []uint64) uint32 {
	return c.put64(stack[2], uint64(c.now().UnixNano()))
}

func (c *hostCaller) put64(place, v uint64) uint32 {
	binary.LittleEndian.PutUint64(c.bytes(place, 8, "WASI"), v)
	return wasiOK
}

func wasiRandom(c *hostCaller, stack []uint64) uint32 {
	c.rng().fill(c.bytes(stack[0], stack[1], "random_get"))
	return wasiOK
}

// Of a subscription and an event of poll_oneoff: their sizes, and the type of a
// clock.
const (
	subscriptionSize = 48
	eventSize        = 32
	clockEvent       = 0
)

// moment is the longest wait, in nanoseconds, that a module is told is over.
const moment = 10_000_000

// wasiPoll is poll_oneoff(subscriptions, events, number, place of the count).
// Waiting is refused. But Go's runtime lets others run by waiting for a
// millisecond at most, also before it prints the words of a panic; such a wait
// is over at once.
func wasiPoll(c *hostCaller, stack []uint64) uint32 {
	if uint32(stack[2]) != 1 {
		return wasiNotSupported
	}
	subscription := c.bytes(stack[0], subscriptionSize, "poll_oneoff")
	timeout, absolute := binary.LittleEndian.Uint64(subscription[24:]), subscription[40]&1 != 0
	if subscription[8] != clockEvent || absolute || timeout > moment {
		return wasiNotSupported
	}
	user := binary.LittleEndian.Uint64(subscription)
	event := c.bytes(stack[1], eventSize, "poll_oneoff")
	clear(event)
	binary.LittleEndian.PutUint64(event, user)
	c.put(stack[3], 1, "poll_oneoff")
	return wasiOK
}

// maxVectors is how many pieces one write may have.
const maxVectors = 1024

// wasiWrite is fd_write(fd, pieces, number of pieces, place of the count).
func wasiWrite(c *hostCaller, stack []uint64) uint32 {
	if !standard(stack[0]) || uint32(stack[0]) == 0 {
		return wasiBadFile
	}
	n := uint64(uint32(stack[2]))
	if n > maxVectors {
		return wasiInvalid
	}
	pieces := c.bytes(stack[1], 8*n, "fd_write")
	var total uint32
	for i := range n {
		place, length := binary.LittleEndian.Uint32(pieces[8*i:]), binary.LittleEndian.Uint32(pieces[8*i+4:])
		c.written(c.bytes(uint64(place), uint64(length), "fd_write"), uint32(stack[0]) == 2)
		total += length
	}
	c.put(stack[3], total, "fd_write")
	return wasiOK
}

// wasiRead finds standard input at its end.
func wasiRead(c *hostCaller, stack []uint64) uint32 {
	if uint32(stack[0]) != 0 {
		return wasiBadFile
	}
	c.put(stack[3], 0, "fd_read")
	return wasiOK
}

func wasiSeek(_ *hostCaller, stack []uint64) uint32 {
	if standard(stack[0]) {
		return wasiNoSeek
	}
	return wasiBadFile
}

// wasiStream accepts what does not matter for the standard streams.
func wasiStream(_ *hostCaller, stack []uint64) uint32 {
	if standard(stack[0]) {
		return wasiOK
	}
	return wasiBadFile
}

// Of fdstat: its size, and the type of a terminal, which libraries write to
// line by line.
const (
	fdstatSize      = 24
	characterDevice = 2
)

func wasiStat(c *hostCaller, stack []uint64) uint32 {
	if !standard(stack[0]) {
		return wasiBadFile
	}
	stat := c.bytes(stack[1], fdstatSize, "fd_fdstat_get")
	clear(stat)
	stat[0] = characterDevice
	return wasiOK
}

// wasiExit ends the call: a handler that exits has not said what becomes of
// the entry.
func wasiExit(c *hostCaller, stack []uint64) {
	c.meter.stop(outcome.FailError, fmt.Sprintf("exited with code %d instead of returning a result", uint32(stack[0])))
}
