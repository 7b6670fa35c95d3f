package value

import "strconv"

// maxStep is how many bytes of a member's name a path shows.
const maxStep = 48

// MemberPath puts a member's name before the path that leads on from it:
// "items" and "[0].id" give items[0].id. Names that are no plain words are
// quoted and long ones shortened, so that a path is always one printable
// line. Paths are built from the inside out, where an error is found.
func MemberPath(name, rest string) string {
	if !isWord(name) || len(name) > maxStep {
		name = "[" + Quote(name) + "]"
	}
	if rest == "" || rest[0] == '[' {
		return name + rest
	}
	return name + "." + rest
}

// IndexPath puts an element's number before the path that leads on from it.
func IndexPath(i int, rest string) string {
	step := "[" + strconv.Itoa(i) + "]"
	if rest == "" || rest[0] == '[' {
		return step + rest
	}
	return step + "." + rest
}

// Quote quotes a piece of a body for a message: one line, no control
// characters, shortened when long.
func Quote(s string) string {
	if len(s) <= maxStep {
		return strconv.Quote(s)
	}
	return strconv.Quote(s[:maxStep]) + "…"
}

func isWord(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c|0x20 < 'a' || c|0x20 > 'z' {
			if c != '_' && (i == 0 || c != '-' && c-'0' > 9) {
				return false
			}
		}
	}
	return s != ""
}
