package wasm

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
	"pipeline/sandbox/wasm/internal/abi"
)

// pipelineFunctions are the interface's own.
var pipelineFunctions = []*hostFunction{
	{module: abi.ModulePipeline, name: "log", params: []byte{i32, i32, i32, i32, i32}, grant: "log", fn: hostLog},
	{module: abi.ModulePipeline, name: "now", results: []byte{i64}, fn: hostNow},
	{module: abi.ModulePipeline, name: "random", params: []byte{i32, i32}, fn: hostRandom},
	{module: abi.ModulePipeline, name: "meta", params: []byte{i32, i32, i32, i32}, results: []byte{i32}, fn: hostMeta},
}

// Indices of the functions of the log capability.
const (
	logDebug = iota
	logInfo
	logWarn
	logError
)

// maxLog is how long the text or the fields of a line may be; more is not
// read.
const maxLog = 64 << 10

// hostLog is log(level, text, length, fields, length of fields).
func hostLog(c *hostCaller, stack []uint64) {
	args := make([]value.Value, 1, 2)
	text := c.bytes(stack[1], min(uint64(uint32(stack[2])), maxLog), "pipeline.log")
	args[0] = value.NewString(strings.ToValidUTF8(string(text), "\uFFFD"))
	if n := uint64(uint32(stack[4])); n > 0 {
		if n > maxLog {
			c.meter.stop(outcome.FailError, "gave pipeline.log more than 64 KiB of fields")
		}
		fields, err := value.ParseJSON(string(c.bytes(stack[3], n, "pipeline.log")), nil)
		if err != nil {
			c.meter.stop(outcome.FailError, "gave pipeline.log fields that are not a JSON object: "+err.Error())
		}
		args = append(args, fields)
	}
	if err := c.log(logFunction(int32(stack[0])), args); err != nil {
		c.meter.stop(outcome.FailError, "pipeline.log: "+err.Error())
	}
}

// logFunction is the function of a level, which is a number like slog's.
func logFunction(level int32) int {
	switch {
	case level < int32(sandbox.Info):
		return logDebug
	case level < int32(sandbox.Warn):
		return logInfo
	case level < int32(sandbox.Error):
		return logWarn
	}
	return logError
}

// log writes a line if the handler may.
func (in *instance) log(function int, args []value.Value) error {
	if in.logs == nil {
		return nil
	}
	_, err := in.logs.Call(function, args)
	return err
}

// hostNow is now().
func hostNow(c *hostCaller, stack []uint64) { stack[0] = uint64(c.now().UnixMilli()) }

// hostRandom is random(place, length).
func hostRandom(c *hostCaller, stack []uint64) {
	c.rng().fill(c.bytes(stack[0], stack[1], "pipeline.random"))
}

// maxMeta is the longest name that meta looks at.
const maxMeta = 1 << 10

// hostMeta is meta(name, length, place, capacity).
func hostMeta(c *hostCaller, stack []uint64) {
	name := string(c.bytes(stack[0], min(uint64(uint32(stack[1])), maxMeta), "pipeline.meta"))
	// Looking headers up and writing them down takes time in proportion.
	c.meter.charge(int64(len(c.headers())))
	text, ok := c.meta(name)
	c.meter.charge(int64(len(text)))
	if !ok {
		stack[0] = uint64(^uint32(0)) // -1
		return
	}
	if capacity := uint64(uint32(stack[3])); uint64(len(text)) <= capacity {
		copy(c.bytes(stack[2], uint64(len(text)), "pipeline.meta"), text)
	}
	stack[0] = uint64(uint32(len(text)))
}

// headers are those of the entry, if there is one.
func (in *instance) headers() []outcome.Header {
	if in.d == nil {
		return nil
	}
	return in.d.Headers
}

// headerPrefix asks meta for one header.
const headerPrefix = "header:"

// meta is what the envelope calls name, as text; headers are a JSON object,
// and "header:NAME" is one of them.
func (in *instance) meta(name string) (string, bool) {
	d := in.d
	if d == nil {
		return "", false
	}
	switch name {
	case "id":
		return d.ID, true
	case "stream":
		return d.Stream, true
	case "group":
		return d.Group, true
	case "subscription":
		return d.Subscription, true
	case "key":
		return d.Key, true
	case "headers":
		return string(abi.AppendHeaders(nil, d.Headers, utf8.ValidString)), true
	case "deliveries":
		return strconv.FormatInt(d.Deliveries, 10), true
	case "attempt":
		return strconv.Itoa(d.Attempt), true
	case "max_attempts":
		return strconv.Itoa(d.MaxAttempts), true
	case "idle_ms":
		return strconv.FormatInt(d.Idle.Milliseconds(), 10), true
	case "now_ms":
		return strconv.FormatInt(d.Now.UnixMilli(), 10), true
	}
	if header, ok := strings.CutPrefix(name, headerPrefix); ok {
		for _, h := range slices.Backward(d.Headers) {
			if h.Name == header {
				return h.Value, true
			}
		}
	}
	return "", false
}

// hostAbort is what AssemblyScript calls when it gives up: abort(message, file,
// line, column), with its own strings.
func hostAbort(c *hostCaller, stack []uint64) {
	message, file := c.utf16(stack[0]), c.utf16(stack[1])
	if message == "" {
		message = "it was aborted"
	}
	if file != "" {
		message += " (" + file + ":" + strconv.FormatUint(uint64(uint32(stack[2])), 10) + ":" + strconv.FormatUint(uint64(uint32(stack[3])), 10) + ")"
	}
	c.meter.stop(outcome.FailError, message)
}
