package telemetry

import (
	"context"
	"strings"

	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/prometheus/client_golang/prometheus"
)

// names are what the semantic conventions call the metrics that they know, by what
// Prometheus calls them.
var names = map[string]struct{ name, unit string }{
	"messaging_client_consumed_messages_total":    {"messaging.client.consumed.messages", "{message}"},
	"messaging_client_sent_messages_total":        {"messaging.client.sent.messages", "{message}"},
	"messaging_process_duration_seconds":          {"messaging.process.duration", "s"},
	"messaging_client_operation_duration_seconds": {"messaging.client.operation.duration", "s"},
}

// labels are what they call the labels of these.
var labels = map[attribute.Key]attribute.Key{
	"messaging_system":              "messaging.system",
	"messaging_destination_name":    "messaging.destination.name",
	"messaging_consumer_group_name": "messaging.consumer.group.name",
	"messaging_operation_name":      "messaging.operation.name",
}

// producer gives the metrics of the exposition to an OpenTelemetry reader: the same
// series, so that their number is bounded the same way.
type producer struct {
	metric.Producer

	version string
}

// NewProducer returns the metrics of g under their OpenTelemetry names where they have
// one; all others keep the name that Prometheus reads.
func NewProducer(g prometheus.Gatherer, version string) metric.Producer {
	return &producer{bridge.NewMetricProducer(bridge.WithGatherer(g)), version}
}

// Produce implements metric.Producer.
func (p *producer) Produce(ctx context.Context) ([]metricdata.ScopeMetrics, error) {
	all, err := p.Producer.Produce(ctx)
	for i := range all {
		all[i].Scope = instrumentation.Scope{Name: Scope, Version: p.version}
		for j := range all[i].Metrics {
			rename(&all[i].Metrics[j])
		}
	}
	return all, err
}

func rename(m *metricdata.Metrics) {
	to, known := names[m.Name]
	switch {
	case known:
		m.Name, m.Unit = to.name, to.unit
	case strings.HasSuffix(m.Name, "_seconds"), strings.HasSuffix(m.Name, "_seconds_total"):
		m.Unit = "s"
	case strings.HasSuffix(m.Name, "_bytes"), strings.HasSuffix(m.Name, "_bytes_max"):
		m.Unit = "By"
	}
	if !known {
		return
	}
	switch data := m.Data.(type) {
	case metricdata.Sum[float64]:
		for i := range data.DataPoints {
			data.DataPoints[i].Attributes = relabel(data.DataPoints[i].Attributes)
		}
	case metricdata.Histogram[float64]:
		for i := range data.DataPoints {
			data.DataPoints[i].Attributes = relabel(data.DataPoints[i].Attributes)
		}
	}
}

func relabel(set attribute.Set) attribute.Set {
	all := set.ToSlice()
	for i := range all {
		if to, known := labels[all[i].Key]; known {
			all[i].Key = to
		}
	}
	return attribute.NewSet(all...)
}
