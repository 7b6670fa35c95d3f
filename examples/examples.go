// Package examples holds the worked example as texts, for documents that show
// it.
package examples

import _ "embed" // for the files

// Payments is payments.hcl, the worked example.
//
//go:embed payments.hcl
var Payments string

// PaymentsTests is payments_test.hcl, its tests.
//
//go:embed payments_test.hcl
var PaymentsTests string

// PaymentsScript is handlers/payments.lua, the script that it names.
//
//go:embed handlers/payments.lua
var PaymentsScript string
