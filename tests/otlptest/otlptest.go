// Package otlptest is a collector for tests: it takes traces and metrics by OTLP, over
// HTTP and over gRPC, and says what it was sent.
package otlptest

import (
	"compress/gzip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
	_ "google.golang.org/grpc/encoding/gzip" // so that it takes compressed requests
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
)

// Collector is one that listens on this machine until the test ends. Its methods are
// safe for concurrent use.
type Collector struct {
	// URL is what OTEL_EXPORTER_OTLP_ENDPOINT is set to.
	URL string

	mu      sync.Mutex
	spans   []Span
	metrics map[string]*metrics.Metric
	headers []http.Header
	about   map[string]string
	answer  int
	gate    chan struct{}
	raw     []byte
}

// Span is one that was exported.
type Span struct {
	Name, Kind        string
	Trace, ID, Parent string
	Links             []string // "trace/span"
	Attributes        map[string]string
	Failed            bool
	Status            string
	Start, End        time.Time
}

// HTTP returns a collector over HTTP.
func HTTP(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{metrics: map[string]*metrics.Metric{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", c.serve(func(body []byte) error {
		var r collecttraces.ExportTraceServiceRequest
		if err := proto.Unmarshal(body, &r); err != nil {
			return err
		}
		c.takeTraces(&r)
		return nil
	}))
	mux.HandleFunc("POST /v1/metrics", c.serve(func(body []byte) error {
		var r collectmetrics.ExportMetricsServiceRequest
		if err := proto.Unmarshal(body, &r); err != nil {
			return err
		}
		c.takeMetrics(&r)
		return nil
	}))
	s := httptest.NewServer(mux)
	t.Cleanup(func() {
		c.Release()
		s.Close()
	})
	c.URL = s.URL
	return c
}

// serve reads a request and answers it, as Answer and Hang say.
func (c *Collector) serve(take func([]byte) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		gate, answer := c.gate, c.answer
		c.headers = append(c.headers, r.Header.Clone())
		c.mu.Unlock()
		if gate != nil {
			select {
			case <-gate:
			case <-r.Context().Done():
			}
			return
		}
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			var err error
			if body, err = gzip.NewReader(r.Body); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		all, err := io.ReadAll(body)
		if err == nil && answer != 0 {
			w.WriteHeader(answer)
			return
		}
		if err == nil {
			c.keep(all)
			err = take(all)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}
}

func (c *Collector) keep(raw []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw = append(c.raw, raw...)
}

// GRPC returns a collector over gRPC.
func GRPC(t *testing.T) *Collector {
	t.Helper()
	c := &Collector{metrics: map[string]*metrics.Metric{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer()
	collecttraces.RegisterTraceServiceServer(s, traceService{c: c})
	collectmetrics.RegisterMetricsServiceServer(s, metricsService{c: c})
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l)
	}()
	t.Cleanup(func() {
		s.Stop()
		<-done
	})
	c.URL = "http://" + l.Addr().String()
	return c
}

type traceService struct {
	collecttraces.UnimplementedTraceServiceServer

	c *Collector
}

// Export takes spans.
func (s traceService) Export(ctx context.Context, r *collecttraces.ExportTraceServiceRequest) (*collecttraces.ExportTraceServiceResponse, error) {
	s.c.takeMetadata(ctx)
	s.c.takeTraces(r)
	return &collecttraces.ExportTraceServiceResponse{}, nil
}

type metricsService struct {
	collectmetrics.UnimplementedMetricsServiceServer

	c *Collector
}

// Export takes metrics.
func (s metricsService) Export(ctx context.Context, r *collectmetrics.ExportMetricsServiceRequest) (*collectmetrics.ExportMetricsServiceResponse, error) {
	s.c.takeMetadata(ctx)
	s.c.takeMetrics(r)
	return &collectmetrics.ExportMetricsServiceResponse{}, nil
}

func (c *Collector) takeMetadata(ctx context.Context) {
	all, _ := metadata.FromIncomingContext(ctx)
	h := http.Header{}
	for name, values := range all {
		for _, v := range values {
			h.Add(name, v)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.headers = append(c.headers, h)
}

func (c *Collector) takeTraces(r *collecttraces.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range r.ResourceSpans {
		c.about = texts(of.Resource.GetAttributes())
		for _, scope := range of.ScopeSpans {
			for _, s := range scope.Spans {
				c.spans = append(c.spans, spanOf(s))
			}
		}
	}
}

func spanOf(s *traces.Span) Span {
	one := Span{
		Name: s.Name, Kind: strings.ToLower(strings.TrimPrefix(s.Kind.String(), "SPAN_KIND_")), Trace: hex.EncodeToString(s.TraceId), ID: hex.EncodeToString(s.SpanId),
		Parent: hex.EncodeToString(s.ParentSpanId), Attributes: texts(s.Attributes),
		Failed: s.Status.GetCode() == traces.Status_STATUS_CODE_ERROR, Status: s.Status.GetMessage(),
		Start: time.Unix(0, int64(s.StartTimeUnixNano)), End: time.Unix(0, int64(s.EndTimeUnixNano)),
	}
	for _, l := range s.Links {
		one.Links = append(one.Links, hex.EncodeToString(l.TraceId)+"/"+hex.EncodeToString(l.SpanId))
	}
	return one
}

func (c *Collector) takeMetrics(r *collectmetrics.ExportMetricsServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range r.ResourceMetrics {
		c.about = texts(of.Resource.GetAttributes())
		for _, scope := range of.ScopeMetrics {
			for _, m := range scope.Metrics {
				c.metrics[m.Name] = m
			}
		}
	}
}

// texts are attributes as text.
func texts(all []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, kv := range all {
		switch v := kv.Value.GetValue().(type) {
		case *common.AnyValue_StringValue:
			out[kv.Key] = v.StringValue
		case *common.AnyValue_IntValue:
			out[kv.Key] = fmt.Sprint(v.IntValue)
		case *common.AnyValue_DoubleValue:
			out[kv.Key] = fmt.Sprint(v.DoubleValue)
		case *common.AnyValue_BoolValue:
			out[kv.Key] = fmt.Sprint(v.BoolValue)
		default:
			out[kv.Key] = kv.Value.String()
		}
	}
	return out
}

// Answer has every request answered with an HTTP status; 0 takes them again.
func (c *Collector) Answer(status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = status
}

// Hang has requests wait without an answer, until Release.
func (c *Collector) Hang() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate = make(chan struct{})
}

// Release ends Hang.
func (c *Collector) Release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gate != nil {
		close(c.gate)
		c.gate = nil
	}
}

// Spans are those that came, in the order of their beginning.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := slices.Clone(c.spans)
	slices.SortStableFunc(all, func(a, b Span) int { return a.Start.Compare(b.Start) })
	return all
}

// Metrics are the last that came, by name.
func (c *Collector) Metrics() map[string]*metrics.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.metrics)
}

// Requests is how many requests came, taken or not, and the headers of the last one.
func (c *Collector) Requests() (n int, last http.Header) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.headers) == 0 {
		return 0, nil
	}
	return len(c.headers), c.headers[len(c.headers)-1]
}

// Resource is who exported last.
func (c *Collector) Resource() map[string]string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.about
}

// Raw is all that came over HTTP, as bytes.
func (c *Collector) Raw() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.raw)
}
