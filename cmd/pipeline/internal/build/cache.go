package build

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// Cache compiles handlers, each once however many pipelines use it: what a
// handler does depends on nothing but its code and its settings, and instances
// share no state. Files are read once, so that all see the same text. It is
// safe for concurrent use.
type Cache struct {
	host    sandbox.Host
	timeout time.Duration

	mu       sync.Mutex
	files    map[string]func() ([]byte, error)
	compiled map[[sha256.Size]byte]func() (sandbox.Handler, error)
}

// NewCache returns an empty cache. What handlers log goes to host. A time limit
// below timeout is raised to it: for where time is not real, and a slow machine
// must not make a difference.
func NewCache(host sandbox.Host, timeout time.Duration) *Cache {
	return &Cache{
		host: host, timeout: timeout,
		files: map[string]func() ([]byte, error){}, compiled: map[[sha256.Size]byte]func() (sandbox.Handler, error){},
	}
}

// Handler is the compiled code of a handler. It must not be closed.
func (c *Cache) Handler(h *spec.Handler) (sandbox.Handler, error) {
	source, modules, err := c.read(h)
	if err != nil {
		return nil, err
	}
	s, err := handlerSpec(h, source, modules, c.host)
	if err != nil {
		return nil, err
	}
	limits := s.Limits.WithDefaults()
	limits.Timeout = max(limits.Timeout, c.timeout)
	s.Limits = limits
	sum, err := settingsSum(h, &s, sumOf(source, modules))
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	code := c.compiled[sum]
	if code == nil {
		code = sync.OnceValues(func() (sandbox.Handler, error) { return compile(s) })
		c.compiled[sum] = code
	}
	c.mu.Unlock()
	return code()
}

// settingsSum tells handlers apart by all that decides what they do.
func settingsSum(h *spec.Handler, s *sandbox.Spec, files [sha256.Size]byte) (sum [sha256.Size]byte, err error) {
	names := []string{s.Source.Name}
	for _, m := range s.Modules {
		names = append(names, m.Name)
	}
	text, err := json.Marshal(struct {
		Label, Function string
		Names           []string
		Files           [sha256.Size]byte
		Limits          sandbox.Limits
		Grants          []spec.Grant
		RawInput        bool
	}{s.Label, s.Function, names, files, s.Limits, h.Grants, s.RawInput})
	if err != nil {
		return sum, fmt.Errorf("handler %s: %w", h.Label, err)
	}
	return sha256.Sum256(text), nil
}

// read reads the files of a handler that were not read before.
func (c *Cache) read(h *spec.Handler) (source []byte, modules [][]byte, err error) {
	texts := make([][]byte, 0, 1+len(h.Modules))
	for _, path := range Files(h) {
		c.mu.Lock()
		read := c.files[path]
		if read == nil {
			read = sync.OnceValues(func() ([]byte, error) { return os.ReadFile(path) })
			c.files[path] = read
		}
		c.mu.Unlock()
		text, err := read()
		if err != nil {
			return nil, nil, fmt.Errorf("handler %s: %w", h.Label, err)
		}
		texts = append(texts, text)
	}
	return texts[0], texts[1:], nil
}

// Close frees all compiled code. Instances must have been closed.
func (c *Cache) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var errs []error
	for _, code := range c.compiled {
		if handler, err := code(); err == nil {
			errs = append(errs, handler.Close())
		}
	}
	clear(c.compiled)
	return errors.Join(errs...)
}
