package dashboard

import "strconv"

// Panel is a row, or something that shows series.
type Panel struct {
	ID          int            `json:"id"`
	Type        string         `json:"type"`
	Title       string         `json:"title"`
	Description string         `json:"description,omitempty"`
	Grid        grid           `json:"gridPos"`
	Datasource  *source        `json:"datasource,omitempty"`
	Targets     []Target       `json:"targets,omitempty"`
	Fields      *fields        `json:"fieldConfig,omitempty"`
	Options     map[string]any `json:"options,omitempty"`
	// Collapsed is of a row alone, as are Panels, those of a row that is folded; of an open one they follow it.
	Collapsed *bool   `json:"collapsed,omitempty"`
	Panels    []Panel `json:"panels,omitzero"`
}

// folded tells whether p is a row whose panels are not seen until somebody opens it.
func (p *Panel) folded() bool { return p.Collapsed != nil && *p.Collapsed }

// grid is a place on a page that is 24 wide.
type grid struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

// Target is one query of a panel.
type Target struct {
	RefID      string  `json:"refId"`
	Expr       string  `json:"expr"`
	Legend     string  `json:"legendFormat"`
	Datasource *source `json:"datasource"`
}

type fields struct {
	Defaults  defaults `json:"defaults"`
	Overrides []any    `json:"overrides"`
}

type defaults struct {
	Unit       string      `json:"unit"`
	Min        int         `json:"min"`
	Custom     any         `json:"custom,omitempty"`
	Thresholds *thresholds `json:"thresholds,omitempty"`
}

type thresholds struct {
	Mode  string `json:"mode"`
	Steps []step `json:"steps"`
}

// step is a color from a value on; nil is from the beginning.
type step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

// The units, as Grafana names them.
const (
	perSecond = "ops"
	seconds   = "s"
	bytes     = "bytes"
	number    = "short"
)

// chart is a panel of lines over time.
func chart(title, about, unit string, targets ...Target) Panel {
	return Panel{
		Type: "timeseries", Title: title, Description: about, Targets: targets, Fields: &fields{
			Defaults: defaults{Unit: unit, Custom: map[string]any{"fillOpacity": 8, "showPoints": "never"}}, Overrides: []any{},
		},
		Options: map[string]any{
			"legend":  map[string]any{"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []string{}},
			"tooltip": map[string]any{"mode": "multi", "sort": "desc"},
		},
	}
}

// figure is a panel of one number, green below what is bad, from where it is red.
func figure(title, about, unit string, bad float64, t Target) Panel {
	return Panel{
		Type: "stat", Title: title, Description: about, Targets: []Target{t}, Fields: &fields{
			Defaults:  defaults{Unit: unit, Thresholds: &thresholds{"absolute", []step{{"green", nil}, {"red", &bad}}}},
			Overrides: []any{},
		},
		Options: map[string]any{
			"colorMode": "value", "graphMode": "area", "textMode": "auto", "justifyMode": "auto", "orientation": "auto",
			"wideLayout": true, "showPercentChange": false, "percentChangeColorMode": "standard",
			"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}, "fields": "", "values": false},
		},
	}
}

// line is a query with what its series are called.
func line(legend, expr string) Target { return Target{Expr: expr, Legend: legend} }

// layout puts panels onto the page, from the top to the bottom.
type layout struct {
	panels []Panel
	y, ids int
}

const (
	pageWidth    = 24
	chartWidth   = 8
	chartHeight  = 8
	figureWidth  = 4
	figureHeight = 4
)

// row adds a row with its panels, left to right.
func (l *layout) row(title string, folded bool, panels []Panel) {
	head := Panel{ID: l.next(), Type: "row", Title: title, Collapsed: &folded, Panels: []Panel{}, Grid: grid{1, pageWidth, 0, l.y}}
	l.y++
	x, y, height := 0, l.y, 0
	for i := range panels {
		p := &panels[i]
		w, h := chartWidth, chartHeight
		if p.Type == "stat" {
			w, h = figureWidth, figureHeight
		}
		if x+w > pageWidth {
			x, y, height = 0, y+height, 0
		}
		p.ID, p.Grid, p.Datasource = l.next(), grid{h, w, x, y}, chosen
		for j := range p.Targets {
			p.Targets[j].RefID, p.Targets[j].Datasource = refID(j), chosen
		}
		x, height = x+w, max(height, h)
	}
	if folded {
		head.Panels = panels
		l.panels = append(l.panels, head)
		return
	}
	l.panels = append(append(l.panels, head), panels...)
	l.y = y + height
}

func (l *layout) next() int {
	l.ids++
	return l.ids
}

// refID names a query within its panel.
func refID(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return "Q" + strconv.Itoa(i)
}
