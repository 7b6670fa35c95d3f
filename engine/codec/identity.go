package codec

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// Identity is a compiled expression that says what an entry is: entries with the
// same one are taken for copies, and all but the first do nothing. So it is
// stricter than a Key: what is missing must never look like one and the same thing
// to many entries.
type Identity struct {
	key *Key
	// parts are those of a template that each entry has to have.
	parts []node
}

// CompileIdentity compiles an expression that says what an entry is.
func CompileIdentity(e spec.Expr) (*Identity, error) {
	key, err := CompileKey(e)
	if err != nil {
		return nil, err
	}
	i := &Identity{key: key}
	if t, ok := key.root.(*template); ok {
		for _, part := range t.parts {
			if _, constant := part.(*literal); !constant {
				i.parts = append(i.parts, part)
			}
		}
	}
	return i, nil
}

// Eval computes the identity: a text, or a number in its canonical form, so that
// 1, 1.0 and "1" are the same. What is missing, null or empty, whole or as a part
// of a template, is an error, and so are bools, lists and objects.
func (i *Identity) Eval(env *Env) (string, error) {
	for _, part := range i.parts {
		s, err := text(part, env, value.CanonicalNumber)
		if err != nil {
			return "", err
		}
		if s == "" {
			return "", i.absent(part, env)
		}
	}
	id, err := i.key.Eval(env)
	switch {
	case err != nil:
		return "", err
	case id == "":
		return "", i.absent(i.key.root, env)
	case id == "true" || id == "false":
		// A bool has two values, so that it is no identity; a text may be one.
		if o, err := i.key.root.eval(env); err == nil && o.kind == value.Bool {
			return "", wrong(i.key.root, "a string or a number", "a bool")
		}
	}
	return id, nil
}

// absent says that a part is missing or empty.
func (i *Identity) absent(part node, env *Env) error {
	found := "nothing"
	if o, err := part.eval(env); err == nil && o.kind == value.String {
		found = "an empty string"
	}
	return wrong(part, "a string or a number that tells the entry from all others", found)
}

// String is the expression as it is written.
func (i *Identity) String() string { return i.key.root.String() }

// Fingerprint is a short name for the expression, the same in every process and
// for every way to space it: two expressions that may give equal texts for
// different entries have different ones.
func (i *Identity) Fingerprint() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%T %s", i.key.root, i))
	return hex.EncodeToString(sum[:4])
}
