package scaffold

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// maxName bounds names: files are called after them, with an ending.
const maxName = 64

// NameError says why something cannot be called by a name.
type NameError struct {
	// Problem is one line, Remedy a sentence.
	Problem, Remedy string
	// Suggestion is a name that would do, or "".
	Suggestion string
}

// Error is the problem.
func (e *NameError) Error() string { return e.Problem }

var (
	goodName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]*$`)
	notName  = regexp.MustCompile(`[^A-Za-z0-9_]+`)
)

// reserved are words that mean something where a name may stand: in the
// language's expressions and references, in XREADGROUP, which reads a group of
// such a name as its option, and to Windows, where no file can be called so.
var reserved = []string{
	"for", "in", "if", "else", "endif", "endfor", "null", "true", "false",
	"var", "local", "each", "entry", "headers", "reply",
	"pipeline", "variable", "locals", "broker", "stream", "handler", "retry", "group", "subscription", "test",
	"count", "block", "noack", "streams", "claim",
	"con", "prn", "aux", "nul",
}

const nameRule = "A name has letters, digits and underscores, and begins with a letter: blocks and files are called by it."

// CheckName checks the name of what is to be created.
func CheckName(name string) error {
	switch {
	case name == "":
		return &NameError{Problem: "the name is empty", Remedy: nameRule}
	case len(name) > maxName:
		return &NameError{Problem: fmt.Sprintf("the name has over %d characters", maxName), Remedy: nameRule}
	case !goodName.MatchString(name):
		return &NameError{Problem: fmt.Sprintf("%q cannot be used as a name", name), Remedy: nameRule, Suggestion: near(name)}
	case slices.Contains(reserved, strings.ToLower(name)):
		return &NameError{
			Problem: fmt.Sprintf("%q cannot be used as a name", name), Remedy: "The word means something in the language, to the server or to a system.",
			Suggestion: "my_" + name,
		}
	case strings.HasSuffix(strings.ToLower(name), "_test"):
		return &NameError{
			Problem: fmt.Sprintf("%q cannot be used as a name", name), Remedy: "Files whose names end in _test.hcl are tests.",
			Suggestion: strings.TrimRight(name[:len(name)-len("_test")], "_"),
		}
	}
	return nil
}

// near is the good name that a bad one comes down to, or "". A path is no
// misspelt name.
func near(name string) string {
	if strings.ContainsAny(name, `/\`) || name[0] == '.' {
		return ""
	}
	name = strings.Trim(notName.ReplaceAllString(name, "_"), "_")
	if len(name) < 2 || !goodName.MatchString(name) || CheckName(name) != nil {
		return ""
	}
	return name
}
