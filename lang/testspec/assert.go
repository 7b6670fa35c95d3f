package testspec

import "pipeline/lang/diag"

// Assert is one condition that must hold.
type Assert struct {
	// Condition is what the file says, Message its own explanation or "".
	Condition, Message string
	// Range is where the condition stands.
	Range diag.Range
}
