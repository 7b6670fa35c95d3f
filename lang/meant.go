package lang

import (
	"slices"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/schema"
)

// isSynonym reports whether a name is one of another tool's words, however it
// is written: ack_wait, ackWait, ack-wait. Words in capitals are commands'
// options, and are meant only when they are written so.
func isSynonym(words []string, name string) bool {
	return slices.ContainsFunc(words, func(w string) bool {
		return w == name || w == strings.ToLower(w) && diag.Same(w, name)
	})
}

// meantArgument is the argument of the block that a name stands for: one edit
// away, or another tool's word. One that is still free is preferred.
func meantArgument(n *node, name string) *schema.Arg {
	free, used := splitArguments(n)
	for _, a := range free {
		if slices.Contains(a.Synonyms, name) {
			return a
		}
	}
	for _, a := range free {
		if isSynonym(a.Synonyms, name) {
			return a
		}
	}
	if near := diag.Nearest(name, argNames(free)); near != "" {
		return n.schema.Arg(near)
	}
	return n.schema.Arg(diag.Nearest(name, argNames(used)))
}

// qualifiedArgument is the argument whose name ends a longer one: retry_jitter,
// redisUrl.
func qualifiedArgument(n *node, name string) *schema.Arg {
	free, _ := splitArguments(n)
	words := split(name)
	for i := 1; i < len(words); i++ {
		rest := strings.Join(words[i:], "_")
		for _, a := range free {
			if a.Name == rest || isSynonym(a.Synonyms, rest) {
				return a
			}
		}
	}
	return nil
}

// split is a name in its words, in lower case: max_age, maxAge and max-age.
func split(name string) []string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if lower && unicode.IsUpper(r) {
			b.WriteByte('_')
		}
		lower = unicode.IsLower(r)
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.FieldsFunc(b.String(), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
}

// splitArguments are the arguments of a block that the file does not set yet,
// and those it does.
func splitArguments(n *node) (free, used []*schema.Arg) {
	for _, a := range n.schema.Args {
		if n.args[a.Name] == nil && !setIn(n, a.Name) {
			free = append(free, a)
		} else {
			used = append(used, a)
		}
	}
	return free, used
}

// setIn reports whether the file sets an argument under its right name.
func setIn(n *node, name string) bool {
	return n.block != nil && n.block.Body.Attributes[name] != nil
}

func argNames(args []*schema.Arg) []string {
	names := make([]string, len(args))
	for i, a := range args {
		names[i] = a.Name
	}
	return names
}

// meantBlock is the nested block that a name stands for.
func meantBlock(s *schema.Block, name string) *schema.Block {
	if b := s.Block(name, ""); b != nil {
		return b
	}
	if near := diag.Nearest(name, s.BlockNames()); near != "" {
		return s.Block(near, "")
	}
	if b := blockCalled(s, name); b != nil {
		return b
	}
	words := split(name)
	for i := len(words) - 1; i > 0; i-- {
		part := strings.Join(words[:i], "_")
		if b := s.Block(part, ""); b != nil {
			return b
		}
		if b := blockCalled(s, part); b != nil {
			return b
		}
	}
	return nil
}

// blockCalled is the nested block that other tools call by a name.
func blockCalled(s *schema.Block, name string) *schema.Block {
	for _, b := range s.Blocks {
		if isSynonym(b.Synonyms, name) {
			return b
		}
	}
	return nil
}

// misspelt reports whether a name is that of the block but for a slip.
func misspelt(b *schema.Block, name string) bool {
	return diag.Nearest(name, []string{b.Name}) != ""
}

// fits reports whether a block can be read as another type: it has as many
// labels, all its arguments exist there, and there may be one more.
func fits(parent *node, b *schema.Block, block *hclsyntax.Block) bool {
	if len(block.Labels) != len(b.Labels) || b.Max > 0 && len(parent.all(b.Name)) >= b.Max {
		return false
	}
	probe := &node{schema: b, block: block}
	for name := range block.Body.Attributes {
		if b.Arg(name) == nil && !b.Free && meantArgument(probe, name) == nil {
			return false
		}
	}
	return true
}
