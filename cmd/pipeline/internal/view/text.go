package view

// Clean makes any text fit for one line: what would move the cursor, ring, or
// reorder the text around it becomes a replacement character.
func Clean(s string) string { return clean(s) }

// Columns is how many columns of equal width a clean text takes.
func Columns(s string) int { return columns(s) }

// Fit cuts a clean text to at most n columns, marking the cut.
func Fit(s string, n int) string { return fit(s, n) }

// Number writes n with a comma before every third digit.
func Number(n int64) string { return number(n) }

// Count is "1 entry", "2 entries".
func Count(n int64, one, many string) string { return count(n, one, many) }
