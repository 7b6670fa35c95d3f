//go:build wasip1

// Screens payments: the handler of examples/handlers/payments.lua in Go.
package main

import "strconv"

//go:wasmexport screen_payment
func screenPayment(_, n uint32) uint64 {
	payment := member(entry(n), "body")
	out := append(reply(), `{"payment_id":`...)
	out = append(out, member(payment, "id")...)
	out = append(out, `,"suspicious":`...)
	out = strconv.AppendBool(out, number(member(payment, "amount_cents")) > 1_000_000)
	out = append(out, '}')
	return result(append(out, replyEnd...))
}

// main is never called: the module is a library.
func main() {}
