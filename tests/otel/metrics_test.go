package otel

import (
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"

	"pipeline/tests/otlptest"
	"pipeline/tests/redistest"
)

// TestMetricsAreExportedUnderTheirNames: as the semantic conventions have them, or as
// Prometheus reads them.
func TestMetricsAreExportedUnderTheirNames(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		c := otlptest.HTTP(t)
		p := run(t, s, file(t, "payments", "in", "out", ""), to(c), "OTEL_METRIC_EXPORT_INTERVAL=100")
		for range 20 {
			add(t, s, "in", `{"n":1}`)
		}
		eventually(t, "all replies", func() bool { return s.Client().XLen(t.Context(), "out").Val() == 20 })
		eventually(t, "an age of a group", func() bool { return c.Metrics()["pipeline_group_oldest_pending_age_seconds"] != nil })
		p.stop()
		all := c.Metrics()
		for name, want := range map[string]float64{
			"messaging.client.consumed.messages": 20, "messaging.client.sent.messages": 20, "pipeline_entries_settled_total": 20,
		} {
			if got := total(all[name]); got != want {
				t.Errorf("%s is %v, want %v", name, got, want)
			}
		}
		h := all["messaging.process.duration"].GetHistogram().GetDataPoints()
		if len(h) != 1 || h[0].Count != 20 || all["messaging.process.duration"].Unit != "s" {
			t.Errorf("messaging.process.duration: %v", h)
		}
		labels := map[string]string{}
		for _, kv := range all["messaging.client.consumed.messages"].GetSum().DataPoints[0].Attributes {
			labels[kv.Key] = kv.Value.GetStringValue()
		}
		want := map[string]string{
			"messaging.system": "redis", "messaging.destination.name": "in", "messaging.consumer.group.name": "ledger",
			"pipeline": "payments", "subscription": "work",
		}
		if !maps.Equal(labels, want) {
			t.Errorf("attributes: %v, want %v", labels, want)
		}
		if names := slices.Sorted(maps.Keys(all)); slices.ContainsFunc(names, func(n string) bool { return strings.HasPrefix(n, "messaging_") }) {
			t.Errorf("some are exported under the names of Prometheus: %v", names)
		}
	})
}

func total(m *metrics.Metric) float64 {
	var sum float64
	for _, p := range m.GetSum().GetDataPoints() {
		sum += p.GetAsDouble()
	}
	return sum
}

// TestTheNumberOfSeriesDoesNotGrowWithTheEntries.
func TestTheNumberOfSeriesDoesNotGrowWithTheEntries(t *testing.T) {
	s := redistest.Shared(t, redistest.Versions[0])
	c := otlptest.HTTP(t)
	p := run(t, s, file(t, "payments", "in", "out", ""), to(c), "OTEL_METRIC_EXPORT_INTERVAL=50", "OTEL_TRACES_EXPORTER=none")
	series := func(entries int64) int {
		eventually(t, "all are counted", func() bool { return total(c.Metrics()["messaging.client.sent.messages"]) == float64(entries) })
		n := 0
		for name, m := range c.Metrics() {
			if strings.HasPrefix(name, "go_") || strings.HasPrefix(name, "process_") {
				continue
			}
			n += len(m.GetSum().GetDataPoints()) + len(m.GetGauge().GetDataPoints()) + len(m.GetHistogram().GetDataPoints())
		}
		return n
	}
	add(t, s, "in", `{"n":1}`)
	eventually(t, "the groups are shown", func() bool { return c.Metrics()["pipeline_group_consumers"] != nil })
	before := series(1)
	for i := range 300 {
		add(t, s, "in", `{"n":1,"note":"`+strings.Repeat("x", i)+`"}`, "correlation-id", strings.Repeat("y", i))
	}
	if after := series(301); after > before+2 || before == 0 {
		t.Errorf("%d series after one entry, %d after 301", before, after)
	}
	p.stop()
	if len(c.Spans()) != 0 {
		t.Error("traces were exported, which were not asked for")
	}
}

// TestMonitorExportsMetrics, and needs no listener for it.
func TestMonitorExportsMetrics(t *testing.T) {
	s := redistest.Shared(t, redistest.Versions[0])
	c := otlptest.HTTP(t)
	add(t, s, "in", `{"n":1}`)
	path := file(t, "payments", "in", "out", "")
	p := start(t, s, []string{"monitor", path, "--ops-listen", "off", "--ui-listen", "off"}, to(c), "OTEL_METRIC_EXPORT_INTERVAL=50")
	eventually(t, "the length of the stream", func() bool { return c.Metrics()["pipeline_stream_length"] != nil })
	p.stop()
	if len(c.Spans()) != 0 {
		t.Error("monitor makes spans")
	}
}

// TestDevExports: the same without a server.
func TestDevExports(t *testing.T) {
	s := redistest.Shared(t, redistest.Versions[0])
	c := otlptest.HTTP(t)
	path := file(t, "payments", "in", "out", "")
	input := strings.TrimSuffix(path, "p.hcl") + "in.jsonl"
	if err := os.WriteFile(input, []byte("{\"n\":1}\n{\"n\":2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, s, []string{"dev", path, "--input", input, "--stream", "in"}, to(c))
	if err := p.cmd.Wait(); err != nil {
		t.Error(err)
	}
	if len(named(c, "process in")) != 2 || total(c.Metrics()["messaging.client.sent.messages"]) != 2 {
		t.Errorf("%d spans, %d metrics", len(c.Spans()), len(c.Metrics()))
	}
}
