package telemetry

import (
	"encoding/pem"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/propagation"
)

// Exporter is where a signal goes.
type Exporter string

// The exporters.
const (
	None    Exporter = "none"
	OTLP    Exporter = "otlp"
	Console Exporter = "console"
)

// Signal is how traces, or metrics, are exported.
type Signal struct {
	Exporter Exporter
	// GRPC: by OTLP over gRPC, and not over HTTP.
	GRPC bool
}

// Settings are what the environment asks for.
type Settings struct {
	Traces, Metrics Signal
	// Propagators read the context of a producer and write that of a reply.
	Propagators []propagation.TextMapPropagator
	// Queue is how many spans wait for the collector at most.
	Queue int
	// Problems are variables whose values cannot be used, each in a sentence that
	// says what is done instead.
	Problems []string
}

// defaultQueue is that of the specification.
const defaultQueue = 2048

// Read reads the settings; get is os.Getenv. A signal is exported if its own exporter
// is named, or if there is none and an endpoint is.
func Read(get func(string) string) Settings {
	r := &settingsReader{get: func(name string) string { return strings.TrimSpace(get(name)) }}
	r.s = Settings{Traces: Signal{Exporter: None}, Metrics: Signal{Exporter: None}, Queue: defaultQueue}
	if r.flag("OTEL_SDK_DISABLED") {
		return r.s
	}
	r.s.Traces = r.signal("TRACES")
	r.s.Metrics = r.signal("METRICS")
	if r.s.Traces.Exporter != None {
		r.sampler()
		r.queue()
		r.propagators()
	}
	if r.s.Traces.Exporter != None || r.s.Metrics.Exporter != None {
		r.resource()
	}
	if r.s.Metrics.Exporter != None {
		r.number("OTEL_METRIC_EXPORT_INTERVAL", 1)
		r.number("OTEL_METRIC_EXPORT_TIMEOUT", 1)
	}
	return r.s
}

type settingsReader struct {
	get func(string) string
	s   Settings
}

func (r *settingsReader) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(r.s.Problems, text) {
		r.s.Problems = append(r.s.Problems, text)
	}
}

func (r *settingsReader) flag(name string) bool {
	switch v := r.get(name); {
	case strings.EqualFold(v, "true"):
		return true
	case v != "" && !strings.EqualFold(v, "false"):
		r.problem("%s is neither true nor false, and taken as false", name)
	}
	return false
}

// either is the variable of the signal, or else that of all; name is the one that was
// set.
func (r *settingsReader) either(signal, what string) (name, text string) {
	for _, name := range []string{"OTEL_EXPORTER_OTLP_" + signal + "_" + what, "OTEL_EXPORTER_OTLP_" + what} {
		if v := r.get(name); v != "" {
			return name, v
		}
	}
	return "", ""
}

// signal reads how one is exported.
func (r *settingsReader) signal(name string) Signal {
	s := Signal{Exporter: r.exporter(name)}
	if s.Exporter != OTLP {
		return s
	}
	switch at, v := r.either(name, "PROTOCOL"); v {
	case "", "http/protobuf":
	case "grpc":
		s.GRPC = true
	default:
		r.problem("%s is not http/protobuf or grpc; http/protobuf is used", at)
	}
	if !r.usable(name) {
		s.Exporter = None
	}
	return s
}

func (r *settingsReader) exporter(signal string) Exporter {
	name := "OTEL_" + signal + "_EXPORTER"
	switch v := r.get(name); v {
	case "":
		if _, endpoint := r.either(signal, "ENDPOINT"); endpoint != "" {
			return OTLP
		}
	case string(OTLP), string(Console):
		return Exporter(v)
	case string(None):
	default:
		r.problem("%s is not otlp, console or none; no %s are exported", name, strings.ToLower(signal))
	}
	return None
}

// usable looks at what the exporter reads itself. What it would pass over in silence,
// and then send what it must not, or to where it must not, is a reason to send
// nothing.
func (r *settingsReader) usable(signal string) bool {
	ok := r.endpoint(signal)
	for _, what := range []string{"CERTIFICATE", "CLIENT_CERTIFICATE", "CLIENT_KEY"} {
		if at, v := r.either(signal, what); v != "" {
			if text, err := os.ReadFile(v); err != nil {
				r.problem("%s names a file that cannot be read; no %s are exported", at, strings.ToLower(signal))
				ok = false
			} else if block, _ := pem.Decode(text); block == nil {
				r.problem("%s holds no certificate or key in PEM; no %s are exported", at, strings.ToLower(signal))
				ok = false
			}
		}
	}
	if at, v := r.either(signal, "HEADERS"); v != "" {
		for i, pair := range strings.Split(v, ",") {
			key, text, found := strings.Cut(pair, "=")
			if _, err := url.PathUnescape(text); !found || err != nil || strings.TrimSpace(key) == "" {
				r.problem("%s: header %d is not name=value, with the value percent-encoded; it is not sent", at, i+1)
			}
		}
	}
	if at, v := r.either(signal, "COMPRESSION"); v != "" && v != "gzip" && v != "none" {
		r.problem("%s is not gzip or none; none is used", at)
	}
	if at, v := r.either(signal, "TIMEOUT"); v != "" {
		if n, err := strconv.Atoi(v); err != nil || n <= 0 {
			r.problem("%s is not a number of milliseconds", at)
		}
	}
	return ok
}

func (r *settingsReader) endpoint(signal string) bool {
	at, v := r.either(signal, "ENDPOINT")
	if v == "" {
		return true // the exporter's default, on this machine
	}
	u, err := url.Parse(v)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return true
	}
	r.problem("%s is not a URL such as http://localhost:4318; no %s are exported", at, strings.ToLower(signal))
	return false
}

// sampler looks at what the SDK reads itself.
func (r *settingsReader) sampler() {
	const name, arg = "OTEL_TRACES_SAMPLER", "OTEL_TRACES_SAMPLER_ARG"
	switch v := strings.ToLower(r.get(name)); v {
	case "", "always_on", "always_off", "parentbased_always_on", "parentbased_always_off":
	case "traceidratio", "parentbased_traceidratio":
		if text := r.get(arg); text != "" {
			if ratio, err := strconv.ParseFloat(text, 64); err != nil || ratio < 0 || ratio > 1 {
				r.problem("%s is not a number from 0 to 1; everything is sampled", arg)
			}
		}
	default:
		r.problem("%s is not a sampler that is known here; parentbased_always_on is used", name)
	}
}

func (r *settingsReader) queue() {
	if n := r.number("OTEL_BSP_MAX_QUEUE_SIZE", 1); n > 0 {
		r.s.Queue = n
	}
	r.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", 1)
	r.number("OTEL_BSP_SCHEDULE_DELAY", 0)
	r.number("OTEL_BSP_EXPORT_TIMEOUT", 0)
}

// number is the variable's number, or -1 where it has none.
func (r *settingsReader) number(name string, least int) int {
	v := r.get(name)
	if v == "" {
		return -1
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < least {
		r.problem("%s is not a whole number of at least %d; the default is used", name, least)
		return -1
	}
	return n
}

// resource looks at what the SDK reads itself.
func (r *settingsReader) resource() {
	const name = "OTEL_RESOURCE_ATTRIBUTES"
	v := r.get(name)
	if v == "" {
		return
	}
	for i, pair := range strings.Split(v, ",") {
		key, text, found := strings.Cut(pair, "=")
		if _, err := url.PathUnescape(text); !found || err != nil || strings.TrimSpace(key) == "" {
			r.problem("%s: attribute %d is not name=value, with the value percent-encoded", name, i+1)
		}
	}
}

func (r *settingsReader) propagators() {
	const name = "OTEL_PROPAGATORS"
	v := r.get(name)
	if v == "" {
		v = "tracecontext,baggage"
	}
	for one := range strings.SplitSeq(v, ",") {
		switch one = strings.TrimSpace(one); one {
		case "tracecontext":
			r.s.Propagators = append(r.s.Propagators, propagation.TraceContext{})
		case "baggage":
			r.s.Propagators = append(r.s.Propagators, propagation.Baggage{})
		case "none":
		default:
			r.problem("%s has one that is not tracecontext, baggage or none; it is left out", name)
		}
	}
}
