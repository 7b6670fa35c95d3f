package diag

// Masked is a text with the known secrets as asterisks of the same length, for
// showing more of a file than a problem's line. The text itself may be returned.
func (r *Report) Masked(text []byte) []byte { return r.mask(text) }
