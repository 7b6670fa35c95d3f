package lang_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"pipeline/engine/spec"
	"pipeline/lang"
	"pipeline/lang/diag"
)

// render renders a report for comparison.
func render(t *testing.T, r *diag.Report) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteText(&b, diag.TextOptions{}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLoadPayments(t *testing.T) {
	p, r := lang.Load(os.DirFS("../examples"), "payments.hcl", lang.Options{})
	if p == nil {
		t.Fatalf("payments.hcl does not load:\n%s", render(t, r))
	}
	if got := r.All(); len(got) > 1 {
		t.Errorf("more than one thing to say about the example:\n%s", render(t, r))
	}
	subs := p.Subscriptions()
	if len(subs) != 2 || subs[0].Label != "post_payment" || subs[1].Label != "screen_payment" {
		t.Fatalf("enabled subscriptions: %v", subs)
	}
	post := subs[0]
	if post.Claim == nil || post.Claim.MinIdle != 30*time.Second || post.Claim.Using != spec.UsingRead {
		t.Errorf("claim: %+v", post.Claim)
	}
	if post.Workers.Count != 8 || post.Workers.Key == nil {
		t.Errorf("workers: %+v", post.Workers)
	}
	if key, ok := post.Workers.Key.(*spec.Path); !ok || key.Root != spec.RootEntry || len(key.Steps) != 1 || key.Steps[0].Name != "account" {
		t.Errorf("key: %+v", post.Workers.Key)
	}
	if post.Handler.Path != "handlers/payments.lua" || post.Handler.Limits.Memory != 16<<20 {
		t.Errorf("handler: %+v", post.Handler)
	}
	if subs[1].Reply == nil || subs[1].Reply.To.Name != "payments.screened" {
		t.Errorf("reply: %+v", subs[1].Reply)
	}
	if subs[1].Group.Start != "0" || subs[1].Group.DeadLetter.Name != "payments.dead" {
		t.Errorf("group: %+v", subs[1].Group)
	}
	if p.Broker.URL != "redis://localhost:6379" || p.DrainTimeout != 20*time.Second {
		t.Errorf("broker %q, drain %s", p.Broker.URL, p.DrainTimeout)
	}
}

func TestLoadPaymentsBefore84(t *testing.T) {
	p, r := lang.Load(os.DirFS("../examples"), "payments.hcl", lang.Options{Vars: map[string]string{"before_8_4": "true"}})
	if p == nil {
		t.Fatalf("payments.hcl does not load:\n%s", render(t, r))
	}
	var labels []string
	for _, s := range p.Subscriptions() {
		labels = append(labels, s.Label)
	}
	if got := strings.Join(labels, " "); got != "post_new_payment recover_payment screen_payment" {
		t.Errorf("enabled subscriptions: %s", got)
	}
}
