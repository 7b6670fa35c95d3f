package dashboard

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	schema "github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"pipeline/engine/spec"
)

// classic is the format that every Grafana imports, old ones too.
type classic = schema.Dashboard //nolint:staticcheck // it says so of itself

// TestGrafanasSchemaTakesTheDashboard reads it with the types that Grafana generates of its own schemas. They
// refuse a field that is not there, one that is missing, and a value of the wrong kind, in panels and queries too.
func TestGrafanasSchemaTakesTheDashboard(t *testing.T) {
	kinds := cog.NewRuntime()
	kinds.RegisterPanelcfgVariant(timeseries.VariantConfig())
	kinds.RegisterPanelcfgVariant(stat.VariantConfig())
	kinds.RegisterDataqueryVariant(prometheus.VariantConfig())
	for name, p := range map[string]*spec.Pipeline{"none": sample(0), "one": sample(1), "folded": sample(open + 1), "hostile": hostile()} {
		text, err := json.Marshal(Of(p))
		if err != nil {
			t.Fatal(err)
		}
		// Its errors are lists that may be empty, also where nothing is wrong.
		if err := new(classic).UnmarshalJSONStrict(text); err != nil && err.Error() != "" {
			t.Errorf("%s: %v", name, err)
		}
		var d classic
		if err := errors.Join(json.Unmarshal(text, &d), d.Validate()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, p := range d.Panels {
			if p.Panel != nil {
				checkKnown(t, p.Panel)
				continue
			}
			for i := range p.RowPanel.Panels {
				checkKnown(t, &p.RowPanel.Panels[i])
			}
		}
	}
}

// checkKnown sees that a panel was read as what it is: of a kind that it does not know, the schema takes everything.
func checkKnown(t *testing.T, p *schema.Panel) {
	t.Helper()
	if _, known := p.Options.(map[string]any); known || len(p.Targets) == 0 {
		t.Errorf("the panel %q of type %q", *p.Title, p.Type)
	}
	for _, q := range p.Targets {
		if _, unknown := q.(variants.UnknownDataquery); unknown {
			t.Errorf("a query of %q", *p.Title)
		}
	}
}
