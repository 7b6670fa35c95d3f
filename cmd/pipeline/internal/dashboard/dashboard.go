// Package dashboard makes a dashboard for Grafana from a pipeline: a row for the whole
// of it, one for each subscription, one for the server.
package dashboard

import (
	"crypto/sha256"
	"encoding/hex"

	"pipeline/engine/spec"
)

// Dashboard is one as Grafana imports it: the fields of its JSON that matter here.
// https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model/
type Dashboard struct {
	UID           string      `json:"uid"`
	Title         string      `json:"title"`
	Description   string      `json:"description"`
	Tags          []string    `json:"tags"`
	SchemaVersion int         `json:"schemaVersion"`
	Editable      bool        `json:"editable"`
	GraphTooltip  int         `json:"graphTooltip"`
	Refresh       string      `json:"refresh"`
	Time          timeRange   `json:"time"`
	Templating    templating  `json:"templating"`
	Annotations   annotations `json:"annotations"`
	Panels        []Panel     `json:"panels"`
}

// schemaVersion is that of Grafana 10.4; later ones take it and bring it up to date.
const schemaVersion = 39

// sharedCrosshair shows the time under the pointer in all panels.
const sharedCrosshair = 1

type timeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type templating struct {
	List []Variable `json:"list"`
}

// annotations are marks on all charts; there are none.
type annotations struct {
	List []any `json:"list"`
}

// Variable is what a reader chooses at the head of the dashboard.
type Variable struct {
	Name       string     `json:"name"`
	Label      string     `json:"label"`
	Type       string     `json:"type"`
	Query      string     `json:"query"`
	Datasource *source    `json:"datasource,omitempty"`
	Refresh    int        `json:"refresh,omitempty"`
	Multi      bool       `json:"multi,omitempty"`
	IncludeAll bool       `json:"includeAll,omitempty"`
	AllValue   string     `json:"allValue,omitempty"`
	Sort       int        `json:"sort,omitempty"`
	Current    *selection `json:"current,omitempty"`
}

type selection struct {
	Text  string `json:"text"`
	Value string `json:"value"`
}

type source struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// chosen is the data source that the reader has chosen.
var chosen = &source{"prometheus", "${datasource}"}

// open is how many subscriptions a pipeline may have for their rows to be unfolded.
const open = 4

// Of is the dashboard of a pipeline. Its uid follows from the pipeline's name, so that
// a later one takes the place of this one.
func Of(p *spec.Pipeline) *Dashboard {
	sum := sha256.Sum256([]byte("pipeline " + p.Name))
	d := &Dashboard{
		UID: hex.EncodeToString(sum[:10]), Title: "Pipeline " + p.Name, Tags: []string{"pipeline"}, SchemaVersion: schemaVersion,
		Description: "Made by `pipeline export dashboard` from the pipeline file. docs/operations.md says what each metric is.",
		Editable:    true, GraphTooltip: sharedCrosshair, Refresh: "10s", Time: timeRange{"now-1h", "now"},
		Annotations: annotations{[]any{}},
	}
	q := queries{p}
	d.Templating.List = []Variable{
		{Name: "datasource", Label: "Prometheus", Type: "datasource", Query: "prometheus", Refresh: 1},
		{
			Name: "instance", Label: "Process", Type: "query", Query: "label_values(" + q.all("pipeline_redis_up") + ", instance)", Datasource: chosen,
			Refresh: 2, Multi: true, IncludeAll: true, AllValue: ".*", Sort: 1, Current: &selection{"All", "$__all"},
		},
	}
	l := &layout{}
	subs := p.Subscriptions()
	l.row("Pipeline "+p.Name, false, q.overview())
	for _, s := range subs {
		l.row(s.Label+": group "+s.Group.Name+" on "+s.Group.Stream.Name, len(subs) > open, q.subscription(s))
	}
	l.row("Server", false, q.server())
	d.Panels = l.panels
	return d
}
