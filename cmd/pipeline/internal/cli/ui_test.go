package cli

import (
	"slices"
	"testing"

	"github.com/spf13/cobra"
)

func TestThePageAnswersToTheNameThatItListensUnder(t *testing.T) {
	for listen, c := range map[string]struct{ given, want []string }{
		"127.0.0.1:0":         {nil, nil},
		"[::1]:0":             {nil, nil},
		"10.1.2.3:9631":       {nil, []string{"10.1.2.3"}},
		"[fd00::7]:9631":      {nil, []string{"fd00::7"}},
		"worker-7:9631":       {[]string{"p"}, []string{"p", "worker-7"}},
		"0.0.0.0:9631":        {[]string{"p"}, []string{"p"}},
		":9631":               {[]string{"p"}, []string{"p"}},
		"[::]:9631":           {[]string{"p"}, []string{"p"}},
		"example.com.:443":    {nil, []string{"example.com."}},
		"[fe80::1%eth0]:9631": {nil, []string{"fe80::1%eth0"}},
	} {
		f := uiFlags{listen: listen, hosts: c.given}
		if err := f.name(&cobra.Command{}); err != nil || !slices.Equal(f.hosts, c.want) {
			t.Errorf("%s: %v, %v, want %v", listen, f.hosts, err, c.want)
		}
	}
	for _, listen := range []string{"0.0.0.0:9631", ":9631", "[::]:9631"} {
		if f := (uiFlags{listen: listen}); f.name(&cobra.Command{}) == nil {
			t.Errorf("%s: it answers to nobody", listen)
		}
	}
}
