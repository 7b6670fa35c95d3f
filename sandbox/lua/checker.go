package lua

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"pipeline/sandbox"
)

// Checker finds what is wrong with handlers. What several of them share is
// compiled and loaded once. It keeps the texts it is given. The zero value is
// ready to use; it is not safe for concurrent use.
type Checker struct {
	// seen are by the name of the script.
	seen map[string][]*checked
}

// checked is what is known of the files of a handler, whatever its function.
type checked struct {
	spec     sandbox.Spec
	err      error
	defined  map[string]definition
	outlines []*outline
	findings map[*unit][]sandbox.Finding
}

// Check is Compile without a handler: it returns the same errors, and of a
// handler that compiles what will go wrong when a run comes there, by file and
// line.
func (c *Checker) Check(spec sandbox.Spec) ([]sandbox.Finding, error) {
	h, err := newHandler(spec)
	if err != nil {
		return nil, err
	}
	k := c.files(h)
	if k.err != nil {
		return nil, k.err
	}
	script := k.outlines[len(k.outlines)-1]
	if _, ok := k.defined[h.spec.Function]; !ok {
		return nil, missing(h.spec.Function, script, k.defined)
	}
	return k.reached(h.spec.Function), nil
}

// files loads the files of a handler, or finds them loaded.
func (c *Checker) files(h *handler) *checked {
	for _, k := range c.seen[h.spec.Source.Name] {
		if k.same(&h.spec) {
			return k
		}
	}
	k := &checked{spec: h.spec, findings: map[*unit][]sandbox.Finding{}}
	if c.seen == nil {
		c.seen = map[string][]*checked{}
	}
	c.seen[h.spec.Source.Name] = append(c.seen[h.spec.Source.Name], k)
	k.err = k.load(h)
	return k
}

func (k *checked) load(h *handler) error {
	if err := h.compile(); err != nil {
		return err
	}
	in := newInstance(h)
	defer in.Close()
	v, err := in.load(context.Background())
	if err != nil {
		return err
	}
	defer v.close()
	k.defined = v.defined()
	for _, p := range h.programs {
		k.outlines = append(k.outlines, p.outline)
	}
	j := judge{v: v, outlines: k.outlines}
	for _, o := range k.outlines {
		for _, u := range o.units {
			if found := j.findings(o, u); len(found) > 0 {
				k.findings[u] = found
			}
		}
	}
	return nil
}

// same reports whether another handler has the same files, grants and limits.
func (k *checked) same(spec *sandbox.Spec) bool {
	equal := func(a, b sandbox.Source) bool { return a.Name == b.Name && bytes.Equal(a.Code, b.Code) }
	plain := func(a, b sandbox.Grant) bool { return a.Kind == b.Kind && len(a.Settings)+len(b.Settings) == 0 }
	return k.spec.Limits == spec.Limits && equal(k.spec.Source, spec.Source) &&
		slices.EqualFunc(k.spec.Modules, spec.Modules, equal) && slices.EqualFunc(k.spec.Grants, spec.Grants, plain)
}

// reached are the findings that runs of a function may come to.
func (k *checked) reached(function string) []sandbox.Finding {
	if len(k.findings) == 0 {
		return nil
	}
	units, root := reached(k.outlines, function)
	var out []sandbox.Finding
	for u := range units {
		for _, f := range k.findings[u] {
			f.Certain = f.Certain && root[u]
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b sandbox.Finding) int {
		return cmp.Or(strings.Compare(a.Source, b.Source), a.Line-b.Line, a.Column-b.Column, strings.Compare(a.Problem, b.Problem))
	})
	return once(out)
}

// once keeps the first place of each name: one mistake is told once. The places
// where an outcome is forgotten are mistakes of their own.
func once(all []sandbox.Finding) []sandbox.Finding {
	told := map[string]int{}
	out := all[:0]
	for _, f := range all {
		key := f.Source + "\x00" + string(f.Kind) + f.Name
		if i, ok := told[key]; ok && f.Kind != sandbox.FindingResult {
			out[i].Certain = out[i].Certain || f.Certain
			continue
		}
		told[key] = len(out)
		out = append(out, f)
	}
	return out
}
