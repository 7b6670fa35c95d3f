package build

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"

	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// Handlers are the compiled handlers of a pipeline. It is not safe for
// concurrent use, but for Sum.
type Handlers struct {
	host     sandbox.Host
	compiled map[string]sandbox.Handler
	// sums tell by label whether a handler's files have changed; mu is for those that
	// are asked for beside a Refresh. running are those of the compiled code.
	mu            sync.Mutex
	sums, running map[string][sha256.Size]byte
	// all are also those that were replaced: instances of them may still run.
	all []sandbox.Handler
}

// Compile compiles every handler that an enabled subscription uses. What they
// log goes to host.
func Compile(p *spec.Pipeline, host sandbox.Host) (*Handlers, error) {
	h := &Handlers{host: host, compiled: map[string]sandbox.Handler{}, sums: map[string][sha256.Size]byte{}, running: map[string][sha256.Size]byte{}}
	for _, handler := range Used(p) {
		if _, _, err := h.Refresh(handler); err != nil {
			return nil, errors.Join(err, h.Close())
		}
	}
	return h, nil
}

// Used are the handlers of the enabled subscriptions, in file order.
func Used(p *spec.Pipeline) []*spec.Handler {
	runs := map[*spec.Handler]bool{}
	for _, s := range p.Subscriptions() {
		runs[s.Handler] = true
	}
	return slices.DeleteFunc(slices.Clone(p.Handlers), func(h *spec.Handler) bool { return !runs[h] })
}

// ByLabel are the newest compiled handlers, as the engine takes them.
func (h *Handlers) ByLabel() map[string]sandbox.Handler { return h.compiled }

// Refresh reads the files of a handler and compiles them if they differ from
// what was compiled last. After an error the old code stays, and the same
// files are not compiled again.
func (h *Handlers) Refresh(handler *spec.Handler) (code sandbox.Handler, changed bool, err error) {
	source, modules, err := read(handler)
	if err != nil {
		return h.compiled[handler.Label], false, err
	}
	sum := sumOf(source, modules)
	if old, known := h.sums[handler.Label]; known && old == sum {
		return h.compiled[handler.Label], false, nil
	}
	h.sums[handler.Label] = sum
	s, err := handlerSpec(handler, source, modules, h.host)
	if err != nil {
		return h.compiled[handler.Label], false, err
	}
	if code, err = compile(s); err != nil {
		return h.compiled[handler.Label], false, err
	}
	h.compiled[handler.Label] = code
	h.all = append(h.all, code)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running[handler.Label] = sum
	return code, true, nil
}

// Sum tells the newest compiled code of a handler from any other: the SHA-256 of the
// SHA-256 of its source and of each of its modules. It is safe to call beside a
// Refresh.
func (h *Handlers) Sum(label string) (sum [sha256.Size]byte, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	sum, known = h.running[label]
	return sum, known
}

// Close frees all compiled code. Instances must have been closed.
func (h *Handlers) Close() error {
	var errs []error
	for _, code := range h.all {
		errs = append(errs, code.Close())
	}
	h.all = nil
	return errors.Join(errs...)
}

// Files are the files that a handler is made of.
func Files(h *spec.Handler) []string {
	files := []string{h.Path}
	for _, m := range h.Modules {
		files = append(files, m.Path)
	}
	return files
}

func read(h *spec.Handler) (source []byte, modules [][]byte, err error) {
	if source, err = os.ReadFile(h.Path); err != nil {
		return nil, nil, fmt.Errorf("handler %s: %w", h.Label, err)
	}
	for _, m := range h.Modules {
		text, err := os.ReadFile(m.Path)
		if err != nil {
			return nil, nil, fmt.Errorf("handler %s: %w", h.Label, err)
		}
		modules = append(modules, text)
	}
	return source, modules, nil
}

func sumOf(source []byte, modules [][]byte) [sha256.Size]byte {
	sums := sha256.Sum256(source)
	all := sums[:]
	for _, m := range modules {
		sum := sha256.Sum256(m)
		all = append(all, sum[:]...)
	}
	return sha256.Sum256(all)
}

// handlerSpec is what the sandboxes compile.
func handlerSpec(h *spec.Handler, source []byte, modules [][]byte, host sandbox.Host) (sandbox.Spec, error) {
	s := sandbox.Spec{
		Label: h.Label, Source: sandbox.Source{Name: h.Source, Code: source}, Function: h.Function,
		Limits: sandbox.Limits{
			Timeout: h.Limits.Timeout, Memory: h.Limits.Memory, Instructions: h.Limits.Instructions,
		},
		RawInput: h.RawInput, Host: host,
	}
	for i, m := range h.Modules {
		s.Modules = append(s.Modules, sandbox.Source{Name: m.Source, Code: modules[i]})
	}
	for _, g := range h.Grants {
		grant := sandbox.Grant{Kind: g.Kind, Settings: map[string]value.Value{}}
		for name, text := range g.Settings {
			v, err := value.ParseJSON(text, nil)
			if err != nil {
				return s, fmt.Errorf("handler %s: grant %s: %s: %w", h.Label, g.Kind, name, err)
			}
			grant.Settings[name] = v
		}
		s.Grants = append(s.Grants, grant)
	}
	return s, nil
}
