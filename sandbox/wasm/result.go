package wasm

import (
	"bytes"
	"fmt"

	"pipeline/engine/outcome"
	"pipeline/sandbox/wasm/internal/abi"
)

// result is the outcome of the word that the function returned. It reports
// whether the guest can be used again.
func (in *instance) result(g *guest, word uint64) (outcome.Outcome, bool) {
	place, length := uint32(word>>32), uint32(word)
	if place == 0 {
		out, err := abi.FromCode(length)
		if err != nil {
			return in.failed(outcome.FailResult, err.Error()), true
		}
		return out, true
	}
	view, ok := g.memory.Read(place, length)
	if !ok {
		return in.failed(outcome.FailResult, fmt.Sprintf("returned a result of %d bytes at %d, and its memory has %d bytes", length, place, g.memory.Size())), true
	}
	if kind, text := in.tooMuch(view); kind != "" {
		return in.failed(kind, text), true
	}
	out, err := in.decoder.Decode(in.results.text(view))
	if err != nil {
		return in.failed(outcome.FailResult, "returned a result that cannot be used: "+err.Error()), true
	}
	if out.Kind == outcome.Reply && !in.d.Replies {
		return in.failed(outcome.FailResult, fmt.Sprintf("returned a reply, and subscription %q has nowhere to send it: add a `reply { to = stream.… }` block to it, or a route, or return ack", in.d.Subscription)), true
	}
	return out, true
}

// tooMuch bounds what decoding a result can take. What separates values tells
// how many there can be.
func (in *instance) tooMuch(text []byte) (outcome.FailureKind, string) {
	if len(text) > maxResult {
		return outcome.FailResult, fmt.Sprintf("returned a result of %d bytes; it may have %d", len(text), maxResult)
	}
	most := int64(len(text)) + 1 // a value takes a byte and what separates it
	if int64(len(text))+most*bytesPerValue <= in.h.limits.Memory {
		return "", "" // no need to count
	}
	values := int64(1)
	for _, c := range []byte(",[{") {
		values += int64(bytes.Count(text, []byte{c}))
	}
	if need := int64(len(text)) + values*bytesPerValue; need > in.h.limits.Memory {
		return outcome.FailMemory, fmt.Sprintf("returned a result that takes %d bytes to read; return less, or raise limits.memory of handler %q", need, in.h.spec.Label)
	}
	return "", ""
}
