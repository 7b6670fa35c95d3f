package otel

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pipeline/tests/otlptest"
	"pipeline/tests/redistest"
)

func TestWithoutAVariableNothingIsConnectedTo(t *testing.T) {
	s := redistest.Shared(t, redistest.Versions[0])
	c := otlptest.HTTP(t)
	for name, env := range map[string][]string{
		"no variable": nil,
		"disabled":    {to(c), "OTEL_SDK_DISABLED=true"},
		"none":        {to(c), "OTEL_TRACES_EXPORTER=none", "OTEL_METRICS_EXPORTER=none"},
		"only others": {"OTEL_SERVICE_NAME=x", "OTEL_TRACES_SAMPLER=always_on", "OTEL_EXPORTER_OTLP_HEADERS=a=b"},
		"no endpoint": {to(c), "OTEL_TRACES_EXPORTER=zipkin", "OTEL_METRICS_EXPORTER=prometheus"},
	} {
		s.Client().Del(t.Context(), "in", "out")
		p := run(t, s, file(t, "payments", "in", "out", ""), env...)
		add(t, s, "in", `{"n":1}`, "traceparent", producer, "tracestate", "a=1")
		eventually(t, "a reply", func() bool { return s.Client().XLen(t.Context(), "out").Val() == 1 })
		p.stop()
		if n, _ := c.Requests(); n != 0 || strings.Contains(p.out.String(), "otel.exporting") {
			t.Errorf("%s: %d requests", name, n)
		}
		reply := s.Client().XRange(t.Context(), "out", "-", "+").Val()[0].Values
		if reply["h:traceparent"] != producer || reply["h:tracestate"] != "a=1" {
			t.Errorf("%s: the producer's context did not travel: %v", name, reply)
		}
		if told := strings.Contains(p.out.String(), "otel.misconfigured"); told != (name == "no endpoint") {
			t.Errorf("%s: misconfigured: %t", name, told)
		}
	}
}

func TestBothProtocolsAndTheirSettings(t *testing.T) {
	s := redistest.Shared(t, redistest.Versions[0])
	for name, test := range map[string]struct {
		collector func(*testing.T) *otlptest.Collector
		env       []string
	}{
		"http":            {otlptest.HTTP, nil},
		"http, gzip":      {otlptest.HTTP, []string{"OTEL_EXPORTER_OTLP_COMPRESSION=gzip"}},
		"grpc":            {otlptest.GRPC, []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}},
		"grpc, gzip":      {otlptest.GRPC, []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip"}},
		"grpc, by signal": {otlptest.GRPC, []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=grpc", "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL=grpc"}},
	} {
		t.Run(name, func(t *testing.T) {
			s.Client().Del(t.Context(), "in", "out")
			c := test.collector(t)
			env := append([]string{
				to(c), "OTEL_EXPORTER_OTLP_HEADERS=x-key=s3cr%20et,other=1", "OTEL_SERVICE_NAME=ledger",
				"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test,service.version=9",
			}, test.env...)
			p := run(t, s, file(t, "payments", "in", "out", ""), env...)
			add(t, s, "in", `{"n":1}`)
			spans(t, c, "process in", 1)
			p.stop()
			if len(c.Metrics()) == 0 {
				t.Error("no metrics came when it stopped")
			}
			about := c.Resource()
			if about["service.name"] != "ledger" || about["deployment.environment.name"] != "test" || about["service.version"] != "9" {
				t.Errorf("who exported: %v", about)
			}
			if _, h := c.Requests(); h.Get("X-Key") != "s3cr et" || h.Get("Other") != "1" {
				t.Errorf("headers: %v", h)
			}
		})
	}
}

// TestACollectorThatIsAwayCostsThePipelineNothing: entries are worked on, the loss is
// told once, what is lost is counted, and the process ends in time.
func TestACollectorThatIsAwayCostsThePipelineNothing(t *testing.T) {
	const entries = 500
	for name, breakIt := range map[string]func(*otlptest.Collector) string{
		"nobody listens": func(*otlptest.Collector) string { return "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1" },
		"it refuses": func(c *otlptest.Collector) string {
			c.Answer(http.StatusForbidden)
			return to(c)
		},
		"it hangs": func(c *otlptest.Collector) string {
			c.Hang()
			return to(c)
		},
		"nobody listens, grpc": func(*otlptest.Collector) string {
			return "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1\nOTEL_EXPORTER_OTLP_PROTOCOL=grpc"
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := redistest.Shared(t, redistest.Versions[len(redistest.Versions)-1])
			env := strings.Split(breakIt(otlptest.HTTP(t)), "\n")
			p := run(t, s, file(t, "payments", "in", "out", ""), append(env,
				"OTEL_EXPORTER_OTLP_TIMEOUT=300", "OTEL_BSP_EXPORT_TIMEOUT=500", "OTEL_BSP_MAX_QUEUE_SIZE=64",
				"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20hunter2")...)
			for range entries {
				add(t, s, "in", `{"n":1}`)
			}
			eventually(t, "all replies", func() bool { return s.Client().XLen(t.Context(), "out").Val() == entries })
			eventually(t, "the loss is told", func() bool { return strings.Contains(p.out.String(), "otel.lost") })
			if took := p.stop(); took > 9*time.Second {
				t.Errorf("it took %v to stop", took)
			}
			text := p.out.String()
			for event, most := range map[string]int{"otel.lost": 2, "otel.dropping": 1, "otel.dropped": 1, "otel.error": 0} {
				if n := strings.Count(text, event); n > most || n == 0 && event == "otel.dropped" {
					t.Errorf("%s is told %d times", event, n)
				}
			}
			if want := fmt.Sprintf("%d", 4*entries); !strings.Contains(text, want) {
				t.Errorf("not all of %s spans are counted as dropped", want)
			}
			if strings.Contains(text, secret) {
				t.Error("it prints a credential")
			}
		})
	}
}

func TestACollectorThatComesBackIsToldOnce(t *testing.T) {
	s := redistest.Shared(t, redistest.Versions[0])
	c := otlptest.HTTP(t)
	c.Answer(http.StatusForbidden)
	p := run(t, s, file(t, "payments", "in", "out", ""), to(c), "OTEL_METRICS_EXPORTER=none")
	add(t, s, "in", `{"n":1}`)
	eventually(t, "the loss is told", func() bool { return strings.Contains(p.out.String(), "otel.lost") })
	c.Answer(0)
	add(t, s, "in", `{"n":2}`)
	eventually(t, "the return is told", func() bool { return strings.Contains(p.out.String(), "otel.back") })
	spans(t, c, "process in", 1)
	p.stop()
	if n := strings.Count(p.out.String(), "otel.lost"); n != 1 {
		t.Errorf("the loss is told %d times", n)
	}
}

// TestWrongSettingsAreTold: in a word for each, without their values, and the pipeline
// runs.
func TestWrongSettingsAreTold(t *testing.T) {
	s := redistest.Shared(t, redistest.Versions[0])
	c := otlptest.HTTP(t)
	broken := filepath.Join(t.TempDir(), "none.pem")
	if err := os.WriteFile(broken, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for env, want := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=hunter2:4317":        "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://u:hunter2@:x": "OTEL_EXPORTER_OTLP_ENDPOINT is not a URL",
		"OTEL_EXPORTER_OTLP_HEADERS=hunter2":              "OTEL_EXPORTER_OTLP_HEADERS: header 1 is not name=value",
		"OTEL_EXPORTER_OTLP_HEADERS=a=%zzhunter2":         "OTEL_EXPORTER_OTLP_HEADERS: header 1 is not name=value",
		"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL=hunter2":      "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL is not http/protobuf or grpc",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=/no/such/hunter2": "OTEL_EXPORTER_OTLP_CERTIFICATE names a file that cannot be read",
		"OTEL_EXPORTER_OTLP_CERTIFICATE=" + broken:        "OTEL_EXPORTER_OTLP_CERTIFICATE holds no certificate or key",
		"OTEL_EXPORTER_OTLP_COMPRESSION=zip":              "OTEL_EXPORTER_OTLP_COMPRESSION is not gzip or none",
		"OTEL_EXPORTER_OTLP_TIMEOUT=10s":                  "OTEL_EXPORTER_OTLP_TIMEOUT is not a number of milliseconds",
		"OTEL_TRACES_EXPORTER=jaeger":                     "OTEL_TRACES_EXPORTER is not otlp, console or none",
		"OTEL_TRACES_SAMPLER=hunter2":                     "OTEL_TRACES_SAMPLER is not a sampler",
		"OTEL_PROPAGATORS=b3":                             "OTEL_PROPAGATORS has one",
		"OTEL_BSP_MAX_QUEUE_SIZE=many":                    "OTEL_BSP_MAX_QUEUE_SIZE is not a whole number",
		"OTEL_SDK_DISABLED=hunter2":                       "OTEL_SDK_DISABLED is neither true nor false",
		"OTEL_RESOURCE_ATTRIBUTES=hunter2":                "OTEL_RESOURCE_ATTRIBUTES: attribute 1 is not name=value",
		"OTEL_METRIC_EXPORT_INTERVAL=0":                   "OTEL_METRIC_EXPORT_INTERVAL is not a whole number",
	} {
		p := run(t, s, file(t, "payments", "in", "out", ""), to(c), env)
		p.stop()
		text := p.out.String()
		if !strings.Contains(text, want) {
			t.Errorf("%s: want %q in\n%s", env, want, text)
		}
		if strings.Contains(text, secret) {
			t.Errorf("%s: the value is printed:\n%s", env, text)
		}
	}
}
