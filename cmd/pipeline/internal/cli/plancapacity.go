package cli

import (
	"math"
	"time"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/lang/eval"
)

// capacityFlags are the flags of plan that are about --capacity.
type capacityFlags struct {
	asked  bool
	rate   float64
	outage time.Duration
	entry  string
}

func (f *capacityFlags) register(cmd *cobra.Command) {
	set := cmd.Flags()
	set.BoolVar(&f.asked, "capacity", false, "compute how much memory the streams need; no server is asked")
	set.Float64Var(&f.rate, "rate", 0, "with --capacity: the peak of entries a second for each stream that a group reads: `N`")
	set.DurationVar(&f.outage, "outage", 0, "with --capacity: the longest `TIME` in which nothing is acknowledged")
	set.StringVar(&f.entry, "entry-bytes", "", "with --capacity: the fields of an entry have this `SIZE`, such as 400B or 2KiB (default 1KiB)")
}

// load checks what was given.
func (f *capacityFlags) load(cmd *cobra.Command) (plan.Load, error) {
	l := plan.Load{Rate: f.rate, Outage: f.outage, Entry: plan.AssumedEntry, Assumed: true}
	for _, name := range []string{"rate", "outage"} {
		if !cmd.Flags().Changed(name) {
			return l, usage(cmd, "--capacity needs --%s", name)
		}
	}
	switch {
	case !(f.rate > 0) || math.IsInf(f.rate, 0): // not a number is neither
		return l, usage(cmd, "--rate is %v; it is more than 0 entries a second", f.rate)
	case f.outage <= 0:
		return l, usage(cmd, "--outage is %v; it is more than 0s", f.outage)
	case l.Arrive() > plan.MostEntries:
		return l, usage(cmd, "--rate %v over --outage %v come to %.3g entries, which no server holds", f.rate, f.outage, l.Arrive())
	}
	if !cmd.Flags().Changed("entry-bytes") {
		return l, nil
	}
	n, err := eval.ParseSize(f.entry)
	switch {
	case err != nil:
		return l, usage(cmd, "--entry-bytes: %v", err)
	case n < 1:
		return l, usage(cmd, "--entry-bytes is %s; it is at least 1B", f.entry)
	}
	l.Entry, l.Assumed = n, false
	return l, nil
}

func (a *app) capacity(cmd *cobra.Command, path string, flags capacityFlags) error {
	l, err := flags.load(cmd)
	if err != nil {
		return err
	}
	p, err := a.load(cmd, path)
	if err != nil {
		return err
	}
	a.view.Capacity(plan.CapacityOf(p, l))
	return nil
}
