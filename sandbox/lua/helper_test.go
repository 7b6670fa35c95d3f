package lua

import (
	"context"
	"testing"
	"time"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// payments is the script of the worked example.
const payments = `
function post_payment(payment, ctx)
  if payment.account:sub(1, 10) == "migrating-" then
    log.warn("account locked, payment left pending", { payment = payment.id, deliveries = ctx.deliveries })
    return retry()
  end
  log.info("payment posted", { payment = payment.id, deliveries = ctx.deliveries })
  return ack()
end

function screen_payment(payment)
  return { payment_id = payment.id, suspicious = payment.amount_cents > 1000000 }
end
`

// logged is a host that keeps lines.
type logged struct{ lines []sandbox.LogLine }

func (l *logged) Log(_ *sandbox.Delivery, line sandbox.LogLine) { l.lines = append(l.lines, line) }

// spec is a handler of one script. Its limit of time is a minute: what never ends is
// stopped by its instructions, also where the machine is slow.
func spec(code, function string) sandbox.Spec {
	return sandbox.Spec{
		Label: "h", Source: sandbox.Source{Name: "h.lua", Code: []byte(code)}, Function: function,
		Limits: sandbox.Limits{Timeout: time.Minute},
	}
}

func compile(t testing.TB, s sandbox.Spec) sandbox.Instance {
	t.Helper()
	h, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	in, err := h.NewInstance(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); h.Close() })
	return in
}

func delivery(t testing.TB, body string) *sandbox.Delivery {
	t.Helper()
	d := &sandbox.Delivery{
		ID: "1700000000000-0", Stream: "payments", Group: "ledger", Subscription: "s",
		Attempt: 1, MaxAttempts: 5, Now: time.UnixMilli(1_700_000_000_500), Replies: true,
	}
	v, err := value.ParseJSON(body, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.Body = &v
	return d
}

// handle runs a script's function handle once.
func handle(t testing.TB, code, body string) outcome.Outcome {
	t.Helper()
	in := compile(t, spec(code, "handle"))
	out, _ := in.Call(context.Background(), delivery(t, body))
	return out
}

// replies is the JSON of each reply, or the failure.
func show(t testing.TB, out outcome.Outcome) string {
	t.Helper()
	switch out.Kind {
	case outcome.Failed:
		return string(out.Failure.Kind) + ": " + out.Failure.Message
	case outcome.Reply:
	default:
		return out.Kind.String()
	}
	s := ""
	for i := range out.Replies {
		b, err := value.AppendJSON(nil, &out.Replies[i].Body)
		if err != nil {
			return "unencodable: " + err.Error()
		}
		if i > 0 {
			s += " "
		}
		s += string(b)
	}
	return s
}
