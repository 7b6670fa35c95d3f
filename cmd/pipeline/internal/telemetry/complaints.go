package telemetry

import (
	"log/slog"
	"net/url"
	"strings"
	"sync"
)

// secretsOf returns a function that takes what the variables of headers hold, which
// are credentials mostly, out of a text.
func secretsOf(get func(string) string) func(string) string {
	var hide []string
	for _, signal := range []string{"", "TRACES_", "METRICS_"} {
		all := get("OTEL_EXPORTER_OTLP_" + signal + "HEADERS")
		hide = append(hide, all)
		for pair := range strings.SplitSeq(all, ",") {
			_, v, _ := strings.Cut(pair, "=")
			plain, _ := url.PathUnescape(v)
			for _, text := range []string{v, plain} {
				hide = append(hide, text, strings.TrimSpace(text))
			}
		}
	}
	var pairs []string
	for _, text := range hide {
		if len(text) >= 3 {
			pairs = append(pairs, text, "(hidden)")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

// quiet is an otel.ErrorHandler that does nothing.
type quiet struct{}

// Handle implements otel.ErrorHandler.
func (quiet) Handle(error) {}

// mostComplaints is how many different errors of the SDK are told.
const mostComplaints = 20

// complaints logs the errors of the SDK, each once. It implements otel.ErrorHandler.
type complaints struct {
	log   *slog.Logger
	scrub func(string) string

	mu   sync.Mutex
	told map[string]bool
}

func newComplaints(log *slog.Logger, scrub func(string) string) *complaints {
	return &complaints{log: log, scrub: scrub, told: map[string]bool{}}
}

// Handle implements otel.ErrorHandler.
func (c *complaints) Handle(err error) {
	text := c.scrub(err.Error())
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told[text] || len(c.told) == mostComplaints {
		return
	}
	c.told[text] = true
	c.log.Warn("telemetry: "+text, slog.String("event", "otel.error"))
}
