package sandboxtest

import (
	"context"
	"strings"
	"testing"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// Programs runs honest handlers.
func Programs(t *testing.T, e Engine, programs []Program) {
	for _, p := range programs {
		t.Run(p.Name, func(t *testing.T) {
			in := instance(t, e, p.Code)
			for range 2 {
				out, _ := in.Call(context.Background(), Delivery(p.Body))
				if got := Show(out); got != p.Want {
					t.Fatalf("got  %s\nwant %s", got, p.Want)
				}
			}
		})
	}
}

// Cases evaluates expressions.
func Cases(t *testing.T, e Engine, cases []Case) {
	for _, c := range cases {
		t.Run(c.Expr, func(t *testing.T) {
			in := instance(t, e, "function handle(e, ctx)\n  return "+c.Expr+"\nend")
			out, _ := in.Call(context.Background(), Delivery(""))
			got := Show(out)
			if c.Fails != "" {
				if out.Kind != outcome.Failed || !strings.Contains(got, c.Fails) {
					t.Fatalf("got %s, want a failure with %q", got, c.Fails)
				}
				return
			}
			if got != c.Want {
				t.Fatalf("got %s, want %s", got, c.Want)
			}
		})
	}
}

func instance(t *testing.T, e Engine, code string) sandbox.Instance {
	t.Helper()
	h, err := e.Compile(sandbox.Spec{Label: "h", Source: sandbox.Source{Name: e.File, Code: []byte(code)}, Function: "handle"})
	if err != nil {
		t.Fatal(err)
	}
	in, err := h.NewInstance(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		_ = h.Close()
	})
	return in
}

// quote is a text as JSON.
func quote(text string) string {
	v := value.NewString(text)
	out, err := value.AppendJSON(nil, &v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// Show is an outcome on one line: the JSON of its replies, its name, or its
// failure.
func Show(out outcome.Outcome) string {
	switch out.Kind {
	case outcome.Failed:
		return string(out.Failure.Kind) + ": " + out.Failure.Message
	case outcome.Reply:
	default:
		return out.Kind.String()
	}
	var parts []string
	for i := range out.Replies {
		text, err := value.AppendJSON(nil, &out.Replies[i].Body)
		if err != nil {
			return "no JSON: " + err.Error()
		}
		parts = append(parts, string(text))
	}
	return strings.Join(parts, " ")
}
